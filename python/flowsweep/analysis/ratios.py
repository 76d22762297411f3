"""Computes the ratio of the completion times of two points, with its interval.

Intervals rest on the scatter of all points together (flowsweep.analysis.noise). If there are too
few points, each pair has only its own runs, by standard errors of medians and Student's t
(flowsweep.analysis.slowdown).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from flowsweep.analysis import noise
from flowsweep.analysis.slowdown import Median

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


def ratios(times: Mapping[Key, Sequence[float]], pairs: Sequence[tuple[Key, Key]]) -> list[Ratio]:
    """Returns the ratio of each pair.

    Args:
        times: Completion times (s) of the runs of each point, at least one.
        pairs: A point, and the point that it is compared with.
    """
    pooled = noise.pool(list(times.values()))
    return [_ratio(times[one], times[other], pooled) for one, other in pairs]


def _ratio(own: Sequence[float], its: Sequence[float], pooled: noise.Noise | str) -> Ratio:
    ratio = float(np.median(own)) / float(np.median(its))
    if isinstance(pooled, str):
        low, high = Median.estimate(own).compared(Median.estimate(its))
        rests_on, reason = "own", pooled
    else:
        low, high = pooled.compared(own, its)
        rests_on, reason = "pooled", None
    if not math.isfinite(high):
        return Ratio(ratio, None, None, rests_on, reason)
    return Ratio(ratio, low, high, rests_on, reason)
