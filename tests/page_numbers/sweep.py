"""Slowdowns from completion times, their intervals, and thresholds."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from compare import Expected

if TYPE_CHECKING:
    from raw import Raw

AXES = {
    "rtt": ("rtt_asked_ms", "rtt_ms", "rate_asked_mbit_s", "rate_mbit_s"),
    "rate": ("rate_asked_mbit_s", "rate_mbit_s", "rtt_asked_ms", "rtt_ms"),
}
LEVELS = {1.1: "gradual", 1.5: "severe"}


def recompute(raw: Raw) -> dict[str, Expected]:
    """Returns the rows of `run_table`, `completion_by_rtt`, `completion_by_rate`, `thresholds`."""
    lines = {axis: _line(raw, axis) for axis in AXES}
    decimals = dict.fromkeys(
        ["rtt_ms", "rate_mbit_s", "slowdown", "slowdown_low", "slowdown_high", "completion_s",
         "baseline_s"], 4,
    )  # fmt: skip
    found = {
        f"completion_by_{axis}": Expected(
            _points(raw, axis, line), ["problem", AXES[axis][0]], decimals
        )
        for axis, line in lines.items()
    }
    names = ("estimate", "low", "high", "easier", "harder", "first_reached", "mildest", "hardest",
             "first_slowdown", "largest_slowdown")  # fmt: skip
    return found | {
        "thresholds": Expected(
            pl.DataFrame(thresholds(raw), infer_schema_length=None),
            ["axis", "level"],
            dict.fromkeys([*names, "drift_p"], 4)
            | dict.fromkeys(["drift", "drift_low", "drift_high"], 9)
            | {"spread": 5},
        ),
        "run_table": Expected(_runs(raw), ["run"], dict.fromkeys(
            ["rtt_measured_ms", "rate_measured_mbit_s", "completion_s", "slowdown"], 4
        )),
    }  # fmt: skip


def baseline_s(raw: Raw) -> float:
    """Returns the median completion time at the baseline."""
    return raw.runs.filter("is_baseline")["completion_s"].median()


def _runs(raw: Raw) -> pl.DataFrame:
    return raw.runs.select(
        "run", "app", "problem", "repetition", "block", "is_baseline", "rtt_asked_ms",
        "rate_asked_mbit_s", "queue_bytes", "completion_s", "compute", "start_ns",
        is_warmup=pl.lit(False),
        is_used=pl.lit(True),
        is_traffic_used=pl.lit(True),
        status=pl.lit("valid"),
        reason=None,
        buffer_bytes=None,
        beside_app=None,
        rtt_measured_ms="rtt_ms",
        rate_measured_mbit_s="rate_mbit_s",
        slowdown=pl.col("completion_s") / baseline_s(raw),
    )  # fmt: skip


def _line(raw: Raw, axis: str) -> list[dict[str, Any]]:
    """Returns the points along one axis with the other at the baseline, mildest first."""
    asked, measured, fixed, fixed_measured = AXES[axis]
    base = raw.runs.filter("is_baseline")
    on_line = raw.runs.filter(pl.col(fixed) == base[fixed][0])
    points = []
    for (value,), point_rows in on_line.group_by(asked):
        points.append(
            {
                asked: value,
                measured: point_rows[measured].median(),
                "all_measured": point_rows[measured].to_list(),
                "times": point_rows["completion_s"].to_list(),
                "is_baseline": point_rows["is_baseline"].all(),
                fixed_measured: base[fixed_measured].median(),
            }
        )
    points.sort(key=lambda point: point[asked], reverse=axis == "rate")
    for point, (low, high) in zip(points, intervals([one["times"] for one in points]), strict=True):
        point |= {"low": low, "high": high}
    return points


def _points(raw: Raw, axis: str, line: list[dict[str, Any]]) -> pl.DataFrame:
    base = baseline_s(raw)
    asked, measured, _, fixed_measured = AXES[axis]
    first = raw.runs.row(0, named=True)
    return pl.DataFrame(
        [
            {
                "app": first["app"],
                "problem": first["problem"],
                "buffer_bytes": None,
                asked: point[asked],
                measured: point[measured],
                fixed_measured: point[fixed_measured],
                "slowdown": statistics.median(point["times"]) / base,
                "slowdown_low": point["low"],
                "slowdown_high": point["high"],
                "completion_s": statistics.median(point["times"]),
                "runs_used": len(point["times"]),
                "runs_left_out": 0,
                "left_out_because": None,
                "is_baseline": point["is_baseline"],
                "baseline_s": base,
            }
            for point in line
        ]
    )


def intervals(times: list[list[float]]) -> list[tuple[float, float]]:
    """Returns a 95 % interval of each slowdown; the first point is the baseline.

    Compares means of logarithms, at 1.25 % per side. Each point's variance is shrunk towards the
    common one, which has the weight of two degrees of freedom. A point more than three times as
    variable as the others keeps its own variance. An assertion checks that no run is an outlier.
    """
    logs = [np.log(one) for one in times]
    squares = [float(((one - one.mean()) ** 2).sum()) for one in logs]
    freedom = [len(one) - 1 for one in logs]
    total, all_freedom = sum(squares), sum(freedom)
    spread = run_spread(times)
    assert all(np.abs(one - np.median(one)).max() <= 2.5 * spread for one in logs)
    is_own = [
        one / own > 3 * (total - one) / (all_freedom - own)
        for one, own in zip(squares, freedom, strict=True)
    ]
    alike = [place for place, apart in enumerate(is_own) if not apart]
    common = sum(squares[one] for one in alike) / sum(freedom[one] for one in alike)
    means = []
    for one, own, apart, log in zip(squares, freedom, is_own, logs, strict=True):
        degrees = max(own, 4) if apart else own + 2
        variance = one / own if apart else (2 * common + one) / degrees
        means.append((float(log.mean()), variance / len(log), degrees))
    found = [(1.0, 1.0)]
    middle, variance, degrees = means[0]
    for mean, its, its_degrees in means[1:]:
        both = variance + its
        welch = both**2 / (variance**2 / degrees + its**2 / its_degrees)
        half = t_quantile(0.9875, min(welch, all_freedom)) * math.sqrt(both)
        ratio = statistics.median(times[len(found)]) / statistics.median(times[0])
        low, high = math.exp(mean - middle - half), math.exp(mean - middle + half)
        found.append((min(low, ratio), max(high, ratio)))
    return found


def run_spread(times: list[list[float]]) -> float:
    """Estimates the standard deviation of a run from the median distance of two runs of a point."""
    away = [
        abs(math.log(one / other))
        for point_rows in times
        for place, one in enumerate(point_rows)
        for other in point_rows[place + 1 :]
    ]
    return statistics.median(away) / (math.sqrt(2) * statistics.NormalDist().inv_cdf(0.75))


def t_quantile(share: float, freedom: float) -> float:
    """Returns the quantile of Student's t by integrating its density with Simpson's rule."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    scale /= math.sqrt(freedom * math.pi)

    def below(value: float) -> float:
        x = np.linspace(0, value, 4001)
        y = scale * (1 + x * x / freedom) ** (-(freedom + 1) / 2)
        inner = 4 * y[1:-1:2].sum() + 2 * y[2:-1:2].sum()
        return float(0.5 + (y[0] + y[-1] + inner) * value / 4000 / 3)

    low, high = 0.0, 100.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < share else (low, middle)
    return low


