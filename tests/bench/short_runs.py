"""Overhead of a run besides its program, in a sweep of many short runs.

    python tests/bench/short_runs.py [--runs N] [--output FILE]

Four hosts in two sites, at 0.3 to 4 ms; the ranks of N Queens have almost nothing to do. Each run
uses the workflow's command: `flowsweep run EXPERIMENT --run RUN --output DIRECTORY`. Prints for
every run, in seconds: set-up and take-down from run.json (`cost_s`), the program between them, and
the rest of the command's time: Python's start, the plan, namespaces, records.
Exit code 1 if set-up and take-down together took 0.7 s or more at the median.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

FLOWSWEEP = Path(sys.executable).parent / "flowsweep"
LIMIT_S = 0.7
RTTS = ("0.3ms", "1ms", "2ms", "4ms")
COLUMNS = ("set_up", "take_down", "both", "program", "rest")
EXPERIMENT = """\
title: Short runs
sites:
  west: [pc1, pc2]
  east: [pc3, pc4]
link: {{rtt: {baseline}, rate: 100Mbit/s}}
workload:
  app: nqueens
  problem: {{board: 8, node_ns: 100}}
axes: {{rtt: [{others}]}}
repetitions: {repetitions}
warmup: 0
"""


def planned(experiment: Path) -> list[str]:
    """Returns the names of all runs, in the order in which the workflow makes them."""
    from flowsweep import experiment as experiments

    return [run.id for run in experiments.load(experiment).plan()]


def make(experiment: Path, name: str, directory: Path) -> dict[str, Any]:
    """Makes one run; returns its costs in seconds, its status, and the reason."""
    begin = time.monotonic()
    done = subprocess.run(
        [FLOWSWEEP, "run", experiment, "--run", name, "--output", directory],
        capture_output=True,
        text=True,
        check=False,
    )
    whole = time.monotonic() - begin
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    record = json.loads((directory / "run.json").read_text())
    cost = record["cost_s"]
    both = cost["set_up"] + cost["take_down"]
    return {
        "run": name,
        **cost,
        "both": both,
        "rest": whole - both - cost["program"],
        "status": record["status"],
        "reason": record["reason"],
        # After several tries, or a wait for another testbed, the rest includes their time.
        "tries": 1 + len(record["invalid_tries"]),
        "waited": "waiting:" in done.stderr,
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Returns median, 95th percentile and maximum of each column."""
    found = {}
    for column in COLUMNS:
        values = sorted(row[column] for row in rows)
        found[column] = {
            "median": statistics.median(values),
            "p95": values[max(0, round(0.95 * len(values)) - 1)],
            "max": values[-1],
        }
    return found


def line(name: str, values: list[float], note: str = "") -> str:
    return f"{name:26}" + "".join(f"{value:11.3f}" for value in values) + f"  {note}".rstrip()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=100, help="how many, in fours")
    parser.add_argument("--output", type=Path, default=Path("results/short_runs.json"))
    options = parser.parse_args()
    # SIGTERM must take the run down, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    rows = []
    with tempfile.TemporaryDirectory(prefix="flowsweep-short-") as folder:
        experiment = Path(folder) / "short.yaml"
        experiment.write_text(
            EXPERIMENT.format(
                baseline=RTTS[0],
                others=", ".join(RTTS[1:]),
                repetitions=max(1, options.runs // len(RTTS)),
            )
        )
        print(f"{'seconds':26}" + "".join(f"{column:>11}" for column in COLUMNS))
        for name in planned(experiment):
            row = make(experiment, name, Path(folder) / "runs" / name)
            rows.append(row)
            note = "" if row["status"] == "valid" else f"{row['status']}: {row['reason']}"
            note += f" after {row['tries']} tries" if row["tries"] > 1 else ""
            note += " (waited for another testbed)" if row["waited"] else ""
            print(line(name, [row[column] for column in COLUMNS], note.strip()), flush=True)
    found = summary([row for row in rows if row["tries"] == 1 and not row["waited"]] or rows)
    for kind in ("median", "p95", "max"):
        print(line(kind, [found[column][kind] for column in COLUMNS]))
    spoiled = sum(row["status"] != "valid" or row["tries"] > 1 for row in rows)
    both = found["both"]["median"]
    print(f"{len(rows)} runs, {spoiled} of them not valid at the first try; "
          f"set-up and take-down: {both:.3f} s (limit {LIMIT_S} s)")  # fmt: skip
    options.output.parent.mkdir(parents=True, exist_ok=True)
    record = {
        "machine": platform.platform(),
        "cpus": os.cpu_count(),
        "load": os.getloadavg()[0],
        "limit_s": LIMIT_S,
        "summary": found,
        "runs": rows,
    }
    options.output.write_text(json.dumps(record, indent=1) + "\n")
    sys.exit(0 if both < LIMIT_S else 1)


if __name__ == "__main__":
    main()
