"""Finds where one line of a sweep crosses a threshold, or why it is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from flowsweep import numbers
from flowsweep.analysis import noise, slowdown, thresholds
from flowsweep.experiment.axes import AXES

# A bracket of at most this many gaps between tried points is an answer. A longer one is an answer
# if its ends are at most this factor apart: two steps of the usual sweep, by 4 each.
MAX_GAPS = 2
MAX_FACTOR = 16.0
# Above this, the baseline's own spread is given as the reason why a crossing is unknown.
MAX_VARIATION = 0.10
# A bracket whose ends differ by at most this factor is narrow enough.
FAR = 1.5
TOO_FEW = "where an interval needs"
#: States of a threshold whose estimate is stated.
ESTIMATED = ("found", "one-sided")
EMULATOR_OFF = "the emulator was off by more than 5 % at the deciding points"


@dataclass(frozen=True)
class Threshold:
    """Where a line crosses one level, or why that is unknown; x in ms or Mbit/s.

    Attributes:
        state: found, one-sided, never, at once, not monotone, cannot tell.
        easier: Tried point next to the crossing on the mild side.
        harder: Tried point next to the crossing on the hard side.
        first_reached: First tried point whose median reaches the level (the paper's way).
        runs_beside: Fewest valid runs at the two points beside the crossing and the baseline.
        noise: What its intervals rest on: pooled, or each point's own runs.
        spread: Standard deviation of a run as a share of its time, where noise is pooled.
        noise_reason: Why it is not pooled.
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
    noise: str | None = None
    spread: float | None = None
    noise_reason: str | None = None


@dataclass(frozen=True)
class Points:
    """The points of one line that have valid runs, mildest first.

    Attributes:
        axis: rtt, rate, or another axis with a mild end (loss, jitter, queue, buffer).
        x: Measured RTT (ms) or rate (Mbit/s, infinite where not limited).
        is_off: Whether each point misses its requested value.
        without_runs: Tried values that have no valid run, and so no point.
        unit: Unit of the values; None for that of the axis.
        is_time: Whether the outcome is the completion time.
        named: The values by which the tried points are named, if not `x`.
    """

    axis: str
    x: list[float]
    line: slowdown.Line
    is_off: list[bool]
    without_runs: Sequence[float] = ()
    unit: str | None = None
    is_time: bool = True
    named: Sequence[float] = ()

    @property
    def tried(self) -> Sequence[float]:
        """The values by which the points are named."""
        return self.named or self.x

    @property
    def grows(self) -> bool:
        """Whether a larger value is harder, as for RTT and loss, rather than a smaller one."""
        return _is_growing(self.axis)

    @property
    def hardness(self) -> thresholds.Floats:
        """RTT, or 1/rate: in these the completion time is close to a straight line.

        For loss and jitter it is the value, for queues and buffers the inverse: an assumption.
        """
        values = np.array(self.x, dtype=np.float64)
        return values if self.grows else 1.0 / values


def threshold(points: Points, level: float) -> Threshold:
    """Finds where a line crosses one level, as far as its runs show."""
    line = points.line
    medians, fitted = line.medians, thresholds.monotone(line.medians, line.weights)
    crossing = thresholds.crossing(points.hardness, fitted, level)
    last_below, first_above = thresholds.bracket(line.intervals, level)
    # No point beyond one without valid runs is certain to be below the level.
    last_below = min(last_below, _before_a_gap(points))
    above = np.flatnonzero(medians >= level)
    common = Threshold(
        "cannot tell",
        first_reached=points.tried[above[0]] if len(above) else None,
        mildest=_to_finite(points.tried[0]),
        hardest=points.tried[-1],
        largest_slowdown=float(medians.max()),
        first_slowdown=float(medians[0 if first_above == 0 else 1]),
        runs_beside=min(map(len, [line.baseline, *line.times])),
        runs_used=sum(map(len, line.times)),
        **_noise(line),
    )
    falls = [fall for fall in line.falls if medians[fall.slower] >= level > medians[fall.faster]]
    if falls:
        return replace(common, state="not monotone", reason=_describe_fall(points, falls))
    if last_below == len(medians) - 1 and not points.without_runs:
        return replace(common, state="never")
    if first_above == 0 and _before_a_gap(points) >= 0:
        return replace(common, state="at once")
    ends = (last_below, first_above)
    low, high = _interval(points, ends)
    common = replace(common, low=low, high=high)
    if np.isfinite(crossing):
        harder = int(np.argmax(fitted >= level))
        beside = sorted(points.tried[harder - 1 : harder + 1])
        found = min(max(_x(points.axis, crossing), beside[0]), beside[1])
        runs = [line.baseline, line.times[harder - 1], line.times[harder]]
        common = replace(
            common,
            estimate=found,
            easier=_to_finite(points.tried[harder - 1]),
            harder=points.tried[harder],
            runs_beside=min(map(len, runs)),
        )
    return _judge(points, common, ends, level)


def _noise(line: slowdown.Line) -> dict[str, Any]:
    """Returns what the intervals of a line rest on."""
    if isinstance(line.noise, str):
        return {"noise": "own", "noise_reason": line.noise}
    return {"noise": "pooled", "spread": line.noise.spread}


def _judge(points: Points, common: Threshold, ends: tuple[int, int], level: float) -> Threshold:
    """Sets the state of a threshold, or the reason why it is unknown, by its bracket."""
    last_below, first_above = ends
    if any(points.is_off[index] for index in ends if 0 <= index < len(points.x)):
        return replace(common, reason=EMULATOR_OFF)
    if last_below >= 0 and first_above < len(points.x):
        if _is_wide(points, ends):
            reason = _describe_noise(points) or "the runs at the points between spread too far"
            return replace(common, reason=reason)
        return replace(common, state="found")
    if common.estimate is not None:
        if last_below > 0 or first_above < len(points.x):
            return replace(common, state="one-sided")
        is_single = thresholds.crossing_count(points.line.medians, level) == 1
        if common.runs_beside < slowdown.MIN_RUNS and common.noise == "own" and is_single:
            return replace(common, state="found", low=None, high=None)
    # A point whose whole interval is above +10 % shows that the baseline is known well enough.
    is_sure = points.line.intervals[:, 0].max() >= 1 + MAX_VARIATION
    noise_reason = None if is_sure else _describe_noise(points)
    return replace(common, reason=noise_reason or _describe_undecided(points, ends, level))


def _before_a_gap(points: Points) -> int:
    """Returns the index of the hardest point that no point without valid runs precedes."""
    missing = [
        value if points.grows else (1 / value if value else np.inf) for value in points.without_runs
    ]
    return int(np.searchsorted(points.hardness, min(missing, default=np.inf))) - 1


def _interval(points: Points, ends: tuple[int, int]) -> tuple[float | None, float | None]:
    """Returns the tried points of a bracket, the smaller value first; None for an open end."""
    last_below, first_above = ends
    mild = _to_finite(points.tried[last_below]) if last_below >= 0 else None
    hard = points.tried[first_above] if first_above < len(points.x) else None
    return (mild, hard) if points.grows else (hard, mild)


def _is_wide(points: Points, ends: tuple[int, int]) -> bool:
    """Returns whether a closed bracket is too wide: its runs do not separate the points inside."""
    last_below, first_above = ends
    hard, mild = points.hardness[first_above], points.hardness[last_below]
    return bool(first_above - last_below > MAX_GAPS and hard > MAX_FACTOR * mild)


def _describe_noise(points: Points) -> str | None:
    baseline = points.line.baseline
    variation = np.std(baseline, ddof=1) / np.mean(baseline) if len(baseline) > 1 else 0.0
    if variation <= MAX_VARIATION:
        return None
    return f"the baseline itself varies by {variation:.0%}".replace("%", " %")


def _describe_undecided(points: Points, ends: tuple[int, int], level: float) -> str:
    """Describes the point that leaves a bracket open: the least certain one inside it."""
    inside = range(ends[0] + 1, ends[1])
    if points.without_runs and ends[0] == _before_a_gap(points):
        choose = min if points.grows else max
        return f"no run is valid at {_write_value(points, choose(points.without_runs))}"
    index = max(inside, key=lambda one: (points.line.intervals[one, 1], points.line.medians[one]))
    needed = slowdown.MIN_RUNS if isinstance(points.line.noise, str) else noise.MIN_RUNS
    too_few = [
        f"{numbers.plural(len(times), 'valid run')} at {place}"
        for place, times in (
            (_write_value(points, points.tried[index]), points.line.times[index]),
            ("the baseline", points.line.baseline),
        )
        if len(times) < needed
    ]
    if too_few:
        return f"{' and '.join(too_few)}, {TOO_FEW} {needed}"
    limit = f"{level - 1:.0%}".replace("%", " %") if points.is_time else f"{level:g} times"
    return f"{_describe_point(points, index)}, which decides neither way about {limit}"


def _describe_fall(points: Points, falls: Sequence[slowdown.Fall]) -> str:
    """Describes the deepest fall."""
    medians = points.line.medians
    deepest = max(falls, key=lambda fall: medians[fall.slower] / medians[fall.faster])
    return (
        f"{_describe_point(points, deepest.slower)}, but {_describe_point(points, deepest.faster)}"
    )


def _describe_point(points: Points, index: int) -> str:
    low, high = points.line.intervals[index]
    median = numbers.estimate(points.line.medians[index])
    interval = f" {numbers.interval(low, high)}" if low < high < np.inf else ""
    place = _write_value(points, points.tried[index])
    if points.is_time:
        return f"at {place} it takes {median}{interval} times its baseline time"
    return f"at {place} it is {median}{interval} times worse than at the baseline"


def _write_value(points: Points, value: float) -> str:
    """Formats a value of the axis with its unit; without a unit it is a share."""
    if not np.isfinite(value):
        return "no limit"
    unit = AXES[points.axis].columns[0].unit if points.unit is None else points.unit
    return numbers.quantity(value, unit)


def _is_growing(axis: str) -> bool:
    return AXES[axis].mildest == "least"


def _x(axis: str, hardness: float) -> float:
    """Converts a hardness to a value of the axis; 0 and below become 0 or infinity."""
    if _is_growing(axis):
        return hardness if hardness > 0 else 0.0
    if hardness <= 0:
        return float("inf")
    return 1.0 / hardness


def _to_finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
