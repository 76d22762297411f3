"""Records traffic of programs whose messages are known: captures of both hosts, and the truth.

`messages_record.py [--count COUNT] FOLDER [POINT...]` creates FOLDER/POINT for each of `POINTS`,
or the given ones: `pc1.pcap.zst`, `pc2.pcap.zst` (headers alone) and `truth.json`. Existing points
stay. `--count` sets the repetitions in each program.
"""

from __future__ import annotations

import argparse
import json
import socket
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).parent
FLOWSWEEP = Path(sys.executable).parent / "flowsweep"
#: Ethernet, IPv4 and TCP with 40 bytes of options.
SNAPLEN = 94
LIMIT_S = 600
HOSTS = ("pc1", "pc2")


@dataclass(frozen=True)
class Point:
    """One link; `count`: repetitions in each program."""

    rtt_ms: int
    rate_mbit_s: int
    congestion: str
    count: int

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"{self.congestion}-{self.rtt_ms}ms-{self.rate_mbit_s}Mbit"


#: RTT, rate, messages of each kind: about half a minute each.
LINKS = ((1, 100, 100), (16, 100, 50), (64, 100, 25), (4, 10, 50), (4, 400, 60))
CONGESTION = ("reno", "cubic", "bbr")
POINTS = {
    point.name: point
    for rtt_ms, rate_mbit_s, count in LINKS
    for congestion in CONGESTION
    for point in [Point(rtt_ms, rate_mbit_s, congestion, count)]
}

# Other programs on the machine delay the traffic, but do not change the truth.
EXPERIMENT = """
title: Programs whose messages are known
sites: {{west: [pc1], east: [pc2]}}
link: {{rtt: {point.rtt_ms}ms, rate: {point.rate_mbit_s}Mbit/s}}
tcp: {{congestion_control: {point.congestion}}}
workload:
  command: "{python} {program}"
  where: hub
  problem: {{count: {point.count}}}
axes: {{rtt: [{other}ms]}}
timeout: 300s
limits: {{other_programs: 1, cpu_pressure: 1, lateness: 100ms}}
capture: {{snaplen: {snaplen}}}
"""


def record(point: Point, folder: Path) -> None:
    """Records one run of every program at `point` into `folder`."""
    with tempfile.TemporaryDirectory() as name:
        run = Path(name) / "run"
        experiment = Path(name) / "experiment.yaml"
        experiment.write_text(
            EXPERIMENT.format(
                point=point,
                other=point.rtt_ms + 1,
                python=sys.executable,
                program=HERE / "message_programs.py",
                snaplen=SNAPLEN,
            )
        )
        words = [FLOWSWEEP, "run", experiment, "-o", run]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        if not (run / "app.json").exists():
            raise RuntimeError(f"{point.name} was not recorded: {done.stdout}{done.stderr}")
        folder.mkdir(parents=True)
        for host in HOSTS:
            unpacked = _zstd(["-dc"], (run / f"{host}.pcap.zst").read_bytes())
            packed = _zstd(["-19", "-c"], headers(unpacked))
            (folder / f"{host}.pcap.zst").write_bytes(packed)
        application = json.loads((run / "app.json").read_text())
        (folder / "truth.json").write_text(json.dumps(application) + "\n")


def _zstd(options: list[str], data: bytes) -> bytes:
    return subprocess.run(
        ["zstd", "-q", *options], input=data, capture_output=True, check=True
    ).stdout


def headers(capture: bytes) -> bytes:
    """Returns a little-endian classic pcap of Ethernet frames without TCP payload."""
    kept = [capture[:24]]
    at = 24
    while at < len(capture):
        second, rest, captured, wire = struct.unpack_from("<4I", capture, at)
        frame = capture[at + 16 : at + 16 + captured]
        at += 16 + captured
        if frame[12:14] == b"\x08\x00" and frame[23] == socket.IPPROTO_TCP:
            transport = 14 + 4 * (frame[14] & 15)
            frame = frame[: transport + 4 * (frame[transport + 12] >> 4)]
        kept += [struct.pack("<4I", second, rest, len(frame), wire), frame]
    return b"".join(kept)


def main() -> None:
    """Records the missing points."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int)
    parser.add_argument("points", nargs="*", default=list(POINTS), metavar="POINT")
    arguments = parser.parse_args()
    for name in arguments.points:
        folder = arguments.folder / name
        if not (folder / "truth.json").exists():
            point = POINTS[name]
            record(replace(point, count=arguments.count or point.count), folder)
            print(name, flush=True)


if __name__ == "__main__":
    main()
