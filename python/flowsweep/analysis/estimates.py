"""Runs of a sweep to the tables `slowdown_intervals` and `threshold_estimates`.

They hold what SQL cannot compute; reports/figures/*.sql join them like any model.
"""

from __future__ import annotations

import zlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowsweep.analysis import slowdown, thresholds

if TYPE_CHECKING:
    import polars as pl

LEVELS = (1.1, 1.5)
MAX_FACTOR = 4.0
MAX_VARIATION = 0.10
# An axis is off where it misses what was asked by more than 0.2 ms and 5 %.
MAX_OFF = 0.05
MAX_OFF_MS = 0.2
KEYS = ("app", "problem", "axis", "buffer_bytes")

NOTES = {
    "slowdown_intervals": "95 % intervals of the median slowdown: percentile bootstrap within the "
    f"points, {slowdown.REPLICATES} replicates (flowsweep.analysis.slowdown)",
    "threshold_estimates": "where the slowdown crosses each level: monotone medians, linear in RTT "
    "and in 1/rate, same bootstrap (flowsweep.analysis.thresholds)",
}
TABLES = {
    "slowdown_intervals": """create or replace table slowdown_intervals (
    app varchar, problem varchar, axis varchar, buffer_bytes bigint, x_asked double,
    low double, high double
)""",
    "threshold_estimates": """create or replace table threshold_estimates (
    app varchar, problem varchar, axis varchar, buffer_bytes bigint, level double,
    state varchar, estimate double, low double, high double, reason varchar,
    easier double, harder double, first_reached double, mildest double, hardest double,
    largest_slowdown double, first_slowdown double, runs_beside bigint, runs_used bigint
)""",
}


@dataclass(frozen=True)
class Threshold:
    """Where a line crosses one level, or why that cannot be told; x in ms or Mbit/s.

    Attributes:
        state: found, one-sided, never, at once, not monotone, cannot tell.
        easier: Tried point next to the crossing on the mild side.
        harder: Tried point next to the crossing on the hard side.
        first_reached: First tried point whose median is at the level (the paper's way).
        runs_beside: Fewest valid runs at the two points beside the crossing and the baseline.
    """

    state: str
    reason: str | None = None
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    easier: float | None = None
    harder: float | None = None
    first_reached: float | None = None
    mildest: float | None = None
    hardest: float | None = None
    largest_slowdown: float | None = None
    first_slowdown: float | None = None
    runs_beside: int = 0
    runs_used: int = 0


@dataclass(frozen=True)
class Points:
    """The points of one line that have valid runs, mildest first.

    Attributes:
        axis: rtt or rate.
        x: Measured RTT (ms) or rate (Mbit/s, infinite where not limited).
        is_off: Whether the point misses what was asked.
        variation: Standard deviation of the baseline's times by their mean.
    """

    axis: str
    x: list[float]
    line: slowdown.Line
    is_off: list[bool]
    variation: float

    @property
    def hardness(self) -> thresholds.Floats:
        """RTT, or 1/rate: in these the completion time is close to a straight line."""
        values = np.array(self.x, dtype=np.float64)
        return values if self.axis == "rtt" else 1.0 / values


def estimate(
    runs: pl.DataFrame, points: pl.DataFrame, baselines: pl.DataFrame
) -> dict[str, pl.DataFrame]:
    """Both tables from the rows of `sweep_runs`, `sweep_points` and `baselines`."""
    import polars as pl

    intervals: list[dict[str, object]] = []
    found: list[dict[str, object]] = []
    for key in points.select(KEYS).unique().sort(KEYS).iter_rows(named=True):
        match = [pl.col(name).eq_missing(pl.lit(value)) for name, value in key.items()]
        asked, line_points = _points(runs.filter(match), points.filter(match), baselines)
        if line_points is None:
            reason = "there is no valid run at the baseline, or at fewer than two points"
            refused = asdict(Threshold("cannot tell", reason))
            found += [{**key, "level": level, **refused} for level in LEVELS]
            continue
        seed = zlib.crc32("/".join(map(str, key.values())).encode())
        replicates = slowdown.bootstrap(line_points.line, seed=seed)
        enough = len(line_points.line.baseline) >= slowdown.MIN_RUNS
        for index, times in enumerate(line_points.line.times):
            if enough and len(times) >= slowdown.MIN_RUNS:
                low, high = slowdown.interval(replicates[:, index])
                intervals.append({**key, "x_asked": asked[index], "low": low, "high": high})
        for level in LEVELS:
            threshold = _threshold(line_points, replicates, level)
            found.append({**key, "level": level, **asdict(threshold)})
    return {
        "slowdown_intervals": _frame(intervals, "slowdown_intervals"),
        "threshold_estimates": _frame(found, "threshold_estimates"),
    }


