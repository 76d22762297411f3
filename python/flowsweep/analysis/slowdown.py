"""Computes median slowdowns from the completion times of repeated runs, with intervals.

Where the line has enough points, intervals rest on the scatter of all its runs
(flowsweep.analysis.noise). Otherwise each point has only its own runs, and its interval is that of
the ratio of two medians: the standard error of a median comes from two order statistics, and two
medians are compared by Student's t with Welch's degrees of freedom (Price and Bonett,
"Distribution-free confidence intervals for difference and ratio of medians", J. Statist. Comput.
Simul. 72, 2002; t instead of the normal distribution, because a sweep has few runs).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from flowsweep.analysis import noise, student

# Two runs hardly show their spread: two times that are equal by chance would look certain.
MIN_RUNS = 3
# The probability that one end of an interval is wrong: 95 % of the intervals are right.
ONE_SIDED = 0.025
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Median:
    """A median (s), the standard error of its logarithm (infinite if not known), and its runs."""

    value: float
    error: float
    runs: int

    @classmethod
    def estimate(cls, times: Sequence[float]) -> Median:
        """Estimates the median of at least one time (s)."""
        ordered = sorted(times)
        runs = len(ordered)
        middle = (ordered[(runs - 1) // 2] + ordered[runs // 2]) / 2
        if runs < MIN_RUNS or ordered[0] <= 0:
            return cls(middle, math.inf, runs)
        rank, errors = _rank(runs)
        return cls(middle, math.log(ordered[runs - rank] / ordered[rank - 1]) / errors, runs)

    def interval(self) -> tuple[float, float]:
        """Returns the 95 % interval of the median; 0 and infinity if its error is unknown."""
        if not math.isfinite(self.error):
            return 0.0, math.inf
        half = student.quantile(1 - ONE_SIDED, self.runs - 1) * self.error
        factor = math.exp(min(half, 700.0))
        return self.value / factor, self.value * factor

    def compared(self, other: Median, tail: float = ONE_SIDED) -> tuple[float, float]:
        """Returns the interval of self / other; each end is wrong with probability `tail`."""
        own, its = self.error**2, other.error**2
        if not math.isfinite(own + its):
            return 0.0, math.inf
        ratio = self.value / other.value
        if own + its == 0:
            return ratio, ratio
        freedom = (own + its) ** 2 / (own**2 / (self.runs - 1) + its**2 / (other.runs - 1))
        half = student.quantile(1 - tail, freedom) * math.sqrt(own + its)
        # A double overflows above the exponent 709.
        factor = math.exp(min(half, 700.0))
        return ratio / factor, ratio * factor


@functools.cache
def _rank(runs: int) -> tuple[int, float]:
    """Chooses the order statistic, counted from either end, for a median's standard error.

    Returns:
        Its rank, and the distance between the two in standard errors: the probability that the
        median lies between them is binomial, whatever the distribution of the times.
    """
    rank = max(1, round((runs + 1) / 2 - math.sqrt(runs)))
    outside = sum(math.comb(runs, number) for number in range(rank)) / 2**runs
    return rank, -2 * NormalDist().inv_cdf(outside)


@dataclass(frozen=True)
class Fall:
    """The indices of a milder point and of a harder one that is significantly faster."""

    slower: int
    faster: int


@dataclass(frozen=True)
class Line:
    """Runs of one line of the sweep, mildest point first.

    Attributes:
        times: Completion times (s) of the valid runs of each point.
        baseline: Completion times (s) of the valid runs at the baseline.
        baseline_index: Index of the baseline in `times`, if it is one of them.
    """

    times: Sequence[Sequence[float]]
    baseline: Sequence[float]
    baseline_index: int | None

    @cached_property
    def medians(self) -> Floats:
        """Median slowdown of each point."""
        base = float(np.median(self.baseline))
        return np.array([float(np.median(times)) / base for times in self.times])

    @cached_property
    def weights(self) -> Floats:
        """Number of runs of each point."""
        return np.array([len(times) for times in self.times], dtype=np.float64)

    @cached_property
    def intervals(self) -> Floats:
        """95 % interval of each median slowdown: shape (points, 2); 0 and infinity if unknown.

        The baseline has the slowdown 1 by definition.
        """
        base = Median.estimate(self.baseline)
        return np.array([
            (1.0, 1.0) if index == self.baseline_index else self._compared(index, base)
            for index in range(len(self.times))
        ])  # fmt: skip

    @cached_property
    def noise(self) -> noise.Noise | str:
        """The pooled noise of all points, or why each point has only its own runs."""
        apart = [self.baseline] if self.baseline_index is None else []
        return noise.pool([*apart, *self.times])

    def _compared(self, index: int, base: Median) -> tuple[float, float]:
        if isinstance(self.noise, str):
            return self._medians[index].compared(base)
        return self.noise.compared(self.times[index], self.baseline)

    @cached_property
    def falls(self) -> list[Fall]:
        """All pairs of points whose harder one is significantly faster.

        All pairs are tested, so each gets its share of the 2.5 % (Bonferroni).
        """
        pairs = list(combinations(range(len(self.times)), 2))
        return [
            Fall(milder, harder)
            for milder, harder in pairs
            if self._medians[harder].compared(self._medians[milder], ONE_SIDED / len(pairs))[1] < 1
        ]

    @cached_property
    def _medians(self) -> list[Median]:
        return [Median.estimate(times) for times in self.times]
