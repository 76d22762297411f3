"""Finds where median slowdowns along an axis cross 1.1 or 1.5.

The runs show a bracket of tried points, and nothing about what lies between two of them. An
estimate inside the bracket assumes more: a straight line in RTT and in 1/rate, because completion
time is close to a + b * RTT and a + c / rate, through medians that are first made monotone (pool
adjacent violators), because a harder network is not expected to make a program faster.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def bracket(intervals: Floats, level: float) -> tuple[int, int]:
    """Finds the points between which a line crosses the level.

    From the mildest to the first index, all points are significantly below the level; from the
    second index to the hardest, all significantly reach it. Each walk ends at the first point
    that is not significant, so it errs only if the first point beyond the crossing does: in 2.5 %
    of all sweeps, however many points there are (a fixed sequence of tests; Maurer, Hothorn and
    Lehmacher 1995).

    Args:
        intervals: Ends of each point's interval, mildest first: shape (points, 2).
        level: The slowdown.

    Returns:
        Indices; -1 if not even the mildest point is significantly below the level, the number of
        points if not even the hardest significantly reaches it.
    """
    below = intervals[:, 1] < level
    above = intervals[:, 0] >= level
    last_below = int(np.argmin(np.append(below, False))) - 1
    first_above = len(above) - int(np.argmin(np.append(above[::-1], False)))
    return last_below, first_above


def monotone(medians: Floats, weights: Floats) -> Floats:
    """Fits a non-decreasing curve by least squares.

    Closed form: max over j <= i of min over k >= i of the weighted mean of j..k.
    """
    points = len(medians)
    sums = np.concatenate([[0.0], np.cumsum(medians * weights)])
    totals = np.concatenate([[0.0], np.cumsum(weights)])
    fitted = np.full(points, -np.inf)
    for first in range(points):
        means = (sums[first + 1 :] - sums[first]) / (totals[first + 1 :] - totals[first])
        least = np.minimum.accumulate(means[::-1])[::-1]
        fitted[first:] = np.maximum(fitted[first:], least)
    return fitted


def crossing(hardness: Floats, fitted: Floats, level: float) -> float:
    """Finds where a monotone curve reaches `level`, in units of `hardness`.

    Args:
        hardness: RTT or 1/rate of the points, ascending.
        fitted: The curve at these points.
        level: The slowdown.

    Returns:
        -inf if the mildest point already reaches the level, +inf if no point does.
    """
    reached = np.flatnonzero(fitted >= level)
    if not len(reached):
        return float("inf")
    index = int(reached[0])
    if index == 0:
        return float("-inf")
    low, high = fitted[index - 1], fitted[index]
    part = (level - low) / (high - low)
    return float(hardness[index - 1] + part * (hardness[index] - hardness[index - 1]))


def crossing_count(medians: Floats, level: float) -> int:
    """Counts how often the raw medians pass the level, in either direction."""
    above = medians >= level
    return int(np.count_nonzero(above[1:] != above[:-1]))