def _points(
    runs: pl.DataFrame, points: pl.DataFrame, baselines: pl.DataFrame
) -> tuple[list[float | None], Points | None]:
    """Asked values and points of one line; None where it cannot be compared."""
    import polars as pl

    first = points.row(0, named=True)
    base = baselines.filter(
        (pl.col("app") == first["app"]) & (pl.col("problem") == first["problem"])
    ).row(0, named=True)
    usable = points.filter(pl.col("runs_used") > 0)
    if first["axis"] == "rtt":
        usable = usable.filter(pl.col("x").is_not_null()).sort("x")
    else:
        usable = usable.with_columns(pl.col("x").fill_null(float("inf")))
        usable = usable.filter(pl.col("x") > 0).sort("x", descending=True)
    if not base["runs_used"] or usable.height < 2:
        return [], None
    used = runs.filter("is_used")
    times = [
        used.filter(pl.col("x_asked").eq_missing(pl.lit(asked)))["completion_s"].to_list()
        for asked in usable["x_asked"]
    ]
    flagged = usable["is_baseline"].to_list()
    index = flagged.index(True) if True in flagged else None
    baseline = times[index] if index is not None else [base["completion_s"]]
    return usable["x_asked"].to_list(), Points(
        axis=first["axis"],
        x=usable["x"].to_list(),
        line=slowdown.Line(times, baseline, index),
        is_off=[_is_off(row) for row in usable.iter_rows(named=True)],
        variation=base["variation"] or 0.0,
    )


def _is_off(point: dict[str, object]) -> bool:
    x, asked = point["x"], point["x_asked"]
    if not point["is_x_measured"] or not isinstance(x, float) or not isinstance(asked, float):
        return False
    slack = MAX_OFF_MS if point["axis"] == "rtt" else 0.0
    return abs(x - asked) > MAX_OFF * asked + slack


def _threshold(points: Points, replicates: slowdown.Floats, level: float) -> Threshold:
    line, hardness = points.line, points.hardness
    medians, weights = line.medians(), line.weights()
    fitted = thresholds.monotone(medians[None, :], weights)
    crossing = float(thresholds.crossings(hardness, fitted, level)[0])
    above = np.flatnonzero(medians >= level)
    common = Threshold(
        "found",
        first_reached=points.x[above[0]] if len(above) else None,
        mildest=_finite(points.x[0]),
        hardest=points.x[-1],
        largest_slowdown=float(medians.max()),
        first_slowdown=float(medians[0 if crossing < 0 else 1]),
        runs_beside=min(len(times) for times in line.times),
        runs_used=sum(len(times) for times in line.times),
    )
    if not np.isfinite(crossing):
        falls = medians.min() < level and _moved(line, medians, fitted[0])
        mild = "not monotone" if falls else "at once"
        return _with(common, state="never" if crossing > 0 else mild)
    harder = int(np.argmax(fitted[0] >= level))
    beside = (harder - 1, harder)
    common = _with(
        common,
        estimate=_x(points.axis, crossing),
        easier=_finite(points.x[harder - 1]),
        harder=points.x[harder],
        runs_beside=min(len(line.baseline), *(len(line.times[index]) for index in beside)),
    )
    if thresholds.crossing_count(medians, level) > 1 and _moved(line, medians, fitted[0]):
        return _with(common, state="not monotone", estimate=None)
    reason = _doubt(points, beside)
    if reason is not None:
        return _with(common, state="cannot tell", reason=reason)
    if common.runs_beside < slowdown.MIN_RUNS:
        return common
    fits = thresholds.monotone(replicates, weights)
    ends = slowdown.interval(thresholds.crossings(hardness, fits, level))
    low, high = sorted((_x(points.axis, ends[0]), _x(points.axis, ends[1])))
    closed = np.isfinite(ends).all()
    if closed and high > MAX_FACTOR * low:
        reason = f"its interval, {low:.3g} to {high:.3g}, is wider than a factor of {MAX_FACTOR:g}"
        return _with(common, state="cannot tell", reason=reason, low=low, high=high)
    return _with(
        common,
        state="found" if closed else "one-sided",
        low=low if low > 0 and np.isfinite(low) else None,
        high=high if np.isfinite(high) else None,
    )


def _doubt(points: Points, beside: tuple[int, int]) -> str | None:
    """Why a crossing between these two points cannot be believed."""
    if points.variation > MAX_VARIATION:
        return f"the baseline itself varies by {points.variation:.0%}".replace("%", " %")
    if any(points.is_off[index] for index in beside):
        return "the emulator was off by more than 5 % at the deciding points"
    return None


def _moved(line: slowdown.Line, medians: slowdown.Floats, fitted: slowdown.Floats) -> bool:
    """Whether making it monotone moved a median further than its own runs spread."""
    base = float(np.median(line.baseline))
    spread = np.array([(max(times) - min(times)) / base for times in line.times])
    return bool(np.any(np.abs(fitted - medians) > spread))


def _x(axis: str, hardness: float) -> float:
    """RTT or rate of a hardness; ends that the sweep does not bound become 0 or infinite."""
    if axis == "rtt":
        return hardness if hardness > 0 else 0.0
    if hardness <= 0:
        return float("inf")
    return 1.0 / hardness


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _with(threshold: Threshold, **changes: object) -> Threshold:
    return Threshold(**{**asdict(threshold), **changes})


def _frame(rows: list[dict[str, object]], table: str) -> pl.DataFrame:
    import polars as pl

    kinds = {"varchar": pl.String(), "bigint": pl.Int64(), "double": pl.Float64()}
    columns = TABLES[table].partition("(")[2].strip(") \n").split(",")
    schema = {name: kinds[kind] for name, kind in (column.split() for column in columns)}
    return pl.DataFrame(rows, schema=schema, orient="row")