def thresholds(raw: Raw) -> list[dict[str, Any]]:
    """Finds where each line crosses each level; the medians of the demo's lines rise."""
    first = raw.runs.row(0, named=True)
    found = []
    drifted = drift(raw)
    for axis in AXES:
        line, measured = _line(raw, axis), AXES[axis][1]
        x = [point[measured] for point in line]
        tried = [_name_rate(point) for point in line] if axis == "rate" else x
        medians = [statistics.median(point["times"]) / baseline_s(raw) for point in line]
        assert medians == sorted(medians)
        times = [point["times"] for point in line]
        for level, word in LEVELS.items():
            # the last point of those surely below the level, and the first of those surely above it
            below = next(i for i, point in enumerate([*line, {"high": math.inf}])
                         if point["high"] >= level) - 1  # fmt: skip
            above = len(line)
            while above and line[above - 1]["low"] >= level:
                above -= 1
            harder = next(i for i, median in enumerate(medians) if median >= level)
            closed = above < len(line)
            ends = [tried[below], tried[above] if closed else None]
            if axis == "rate":
                ends.reverse()
            beside = [times[0], times[harder - 1], times[harder]]
            found.append(
                {
                    "app": first["app"],
                    "problem": first["problem"],
                    "outcome": "completion_time",
                    "better": "less",
                    "buffer_bytes": None,
                    "axis": axis,
                    "unit": "ms" if axis == "rtt" else "Mbit/s",
                    "level": level,
                    "deterioration": word,
                    "state": "found" if closed else "one-sided",
                    "estimate": _crossing(axis, x, medians, harder, level),
                    "low": ends[0],
                    "high": ends[1],
                    "reason": None,
                    "easier": tried[harder - 1],
                    "harder": tried[harder],
                    "first_reached": tried[harder],
                    "mildest": tried[0],
                    "hardest": tried[-1],
                    "first_slowdown": medians[1],
                    "largest_slowdown": max(medians),
                    "runs_beside": min(map(len, beside)),
                    "runs_used": sum(map(len, times)),
                    "noise": "pooled",
                    "spread": run_spread(times),
                    "noise_reason": None,
                }
                | drifted
            )
    return found


