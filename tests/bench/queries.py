"""Time and memory of the report and of ten queries on generated runs: a table.

Whole processes, page cache warm. `first` is the first report, which computes what is kept of each
run; `report` is the next one. A query runs twice: computed, without the report's database, and
from it (`kept`). `added` is a query after one run was added. An entry that exceeds the limit or
ends with an error is marked.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import made_sweep

from flowsweep.warehouse import answers

QUERIES = (
    "thresholds", "completion_by_rtt", "requirement", "totals", "throughput_series",
    "throughput_cdf", "packet_intervals", "flow_sizes", "message_rate", "run_table",
)  # fmt: skip
PROGRAM = Path(sys.executable).with_name("flowsweep")


@dataclass(frozen=True)
class Cost:
    """Seconds of one process and its peak resident set in MB, or why there are none."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    failed: str = ""

    def __str__(self) -> str:
        if self.failed:
            return self.failed
        return f"{self.wall_s:8.2f} s wall {self.cpu_s:8.2f} s CPU {self.peak_mb:6.0f} MB"


def measure(arguments: list[object], limit_s: float, program: Path) -> Cost:
    """Runs flowsweep once and returns its cost."""
    begin = time.monotonic()
    process = subprocess.Popen(
        [program, *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    before = signal.signal(signal.SIGALRM, lambda *_: process.kill())
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    wall_s, cpu_s = time.monotonic() - begin, usage.ru_utime + usage.ru_stime
    peak_mb = usage.ru_maxrss / 1024
    if os.WIFSIGNALED(status):
        return Cost(wall_s, cpu_s, peak_mb, f"over {limit_s:.0f} s, {peak_mb:.0f} MB")
    if status:
        first = errors.decode(errors="replace").partition("\n")[0]
        return Cost(wall_s, cpu_s, peak_mb, f"failed: {first[:60]}")
    return Cost(wall_s, cpu_s, peak_mb)


def say(name: str, command: list[object], options: argparse.Namespace) -> None:
    """Runs flowsweep once and prints its cost."""
    print(f"{name:25} {measure(command, options.limit, options.program)}")


def main() -> int:
    sys.stdout.reconfigure(line_buffering=True)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="*", default=[30, 300, 3_000])
    parser.add_argument("--limit", type=float, default=180, help="s for each process")
    parser.add_argument("--program", type=Path, default=PROGRAM)
    parser.add_argument("--made", type=Path, help="folder of an experiment made before, kept")
    options = parser.parse_args()
    for runs in options.runs:
        with tempfile.TemporaryDirectory(prefix="flowsweep-bench-") as scratch:
            directory = options.made or made_sweep.make(Path(scratch) / "made", runs)
            print(f"\n{runs:,} runs")
            for name in ("first", "report"):
                say(name, ["report", directory], options)
            database = answers.path_of(directory)
            aside = database.with_suffix(".aside")
            database.rename(aside)
            for name in QUERIES:
                say(name, ["query", name, directory], options)
            aside.rename(database)
            for name in QUERIES:
                say(f"{name}, kept", ["query", name, directory], options)
            made_sweep.add(directory)
            say("added", ["query", "thresholds", directory], options)
            if not options.made:
                shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
