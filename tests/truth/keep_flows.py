"""Copies flows that `record_limits.py` recorded to `data/limits/`: `keep_flows.py FOLDER`."""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path

import numpy as np
from cut_pcap import FILE_HEADER_BYTES, packet_ends
from limit_truth import Truth, recorded

DATA = Path(__file__).parent / "data/limits"
#: Seconds kept of a flow from the first poll, fewer for flows with many packets.
SECONDS, LESS, FAST_MBIT, FAR_MS = 2.5, 1.0, 100, 64
NAMES = (
    "steady,reno,1ms,10M",
    "steady,cubic,4ms,10M",
    "steady,bbr,16ms,10M",
    "steady,reno,64ms,10M",
    "segments,cubic,16ms,10M",
    "segments,reno,64ms,10M",
    "small,cubic,16ms,100M",
    "no-delay,bbr,4ms,10M",
    "bursts,cubic,16ms,100M",
    "questions,cubic,4ms,10M",
    "buffer-16,reno,64ms,100M",
    "buffer-64,cubic,64ms,100M",
    "slow-reader,cubic,16ms,10M",
    "small-window,reno,64ms,10M",
    "bulk,cubic,16ms,10M",
    "bulk,bbr,4ms,10M",
)


def keep(folder: Path) -> None:
    """Writes the start of the sender's capture of a flow, and its truth."""
    flow, truth = recorded(folder)
    last = truth.borders[0] + int(
        (LESS if flow["rate_mbit"] == FAST_MBIT and flow["rtt_ms"] < FAR_MS else SECONDS) * 1e9
    )
    kept = truth.borders <= last
    cut = Truth(truth.borders[kept], truth.sums[:, kept])
    content = (folder / "sender.pcap").read_bytes()
    times, ends = packet_ends(content)
    packets = int(np.searchsorted(times, cut.borders[-1]))
    content = content[: ends[packets - 1] if packets else FILE_HEADER_BYTES]
    DATA.mkdir(parents=True, exist_ok=True)
    packed = lzma.compress(content, preset=9 | lzma.PRESET_EXTREME)
    (DATA / f"{folder.name}.pcap.xz").write_bytes(packed)
    text = json.dumps({"flow": flow, "truth": cut.to_json()})
    (DATA / f"{folder.name}.json").write_text(text + "\n")


if __name__ == "__main__":
    for name in NAMES:
        keep(Path(sys.argv[1]) / name)
