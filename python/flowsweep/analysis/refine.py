"""Proposes the points that would narrow the brackets of thresholds most.

A threshold lies between two tried points. The next point halves that bracket: in the logarithm of
RTT or rate, because a bracket is judged by the ratio of its ends; in the value itself where one end
is 0, which has no logarithm (no loss, no jitter). Where points inside the bracket were tried
already and the runs cannot tell them apart, the gap around the estimate is halved, as long as it
is wide enough for another point to differ from its neighbours.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from flowsweep.analysis.need import FAR

if TYPE_CHECKING:
    from flowsweep.outcome_names import Better

Row = dict[str, Any]
LINE = ("app", "problem", "axis", "unit", "buffer_bytes")
#: Two tried points that are closer than this factor get more runs rather than a third between them.
NEAR = 1.2
#: A proposed value within this share of a tried one counts as tried.
SAME = 0.02


@dataclass(frozen=True)
class Proposal:
    """A point to try.

    Attributes:
        app: Application of the line of the sweep.
        problem: Problem of the line.
        axis: What the line varies.
        unit: Unit of its values.
        buffer_bytes: Buffer of the line.
        better: Whether less or more of its outcome is better.
        value: The value to request, in the unit of the axis' column; three significant figures.
        between: The requested values on both sides of it, the smaller one first.
        bracket: Ends of the widest bracket that it narrows, as requested values.
        levels: Slowdowns whose thresholds it narrows.
    """

    app: str
    problem: str
    axis: str
    unit: str
    buffer_bytes: int | None
    better: Better
    value: float
    between: tuple[float, float]
    bracket: tuple[float, float]
    levels: tuple[float, ...]

    @property
    def factor(self) -> float:
        """Ratio of the ends of the bracket now; infinite where one is 0."""
        return _factor(self.bracket)

    @property
    def factor_after(self) -> float:
        """The largest ratio once the point is decided, on whichever side the threshold lies."""
        low, high = self.bracket
        return max(_factor((low, self.value)), _factor((self.value, high)))


@dataclass(frozen=True)
class Left:
    """A threshold for which no point is proposed, and why."""

    app: str
    problem: str
    axis: str
    better: Better
    level: float
    why: str


def proposals(
    thresholds: Iterable[Row], points: Sequence[Row], target: float = FAR
) -> tuple[list[Proposal], list[Left]]:
    """Returns the points to try next, widest brackets first, and thresholds without a proposal.

    Args:
        thresholds: Rows of the queries `thresholds` and `axis_thresholds`.
        points: `app, problem, axis, unit, buffer_bytes` of each line, with `x_asked` and `x` of
            every point that was tried.
        target: A bracket whose ends differ by no more than this factor is narrow enough.
    """
    found: dict[tuple[Any, ...], Proposal] = {}
    left = []
    for row in thresholds:
        line = [one for one in points if all(one[key] == row[key] for key in LINE)]
        made = _proposal(row, line, target)
        if isinstance(made, str):
            line_of = {name: row[name] for name in ("app", "problem", "axis", "better", "level")}
            left.append(Left(**line_of, why=made))
            continue
        key = (*(row[name] for name in LINE), made.value)
        known = found.get(key)
        if known is not None:
            wider = max(known, made, key=lambda one: one.factor)
            made = Proposal(**{**vars(wider), "levels": (*known.levels, *made.levels)})
        found[key] = made
    return sorted(found.values(), key=lambda one: -one.factor), left


def _proposal(row: Row, line: Sequence[Row], target: float) -> Proposal | str:
    """Returns the point that halves the bracket of a threshold, or why there is none."""
    ends = _bracket(row)
    if isinstance(ends, str):
        return ends
    tried = sorted({one["x_asked"] for one in line if one["x_asked"] is not None})
    low, high = (_find_asked(end, line) for end in ends)
    if low is None or high is None or not low < high:
        return "what was asked for at the ends of its bracket is not known"
    if _factor((low, high)) <= target:
        return f"its bracket is narrower than {target:g} times"
    inside = [value for value in tried if low <= value <= high]
    gaps = list(itertools.pairwise(inside))
    estimate = _convert_to_asked(row["estimate"], line)
    around = [gap for gap in gaps if estimate is not None and gap[0] <= estimate <= gap[1]]
    gap = around[0] if around else max(gaps, key=_factor)
    value = _halve(*gap)
    if _factor(gap) < NEAR or any(abs(value - end) <= SAME * end for end in tried):
        return "points near it were tried: more runs would narrow it (`repetitions`)"
    return Proposal(
        app=row["app"],
        problem=row["problem"],
        axis=row["axis"],
        unit=row["unit"],
        buffer_bytes=row["buffer_bytes"],
        better=row["better"],
        value=value,
        between=gap,
        bracket=(low, high),
        levels=(row["level"],),
    )


def _bracket(row: Row) -> tuple[float, float] | str:
    """Returns the tried points around a threshold, smaller value first, or why there are none."""
    if row["state"] == "never":
        return "it was not reached: only a harder point could show where"
    if row["state"] == "not monotone":
        return "it gets better again: no single place can be bracketed"
    for ends in ((row["low"], row["high"]), (row["easier"], row["harder"])):
        known = sorted(end for end in ends if end is not None)
        if len(known) == 2 and known[0] < known[1]:
            return known[0], known[1]
    return row["reason"] or "no two tried points lie on both sides of it"


def _find_asked(measured: float, line: Sequence[Row]) -> float | None:
    """Returns the requested value of the point nearest to this measured value."""
    known = [one for one in line if one["x"] is not None and one["x_asked"] is not None]
    if not known:
        return None
    nearest = min(known, key=lambda one: abs(one["x"] - measured))
    return float(nearest["x_asked"])


def _convert_to_asked(measured: float | None, line: Sequence[Row]) -> float | None:
    """Returns a measured value on the scale of the requested ones, between those beside it."""
    known: dict[float, list[float]] = {}
    for one in line:
        if one["x"] is not None and one["x_asked"] is not None:
            known.setdefault(one["x_asked"], []).append(one["x"])
    if measured is None or not known:
        return measured
    # Two points whose measurements scatter past each other keep the order of their requests.
    found = sorted(statistics.median(values) for values in known.values())
    return float(np.interp(measured, found, sorted(known)))


def _halve(low: float, high: float) -> float:
    middle = math.sqrt(low * high) if low > 0 else high / 2
    return float(f"{middle:.3g}")


def _factor(ends: tuple[float, float]) -> float:
    low, high = ends
    return high / low if low > 0 else math.inf
