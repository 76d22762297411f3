"""Judges the points of a sweep by absolute limits: the table `need_points`.

A limit holds where the whole 95 % interval of the outcome at a point keeps it, and fails where no
part of it does. Intervals rest on the scatter of all points (flowsweep.analysis.noise), or on each
point's own runs (flowsweep.analysis.slowdown).
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from typing import Any

from flowsweep import numbers
from flowsweep.analysis import noise
from flowsweep.analysis.slowdown import MIN_RUNS, Median
from flowsweep.experiment.limit import Limit

Row = dict[str, Any]
NOTE = (
    "at which points an outcome keeps the limit that the experiment file states, by its 95 % "
    "interval (flowsweep.analysis.need_points)"
)
COLUMNS = {
    "outcome": "varchar",
    "relation": "varchar",
    "limit_value": "double",
    "unit": "varchar",
    "app": "varchar",
    "problem": "varchar",
    "point": "bigint",
    "value": "double",
    "low": "double",
    "high": "double",
    "state": "varchar",
    "reason": "varchar",
    "noise": "varchar",
    "runs_used": "bigint",
    "runs_within": "bigint",
}


def rows(needs: Sequence[Row], runs: Sequence[Row]) -> list[tuple[Any, ...]]:
    """Returns the rows of the table.

    Args:
        needs: `outcome, relation, limit_value, unit`.
        runs: `outcome, unit, app, problem, point, value` of each valid run, without warm-up, at
            every point; sorted by these.
    """
    stated = {row["outcome"]: row for row in needs}
    found: list[tuple[Any, ...]] = []
    for key, group in itertools.groupby(
        runs, key=lambda run: (run["outcome"], run["unit"], run["app"], run["problem"])
    ):
        need = stated[key[0]]
        limit = Limit(need["relation"], need["limit_value"], need["unit"])
        points: dict[int, list[float]] = {}
        for run in group:
            values = points.setdefault(run["point"], [])
            if run["value"] is not None:
                values.append(run["value"])
        pooled = noise.pool([values for values in points.values() if values])
        for point, values in points.items():
            row = {
                "outcome": key[0],
                "relation": limit.relation,
                "limit_value": limit.in_unit(key[1]),
                "unit": key[1],
                "app": key[2],
                "problem": key[3],
                "point": point,
                **_judge(values, limit, key[1], pooled),
            }
            found.append(tuple(row[name] for name in COLUMNS))
    return found


def _judge(values: Sequence[float], limit: Limit, unit: str, pooled: noise.Noise | str) -> Row:
    """Judges by its interval whether the outcome of one point keeps a limit."""
    bound = limit.in_unit(unit)
    row: Row = {
        "value": statistics.median(values) if values else None,
        "low": None,
        "high": None,
        "state": "cannot tell",
        "reason": None,
        "noise": None,
        "runs_used": len(values),
        "runs_within": 0,
    }
    if bound is None:
        given = limit.unit or "no unit"
        return row | {"reason": f"the limit has {given}, the outcome {unit or 'no unit'}"}
    row["runs_within"] = sum(_is_kept(value, limit.relation, bound) for value in values)
    if not values:
        return row | {"reason": "no valid run reports it"}
    low, high = (
        Median.estimate(values).interval() if isinstance(pooled, str) else pooled.interval(values)
    )
    row["noise"] = "own" if isinstance(pooled, str) else "pooled"
    if not math.isfinite(high):
        least = MIN_RUNS if isinstance(pooled, str) else noise.MIN_RUNS
        reason = f"{numbers.plural(len(values), 'run')}, where an interval needs {least}"
        is_few = len(values) < least
        return row | {"reason": reason if is_few else "its runs lie too far apart, or at 0"}
    row |= {"low": low, "high": high}
    kept = [_is_kept(end, limit.relation, bound) for end in (low, high)]
    if all(kept):
        return row | {"state": "holds"}
    if not any(kept):
        return row | {"state": "fails"}
    return row | {"reason": "its interval lies on both sides of the limit"}


def _is_kept(value: float, relation: str, bound: float) -> bool:
    return {
        "<": value < bound,
        "<=": value <= bound,
        ">": value > bound,
        ">=": value >= bound,
    }[relation]
