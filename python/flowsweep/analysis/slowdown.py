"""Completion times of repeated runs to medians and their 95 % intervals.

The baseline is redrawn in the same replicate as the points, so that its error is
shared by the whole curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Below six runs no pair of order statistics reaches 95 %: (1st, 6th) gives 96.9 %.
MIN_RUNS = 6
REPLICATES = 10_000
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """Runs of one line of the sweep, mildest point first.

    Attributes:
        times: Completion times (s) of the valid runs of each point.
        baseline: Completion times (s) of the valid runs at the baseline.
        baseline_index: The point that *is* the baseline, if one of `times` is.
    """

    times: Sequence[Sequence[float]]
    baseline: Sequence[float]
    baseline_index: int | None

    def medians(self) -> Floats:
        """Median slowdown of each point."""
        base = float(np.median(self.baseline))
        return np.array([float(np.median(times)) / base for times in self.times])

    def weights(self) -> Floats:
        """Number of runs of each point."""
        return np.array([len(times) for times in self.times], dtype=np.float64)


def bootstrap(line: Line, *, seed: int, replicates: int = REPLICATES) -> Floats:
    """Replicates of the median slowdowns: shape (replicates, points)."""
    random = np.random.default_rng(seed)
    base = _median_replicates(line.baseline, random, replicates)
    columns = [
        base if index == line.baseline_index else _median_replicates(times, random, replicates)
        for index, times in enumerate(line.times)
    ]
    found: Floats = np.stack(columns, axis=1) / base[:, None]
    return found


def _median_replicates(
    times: Sequence[float], random: np.random.Generator, replicates: int
) -> Floats:
    values = np.asarray(times, dtype=np.float64)
    drawn = values[random.integers(0, len(values), size=(replicates, len(values)))]
    found: Floats = np.median(drawn, axis=1)
    return found


def interval(replicates: Floats) -> tuple[float, float]:
    """2.5 and 97.5 % order statistics; infinities stay."""
    ordered = np.sort(replicates)
    last = len(ordered) - 1
    return float(ordered[int(np.floor(0.025 * last))]), float(ordered[int(np.ceil(0.975 * last))])
