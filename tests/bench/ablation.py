"""Gain of each fast path of the parser: CPU time without it, as a multiple of that with all.

User plus system seconds of whole processes, page cache warm, alternating: the median of the ratios
round by round. Also writes results/ablation.json. Fails if a path gains less than 10 % on every
capture: such a path is not worth its code.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import generated
from measure import alternate
from programs import Program

MEASURE = Path(__file__).parents[2] / "target/release/examples/measure"
#: A path that gains less on every capture is to go.
WORTH = 1.10
#: The program with all fast paths.
ALL = "all"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=90, help="for the rounds of a capture")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    command = [MEASURE, "--list-fast-paths"]
    paths = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    found: dict[str, dict[str, float]] = {}
    print(f"{'CPU time without / with all':30}" + "".join(f"{path:>10}" for path in paths))
    with tempfile.TemporaryDirectory(prefix="flowsweep-ablation-") as folder:
        scratch = Path(folder)
        for title, capture in captures(scratch, options.packets):
            found[title] = ratios(capture, paths, scratch, options.rounds, options.seconds)
            print(f"{title:30}" + "".join(f"{found[title][path]:10.2f}" for path in paths))
    idle = [path for path in paths if all(row[path] < WORTH for row in found.values())]
    Path("results").mkdir(exist_ok=True)
    Path("results/ablation.json").write_text(json.dumps(found, indent=2) + "\n")
    for path in idle:
        print(f"{path}: gains less than {WORTH - 1:.0%} on every capture; remove it")
    return 1 if idle else 0


def captures(scratch: Path, packets: int):
    """Yields captures one at a time, each with its title, and removes the previous one."""
    fewest, many, bursts, blocks = (
        scratch / f"{name}.pcap" for name in ("fewest", "many", "bulk", "ng")
    )
    generated.write_interleaved(fewest, packets, 17)
    yield "17 connections, interleaved", fewest
    fewest.unlink()
    generated.write_interleaved(many, packets, 100_000)
    yield "100 000 connections", many
    many.unlink()
    generated.write_bursts(bursts, packets, 17)
    yield "17 connections, bursts", bursts
    generated.as_pcapng(bursts, blocks)
    bursts.unlink()
    yield "17 connections, bursts, pcapng", blocks


def ratios(
    capture: Path, paths: list[str], scratch: Path, rounds: int, seconds: float
) -> dict[str, float]:
    """Returns, by fast path, CPU time without it as a multiple of that with all."""
    base = [str(MEASURE), f"--folder={scratch / 'tables'}", str(capture)]
    programs = [Program(ALL, "", base)]
    programs += [Program(path, "", [*base, f"--without-fast={path}"]) for path in paths]
    costs, failed = alternate(programs, scratch, rounds, seconds)
    if failed:
        raise RuntimeError("; ".join(f"{name}: {reason}" for name, reason in failed.items()))
    return {
        path: statistics.median(
            one.cpu_s / full.cpu_s for one, full in zip(costs[path], costs[ALL], strict=True)
        )
        for path in paths
    }


if __name__ == "__main__":
    sys.exit(main())
