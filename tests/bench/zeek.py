"""Cost of flowsweep's script for Zeek, by switch.

    python tests/bench/zeek.py [--packets N] [--rounds N]

Zeek reads one generated capture with its own scripts alone, with ours and one switch on, and with
all of ours, in turn. Prints user and system time of the process relative to that of Zeek alone, as
the median of the rounds. Needs Zeek on this machine, not in a container; without it, the reason is
printed and nothing is measured.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import generated

from flowsweep.errors import FlowsweepError
from flowsweep.zeek import program

CONTAINERS = ("apptainer", "docker", "podman")
SWITCHES = ("directions", "intervals", "messages", "bins")


def ways() -> dict[str, list[str]]:
    """Returns the arguments after `zeek -C -r CAPTURE` for each variant."""
    script = str(program.scripts() / "flowsweep.zeek")
    found = {
        "Zeek alone": [],
        "script, all off": [script, *(f"Flowsweep::{s}=F" for s in SWITCHES)],
    }
    for switch in SWITCHES:
        others = [f"Flowsweep::{other}=F" for other in SWITCHES if other != switch]
        found[f"script, {switch}"] = [script, *others]
    return found | {"script, all on": [script]}


def seconds(words: list[str]) -> float:
    """Returns user and system time of one command."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.times()
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
        after = os.times()
    return (after.children_user - before.children_user) + (
        after.children_system - before.children_system
    )


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    try:
        zeek = program.command(Path())
    except FlowsweepError as error:
        print(f"zeek: left out: {error.found}")
        return 0
    if Path(zeek[0]).name in CONTAINERS:
        print(f"zeek: left out: {zeek[0]} works elsewhere, and its time is not told here")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder, "many.pcap")
        generated.write_interleaved(capture, options.packets, 100)
        times: dict[str, list[float]] = {name: [] for name in ways()}
        for _ in range(options.rounds):
            for name, words in ways().items():
                times[name].append(seconds([*zeek, "-C", "-r", str(capture), *words]))
    base = statistics.median(times["Zeek alone"])
    print(f"{options.packets:,} packets; Zeek alone {base:.2f} s, "
          f"{options.packets / base / 1e3:,.0f} k packets/s")  # fmt: skip
    for name, found in times.items():
        print(f"{name:20} {statistics.median(found) / base:5.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
