"""Speed and memory of `flowsweep match`: two hosts that recorded the same connections.

    python tests/bench/match.py [--packets N] [--rounds N] [--output FILE]

Packets are those of both captures, with tables of all of them; the page cache is warm. The
connections are bulk transfers in bursts over 17 connections, and 10,000 connections that are
randomly interleaved. Each capture is matched in full and to a quarter, which shows how memory
grows. Medians of the rounds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from ipaddress import IPv4Address
from pathlib import Path

from measure import Cost, median, start
from queries import PROGRAM

#: Numbers of connections, with options for generated.py.
CAPTURES = {17: ["--bursts"], 10_000: []}

#: Addresses that the generated clients and their server send from.
CLIENTS = range(0x0A000000, 0x0A000012)
SERVER = "10.128.0.1"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=2_000_000, help="that are sent")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, help="also write the figures as JSON")
    options = parser.parse_args()
    print(" connections      packets    CPU s  M packets/CPU s  peak MB")
    found = []
    for connections in CAPTURES:
        for packets in (options.packets // 4, options.packets):
            cost = measure(connections, packets, options.rounds)
            rate = 2 * packets / cost.cpu_s / 1e6
            found.append({"connections": connections, "packets": 2 * packets} | asdict(cost))
            print(
                f"{connections:>12,}  {2 * packets:>11,}  {cost.cpu_s:>7.2f}  {rate:>15.2f}"
                f"  {cost.peak_mb:>7.0f}",
                flush=True,
            )
    if options.output:
        options.output.write_text(json.dumps(found, indent=2) + "\n")
    return 0


def measure(connections: int, packets: int, rounds: int) -> Cost:
    with tempfile.TemporaryDirectory(prefix="flowsweep-bench-") as folder:
        scratch = Path(folder)
        whole = scratch / "one.pcap"
        script = Path(__file__).with_name("generated.py")
        generate = [sys.executable, script, whole, packets, connections, "--by-host"]
        subprocess.run([*map(str, generate), *CAPTURES[connections]], check=True)
        whole.unlink()
        captures = [scratch / "clients.pcap", scratch / "server.pcap"]
        words = [PROGRAM, "match", *captures, "--output", scratch / "tables"]
        words += [f"--address=clients={IPv4Address(address)}" for address in CLIENTS]
        words += [f"--address=server={SERVER}"]
        command = [*map(str, words)]
        start(command, scratch)
        return median([start(command, scratch) for _ in range(rounds)])


if __name__ == "__main__":
    raise SystemExit(main())