def _name_rate(point: dict[str, Any]) -> float:
    """Returns the rate that was set if the 95 % interval of its mean measurement contains it."""
    asked, measured, _, _ = AXES["rate"]
    runs = point["all_measured"]
    half = t_quantile(0.975, len(runs) - 1) * statistics.stdev(runs) / math.sqrt(len(runs))
    is_held = abs(statistics.mean(runs) - point[asked]) <= half
    return point[asked] if is_held else point[measured]


def drift(raw: Raw) -> dict[str, float]:
    """Fits the logarithms by least squares to a level for each point and the place in the order.

    Runs more than 2.5 standard deviations from the median of their point are moved to that
    distance; the deviation is that of all points.
    """
    runs = raw.runs.sort("start_ns")
    logs = runs["completion_s"].log().to_numpy().copy()
    points = runs["point"].to_numpy()
    times = [runs.filter(pl.col("point") == one)["completion_s"].to_list() for one in set(points)]
    reach = 2.5 * run_spread(times)
    for one in set(points):
        own = points == one
        middle = np.median(logs[own])
        logs[own] = np.clip(logs[own], middle - reach, middle + reach)
    levels = (points[:, None] == np.unique(points)[None, :]).astype(float)
    design = np.column_stack([np.linspace(0, 1, len(logs)), levels])
    fit, squares, _, _ = np.linalg.lstsq(design, logs)
    freedom = len(logs) - design.shape[1]
    error = math.sqrt(squares[0] / freedom * np.linalg.inv(design.T @ design)[0, 0])
    half = t_quantile(0.975, freedom) * error
    low, high = 0.5, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        is_below = t_quantile(middle, freedom) < abs(fit[0]) / error
        low, high = (middle, high) if is_below else (low, middle)
    return {
        "drift": math.expm1(fit[0]),
        "drift_low": math.expm1(fit[0] - half),
        "drift_high": math.expm1(fit[0] + half),
        "drift_p": 2 * (1 - low),
    }


def _crossing(axis: str, x: list[float], medians: list[float], harder: int, level: float) -> float:
    """Interpolates linearly in RTT, or in 1/rate, between the neighbouring points."""
    hardness = x if axis == "rtt" else [1 / one for one in x]
    share = (level - medians[harder - 1]) / (medians[harder] - medians[harder - 1])
    at = hardness[harder - 1] + share * (hardness[harder] - hardness[harder - 1])
    return at if axis == "rtt" else 1 / at
