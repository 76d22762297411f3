"""Computes the interval of each median slowdown on the lines of a sweep: `line_intervals`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from flowsweep.analysis.slowdown import Line

NOTE = (
    "95 % intervals of the slowdown along each line of axis_points: each point's variance is drawn "
    "towards that of all points, or rests on its own runs alone (flowsweep.analysis.slowdown)"
)
COLUMNS = {
    "axis": "varchar",
    "unit": "varchar",
    "line": "varchar",
    "outcome": "varchar",
    "point": "bigint",
    "low": "double",
    "high": "double",
    "noise": "varchar",
    "spread": "double",
    "noise_reason": "varchar",
}
Key = tuple[str, str, str, str]


def rows(runs: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Returns the rows of the table.

    Args:
        runs: `axis, unit, line, outcome, point, x, is_reference, cost` of each used run,
            sorted by these.
    """
    found: list[tuple[Any, ...]] = []
    for key, line_runs in itertools.groupby(runs, key=_key):
        found += _line(key, list(line_runs))
    return found


def _key(run: dict[str, Any]) -> Key:
    return run["axis"], run["unit"], run["line"], run["outcome"]


def _line(key: Key, runs: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Returns the points of one line; none if its reference has no run."""
    # In the order of the axis; an unset value comes first.
    runs.sort(key=lambda run: (-math.inf if run["x"] is None else run["x"], run["point"]))
    points = [list(group) for _, group in itertools.groupby(runs, key=lambda run: run["point"])]
    flagged = [point[0]["is_reference"] for point in points]
    if True not in flagged:
        return []
    reference = flagged.index(True)
    times = [[run["cost"] for run in point] for point in points]
    line = Line(times, times[reference], reference)
    is_pooled = not isinstance(line.noise, str)
    rests_on = (
        "pooled" if is_pooled else "own",
        None if isinstance(line.noise, str) else line.noise.spread,
        line.noise if isinstance(line.noise, str) else None,
    )
    ends = [
        (low, high) if math.isfinite(high) else (None, None)
        for low, high in line.intervals.tolist()
    ]
    return [
        (*key, point[0]["point"], *interval, *rests_on)
        for point, interval in zip(points, ends, strict=True)
    ]
