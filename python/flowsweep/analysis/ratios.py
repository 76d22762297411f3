"""Pairs of points to the ratio of their completion times, and how sure it is.

The noise of all points together is pooled where their runs do not contradict that they scatter
alike (flowsweep.analysis.noise); else each pair is left with its own runs, by standard errors of
medians and Student's t (flowsweep.analysis.slowdown).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from flowsweep.analysis import noise
from flowsweep.analysis.slowdown import ONE_SIDED, Median

Key = TypeVar("Key")


@dataclass(frozen=True)
class Ratio:
    """The median time of one point divided by that of another.

    Attributes:
        low: Lower end of the 95 % interval; None where the runs are too few.
        high: Upper end.
        noise: What the interval rests on: pooled, or each point's own runs.
        reason: Why it is not pooled.
    """

    value: float
    low: float | None
    high: float | None
    noise: str
    reason: str | None

    @property
    def is_sure(self) -> bool:
        """Whether the interval leaves out 1: there is a difference."""
        if self.low is None or self.high is None:
            return False
        return self.low > 1 or self.high < 1


def ratios(
    times: Mapping[Key, Sequence[float]], pairs: Sequence[tuple[Key, Key]], baseline: Key | None
) -> list[Ratio]:
    """The ratio of each pair.

    Args:
        times: Completion times (s) of the runs of each point, at least one, mildest point first.
        pairs: A point, and the point that it is compared with.
        baseline: The point whose scatter is tested against that of the others.
    """
    points = list(times)
    pooled = (
        "no run at the baseline"
        if baseline not in points
        else noise.pooled([times[point] for point in points], points.index(baseline))
    )
    return [_ratio(times[one], times[other], pooled) for one, other in pairs]


def _ratio(mine: Sequence[float], its: Sequence[float], pooled: noise.Noise | str) -> Ratio:
    ratio = float(np.median(mine)) / float(np.median(its))
    if isinstance(pooled, str):
        low, high = Median.of(mine).compared(Median.of(its))
        rests_on, reason = "own", pooled
    else:
        rests_on, reason = "pooled", None
        low, high = 0.0, math.inf
        if pooled.explains(mine) and pooled.explains(its):
            below, above = pooled.errors(len(mine), len(its), ONE_SIDED)
            low, high = ratio * math.exp(-above), ratio * math.exp(-below)
    if not math.isfinite(high):
        return Ratio(ratio, None, None, rests_on, reason)
    return Ratio(ratio, low, high, rests_on, reason)
