"""Estimates how long the missing runs of a plan will take, from those already made.

The estimate for a run is the median of finished runs at its point, or else of its workload; before
the first run it is `expect`, or else the time limit.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep import content
from flowsweep.errors import FlowsweepError
from flowsweep.files import inputs
from flowsweep.units import counted, duration

if TYPE_CHECKING:
    from flowsweep.experiment.run import Run

# Time in addition to the program: hosts, links and captures, the start of Python and MPI
# (measured: 0.9 to 2 s on two cores). Only used before the first run.
OVERHEAD_S = 1.5
# The start of `flowsweep run`, which cost_s of run.json does not include.
OUTSIDE_S = 0.5
# No run takes three years: a record with more was edited by hand.
MOST_S = 1e8


@dataclass(frozen=True)
class Estimate:
    """Seconds for `missing` of `total` runs; `unknown` of them use their time limit."""

    total: int
    missing: int
    unknown: int
    seconds: float
    measured: int  # finished runs that the estimate is based on

    def __str__(self) -> str:
        """Returns it in words: 12 of 31 runs to be made, about 1 min."""
        runs = f"{self.missing:,} of {counted(self.total, 'run')} to be made"
        if self.total == 0:
            return "there is no run to be made"
        if self.missing == 0:
            return (
                "the only run is there" if self.total == 1 else f"all {self.total:,} runs are there"
            )
        if self.unknown:
            return f"{runs}, at most {duration(self.seconds)} (no run of some programs yet)"
        basis = f"from {counted(self.measured, 'run')}" if self.measured else "as `expect` says"
        return f"{runs}, about {duration(self.seconds)} ({basis})"


def estimate(runs: list[Run], folder: Path, *, quick: bool = False) -> Estimate:
    """Estimates the missing runs of a plan, from the run directories in `folder`.

    quick: reads only the first finished run of each point, and later runs that are older than the
        experiment file or the program.
    """
    by_point: dict[Any, list[float]] = {}
    by_app: dict[str, list[float]] = {}
    made_since = _changed_ns(runs) if quick else 0
    missing = []
    measured = 0
    for run in runs:
        path = folder / run.id / "run.json"
        if quick and (run.app, run.point) in by_point:
            if not _seems_there(run, path, made_since):
                missing.append(run)
            continue
        record = _record(path)
        if record.get("spec_hash") != run.spec_hash():
            missing.append(run)
        seconds = _seconds(record)
        if seconds is None:
            continue
        measured += 1
        by_point.setdefault((run.app, run.point), []).append(seconds)
        by_app.setdefault(run.app, []).append(seconds)
    total, unknown = 0.0, 0
    for run in missing:
        known = by_point.get((run.app, run.point)) or by_app.get(run.app)
        expected = run.workload.expect_ns
        if known:
            total += statistics.median(known)
        elif expected is not None:
            # The application beside it starts before it and ends after it.
            total += expected / 1e9 + OVERHEAD_S * (1 if run.beside is None else 2)
        else:
            total += run.experiment.timeout_s + OVERHEAD_S
            unknown += 1
    return Estimate(len(runs), len(missing), unknown, total, measured)


def is_there(run: Run, folder: Path) -> bool:
    """Returns whether this run is in its directory, made from the same spec."""
    return _record(folder / run.id / "run.json").get("spec_hash") == run.spec_hash()


def _changed_ns(runs: list[Run]) -> int:
    """Returns when the experiment file or the program that makes its runs last changed."""
    modules = (content.PACKAGE / "experiment").glob("*.py")
    edited = {run.experiment.path for run in runs}
    return max(path.stat().st_mtime_ns for path in (*modules, *edited))


def _seems_there(run: Run, path: Path, changed_ns: int) -> bool:
    """Returns the same as `is_there`, but trusts a run made since `changed_ns` without reading."""
    try:
        if path.stat().st_mtime_ns > changed_ns:
            return True
        return run.spec_hash().encode() in path.read_bytes()
    except OSError:
        return False


def _record(path: Path) -> dict[str, Any]:
    try:
        return inputs.read_object(path, "the record of a run", "{}")[0]
    except FlowsweepError:
        return {}


def _seconds(record: dict[str, Any]) -> float | None:
    """Returns the total seconds that a run took; None if its record lacks them."""
    try:
        seconds = float(sum(record["cost_s"].values())) + OUTSIDE_S
    except (KeyError, TypeError, AttributeError):
        return None
    return seconds if 0 < seconds < MOST_S else None
