"""Median slowdowns along an axis to the value at which they cross 1.1 or 1.5.

Interpolated linearly in RTT and in 1/rate, because completion time is close to
a + b * RTT and a + c / rate; medians are first made monotone (pool adjacent
violators), because a harder network cannot make a program faster.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def monotone(medians: Floats, weights: Floats) -> Floats:
    """Non-decreasing least-squares fit along the last axis.

    The closed form max over j <= i of min over k >= i of the weighted mean of j..k;
    quick for many replicates of few points.
    """
    points = medians.shape[-1]
    sums = np.concatenate(
        [np.zeros((*medians.shape[:-1], 1)), np.cumsum(medians * weights, axis=-1)], axis=-1
    )
    totals = np.concatenate([[0.0], np.cumsum(weights)])
    fitted = np.full(medians.shape, -np.inf)
    for first in range(points):
        means = (sums[..., first + 1 :] - sums[..., first : first + 1]) / (
            totals[first + 1 :] - totals[first]
        )
        least = np.minimum.accumulate(means[..., ::-1], axis=-1)[..., ::-1]
        fitted[..., first:] = np.maximum(fitted[..., first:], least)
    return fitted


def crossings(hardness: Floats, fitted: Floats, level: float) -> Floats:
    """Where each monotone curve reaches `level`, in units of `hardness`.

    Args:
        hardness: RTT or 1/rate of the points, ascending.
        fitted: Curves of shape (replicates, points).
        level: The slowdown asked for.

    Returns:
        -inf where already the mildest point is at the level, +inf where none is.
    """
    reached = fitted >= level
    index = np.argmax(reached, axis=1)
    rows = np.arange(len(fitted))
    before = np.maximum(index - 1, 0)
    low, high = fitted[rows, before], fitted[rows, index]
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(high > low, (level - low) / (high - low), 1.0)
    found = hardness[before] + part * (hardness[index] - hardness[before])
    found[index == 0] = -np.inf
    found[~reached.any(axis=1)] = np.inf
    return np.asarray(found, dtype=np.float64)


def crossing_count(medians: Floats, level: float) -> int:
    """How often the raw medians pass the level, in either direction."""
    above = medians >= level
    return int(np.count_nonzero(above[1:] != above[:-1]))
