"""Computes the tables `slowdown_intervals` and `threshold_estimates` from the runs of a sweep.

They contain what SQL cannot compute; reports/figures/*.sql join them like any model.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from flowsweep import numbers
from flowsweep.analysis import drift, slowdown, student
from flowsweep.analysis.need import Points, Threshold, threshold
from flowsweep.outcome_names import COMPLETION

if TYPE_CHECKING:
    import polars as pl

LEVELS = (1.1, 1.5)
# A point is off if it misses its requested value by more than 5 %, plus 0.2 ms for RTT.
MAX_OFF = 0.05
MAX_OFF_MS = 0.2
KEYS = ("app", "problem", "outcome", "axis", "buffer_bytes")

NOTES = {
    "slowdown_intervals": "95 % intervals of the slowdown: Student's t, variances drawn towards "
    "that of all points (flowsweep.analysis.noise); of fewer than 3 points with 2 runs, standard "
    "errors from order statistics (flowsweep.analysis.slowdown)",
    "threshold_estimates": "the tried points between which the slowdown crosses each level, by "
    "these intervals; estimate: monotone medians, linear in RTT and in 1/rate "
    "(flowsweep.analysis.thresholds)",
}
#: The columns of each table and their types in SQL.
COLUMNS = {
    "slowdown_intervals": {
        "app": "varchar",
        "problem": "varchar",
        "outcome": "varchar",
        "axis": "varchar",
        "buffer_bytes": "bigint",
        "x_asked": "double",
        "low": "double",
        "high": "double",
    },
    "threshold_estimates": {
        "app": "varchar",
        "problem": "varchar",
        "outcome": "varchar",
        "axis": "varchar",
        "buffer_bytes": "bigint",
        "level": "double",
        "state": "varchar",
        "estimate": "double",
        "low": "double",
        "high": "double",
        "reason": "varchar",
        "easier": "double",
        "harder": "double",
        "first_reached": "double",
        "mildest": "double",
        "hardest": "double",
        "largest_slowdown": "double",
        "first_slowdown": "double",
        "runs_beside": "bigint",
        "runs_used": "bigint",
        "noise": "varchar",
        "spread": "double",
        "noise_reason": "varchar",
        **dict.fromkeys(("drift", "drift_low", "drift_high", "drift_p"), "double"),
    },
}


def estimate(
    runs: pl.DataFrame, points: pl.DataFrame, used: pl.DataFrame
) -> dict[str, pl.DataFrame]:
    """Computes the points of each axis and the thresholds on them.

    Args:
        runs: Rows of `sweep_runs`.
        points: Rows of `sweep_points`.
        used: `app, problem, outcome, point, is_baseline, start_ns, cost` of each valid run. The
            baseline may lie on another line, or on none. An outcome of 0 has no cost.
    """
    import polars as pl

    intervals: list[dict[str, object]] = []
    found: list[dict[str, object]] = []
    for key in points.select(KEYS).unique().sort(KEYS).iter_rows(named=True):
        match = [pl.col(name).eq_missing(pl.lit(value)) for name, value in key.items()]
        app_runs = used.filter(match[:3])
        baseline = app_runs.filter("is_baseline")["cost"].to_list()
        line_runs = runs.filter(match).filter("is_used")
        asked_x, line = _points(line_runs, points.filter(match), baseline)
        if line is None:
            refused = asdict(refuse(baseline, line_runs["cost"].to_list()))
            found += [{**key, "level": level, **refused} for level in LEVELS]
            continue
        for x_asked, (low, high) in zip(asked_x, line.line.intervals.tolist(), strict=True):
            if math.isfinite(high):
                intervals.append({**key, "x_asked": x_asked, "low": low, "high": high})
        drifted = _drift(app_runs)
        for level in LEVELS:
            found.append({**key, "level": level, **asdict(threshold(line, level)), **drifted})
    return {
        "slowdown_intervals": _frame(intervals, "slowdown_intervals"),
        "threshold_estimates": _frame(found, "threshold_estimates"),
    }


def refuse(baseline: Sequence[float | None], costs: Sequence[float | None]) -> Threshold:
    """Gives the reason why runs have no threshold; the cost of an outcome of 0 is None."""
    if not baseline:
        return Threshold("cannot tell", "there is no valid run at the baseline")
    for own, place, why in (
        (baseline, "at the baseline", "a ratio to 0 means nothing"),
        (costs, "of this line", "a ratio of 0 has no interval"),
    ):
        if zeros := own.count(None):
            total = numbers.plural(len(own), "run")
            return Threshold("cannot tell", f"it is 0 in {zeros} of {total} {place}, and {why}")
    return Threshold("cannot tell", "fewer than two points have a valid run")


def _drift(used: pl.DataFrame) -> dict[str, float]:
    """Returns the drift over all runs of an application, problem and outcome; empty if unknown."""
    if used["start_ns"].null_count():
        return {}
    groups = [
        group.select("start_ns", "cost").rows()
        for _, group in used.drop_nulls("cost").group_by("point", maintain_order=True)
    ]
    found = drift.find(groups)
    if found is None:
        return {}
    return {
        "drift": found.change,
        "drift_low": found.low,
        "drift_high": found.high,
        "drift_p": found.p,
    }


def _points(
    used: pl.DataFrame, points: pl.DataFrame, baseline: list[Any]
) -> tuple[list[float | None], Points | None]:
    """Returns requested values and points of one line; None if it cannot be compared."""
    import polars as pl

    axis = points["axis"][0]
    if axis == "rtt":
        tried = points.filter(pl.col("x").is_not_null()).sort("x")
    else:
        tried = points.with_columns(pl.col("x").fill_null(float("inf")))
        tried = tried.filter(pl.col("x") > 0).sort("x", descending=True)
    usable = tried.filter(pl.col("runs_used") > 0)
    if not baseline or usable.height < 2 or None in baseline or used["cost"].null_count():
        return [], None
    runs = [
        used.filter(pl.col("x_asked").eq_missing(pl.lit(asked_x))) for asked_x in usable["x_asked"]
    ]
    times = [own["cost"].to_list() for own in runs]
    named = [
        _name(row, own["x"].to_list())
        for row, own in zip(usable.iter_rows(named=True), runs, strict=True)
    ]
    flagged = usable["is_baseline"].to_list()
    index = flagged.index(True) if True in flagged else None
    return usable["x_asked"].to_list(), Points(
        axis=axis,
        x=usable["x"].to_list(),
        line=slowdown.Line(times, baseline, index),
        is_off=[_is_off(row) for row in usable.iter_rows(named=True)],
        without_runs=tried.filter(pl.col("runs_used") == 0)["x"].to_list(),
        is_time=points["outcome"][0] == COMPLETION,
        named=named,
    )


def _name(point: dict[str, Any], measured: Sequence[float]) -> float:
    """Returns the value that names a tried point: a rate as set, if its measurements agree.

    The link keeps a set rate more exactly than single runs measure it. An RTT exceeds the set
    value, because the hosts add to it.
    """
    x, asked_x, runs = point["x"], point["x_asked"], len(measured)
    if point["axis"] != "rate" or asked_x is None or runs < 2:
        return float(x)
    error = statistics.stdev(measured) / runs**0.5 * student.quantile(0.975, runs - 1)
    return float(asked_x if abs(statistics.mean(measured) - asked_x) <= error else x)


def _is_off(point: dict[str, object]) -> bool:
    x, asked_x = point["x"], point["x_asked"]
    if not point["is_x_measured"] or not isinstance(x, float) or not isinstance(asked_x, float):
        return False
    slack = MAX_OFF_MS if point["axis"] == "rtt" else 0.0
    return abs(x - asked_x) > MAX_OFF * asked_x + slack


def _frame(rows: list[dict[str, object]], table: str) -> pl.DataFrame:
    import polars as pl

    kinds = {"varchar": pl.String(), "bigint": pl.Int64(), "double": pl.Float64()}
    schema = {name: kinds[kind] for name, kind in COLUMNS[table].items()}
    return pl.DataFrame(rows, schema=schema, orient="row")
