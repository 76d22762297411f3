"""Captures of the kept demo, spoiled on purpose: records removed, times shifted."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from pathlib import Path

from flowsweep import _parsers

DEMO = Path(__file__).parents[2] / "workflows/experiments/captured/demo/runs"
HEADER = 24
#: Nanoseconds, little end first.
MAGIC = 0xA1B23C4D
#: Number of a record from 0, and its time in ns, to its new time; None removes it.
Change = Callable[[int, int], int | None]


def copy_run(run: Path, folder: Path) -> Path:
    """A copy of a run's captures, manifests and run.json."""
    folder.mkdir(parents=True)
    for pattern in ("*.pcap.zst", "*.capture.json", "run.json"):
        for path in run.glob(pattern):
            shutil.copy(path, folder)
    return folder


def change(run: Path, host: str, change: Change) -> None:
    """Replaces the capture of `host` by one with other times, and removes its manifest."""
    path = run / f"{host}.pcap.zst"
    unpacked = _parsers.Unpacked(path, path.name)
    content = b"".join(iter(unpacked.part, b""))
    assert struct.unpack_from("<I", content) == (MAGIC,)
    parts, at, number = [content[:HEADER]], HEADER, 0
    while at < len(content):
        seconds, rest, captured, length = struct.unpack_from("<IIII", content, at)
        end = at + 16 + captured
        time = change(number, seconds * 10**9 + rest)
        if time is not None:
            head = struct.pack("<IIII", *divmod(time, 10**9), captured, length)
            parts.append(head + content[at + 16 : end])
        at, number = end, number + 1
    path.unlink()
    (run / f"{host}.capture.json").unlink()
    (run / f"{host}.pcap").write_bytes(b"".join(parts))
