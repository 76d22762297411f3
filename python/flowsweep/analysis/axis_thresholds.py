"""Estimates thresholds of loss, jitter, queue and buffer: `axis_threshold_estimates`.

As for RTT and rate (flowsweep.analysis.need), the runs show a bracket of tried points. The estimate
inside assumes a straight line in the value of loss and jitter, and in the inverse of queue and
buffer; that is an assumption of convenience, so the bracket is the answer. A point without a value
on the axis, such as a buffer that is left to the kernel, has no place on the line; it may still be
the baseline.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from flowsweep.analysis.estimates import COLUMNS as ESTIMATES
from flowsweep.analysis.estimates import LEVELS, refuse
from flowsweep.analysis.need import Points, Threshold, threshold
from flowsweep.analysis.slowdown import Line
from flowsweep.experiment.axes import AXES
from flowsweep.outcome_names import COMPLETION

NOTE = (
    "the tried values of loss, jitter, queue and buffer between which the slowdown crosses each "
    "level (flowsweep.analysis.axis_thresholds)"
)
_THRESHOLD_COLUMNS = {
    name: kind
    for name, kind in ESTIMATES["threshold_estimates"].items()
    if name in Threshold.__dataclass_fields__ or name == "level"
}
COLUMNS = {
    "axis": "varchar",
    "unit": "varchar",
    "app": "varchar",
    "problem": "varchar",
    "outcome": "varchar",
    **_THRESHOLD_COLUMNS,
}
KEY = ("axis", "unit", "app", "problem", "outcome")
Row = dict[str, Any]


def rows(runs: Sequence[Row]) -> list[tuple[Any, ...]]:
    """Returns the rows of the table.

    Args:
        runs: `axis, unit, app, problem, outcome, point, x, is_reference, cost, is_used` of each run
            at a point of a line, without warm-up, sorted by these.
    """
    found: list[tuple[Any, ...]] = []
    for key, group in itertools.groupby(runs, key=lambda run: tuple(run[name] for name in KEY)):
        tried = list(group)
        used = [run for run in tried if run["is_used"]]
        costs = [run["cost"] for run in used]
        baseline = [run["cost"] for run in used if run["is_reference"]]
        line = _line(key[0], key[1], tried, is_time=key[4] == COMPLETION)
        for level in LEVELS:
            made = refuse(baseline, costs) if line is None else threshold(line, level)
            row = {"level": level, **asdict(made)}
            found.append((*key, *(row[name] for name in _THRESHOLD_COLUMNS)))
    return found


def _line(axis: str, unit: str, runs: Sequence[Row], *, is_time: bool) -> Points | None:
    """Returns the points with a value and valid runs, mildest first; None if not comparable."""
    times: dict[float, list[float]] = {}
    tried = {run["x"] for run in runs if run["x"] is not None}
    for run in runs:
        if run["is_used"] and run["x"] is not None:
            times.setdefault(run["x"], []).append(run["cost"])
    baseline = [run["cost"] for run in runs if run["is_reference"] and run["is_used"]]
    grows = AXES[axis].mildest == "least"
    usable = sorted(times, reverse=not grows)
    if None in baseline or any(None in costs for costs in times.values()):
        return None
    if not baseline or len(usable) < 2 or (not grows and min(usable) <= 0):
        return None
    reference = next((run["x"] for run in runs if run["is_reference"]), None)
    index = usable.index(reference) if reference in usable else None
    return Points(
        axis=axis,
        x=usable,
        line=Line([times[x] for x in usable], baseline, index),
        is_off=[False] * len(usable),
        without_runs=sorted(tried - times.keys()),
        unit=unit,
        is_time=is_time,
    )
