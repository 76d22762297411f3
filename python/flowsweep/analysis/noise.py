"""Estimates how repeated runs scatter at each point of a line, moderated by all its points.

Three runs show little of how much times scatter; those of all points together show much more. So
the variance of each point is drawn towards the common one (empirical Bayes: Smyth, "Linear models
and empirical Bayes methods for assessing differential expression in microarray experiments", Stat.
Appl. Genet. Mol. Biol. 3, 2004, section 4). Smyth estimates how many runs the common variance is
worth; the few points of a line do not show that, and a fixed number does as well. A point that
clearly scatters more than the others keeps its own variance, which the common one leaves out.
Everything is computed on logarithms of times.

A slowdown shifts these logarithms. Its interval is that of a difference of two means, by Student's
t with Welch's degrees of freedom; the mean of three runs varies less than their median. If a run is
an outlier, the median takes the mean's place, and one slow run counts for at most 2.5 standard
deviations in its point's variance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flowsweep.analysis import student

Floats = NDArray[np.float64]

MIN_RUNS = 2
MIN_POINTS = 3
#: The degrees of freedom that the common variance is worth: those of three runs.
WEIGHT = 2
#: A point whose variance is more than this many times that of the others keeps its own, with at
#: least four degrees of freedom: chance alone does this to one in 10 to 20 quiet points of three
#: runs, whose intervals would be twice as wide with two degrees.
OWN_VARIANCE = 3.0
LEAST_OWN_FREEDOM = 4
#: The probability that one end of an interval is wrong, by the t distribution. The moderated
#: variance is an estimate too: so 95 % of the intervals of synthetic sweeps are right
#: (tests/truth/intervals.py).
TAIL = 0.0125
#: In standard deviations: the distance from which a run is an outlier, and how much one counts.
OUTLIER, WINSOR = 4.0, 2.5
# If two runs are further apart than this many standard deviations, one of them is an outlier, and
# nothing shows which: their point is as uncertain as one with a single run.
MOST_APART = 3 * 2**0.5
# The median absolute difference of two standard normal values.
HALF_OF_DIFFERENCES = 0.9539


@dataclass(frozen=True)
class Noise:
    """How the times of one line scatter.

    Attributes:
        variance: Variance of the log of a time, common to the points that do not keep their own.
        squares: Sum of the squared deviations of all points.
        freedom: Runs less points, over all points.
        spread: Standard deviation of one run, as a share of its time; from the median difference of
            two runs, so that outliers do not count.
    """

    variance: float
    squares: float
    freedom: int
    spread: float

    def compared(self, times: Sequence[float], others: Sequence[float]) -> tuple[float, float]:
        """Returns the 95 % interval of the time of one point divided by that of another.

        It contains the ratio of the medians. With too few runs, or a time of 0, it is 0 and
        infinity.
        """
        if not (self._explains(times) and self._explains(others)):
            return 0.0, math.inf
        own, its = self._mean(times), self._mean(others)
        median_ratio = float(np.median(times)) / float(np.median(others))
        both = own.variance + its.variance
        if both == 0:
            return median_ratio, median_ratio
        freedom = both**2 / (own.variance**2 / own.freedom + its.variance**2 / its.freedom)
        half = student.quantile(1 - TAIL, min(freedom, self.freedom)) * math.sqrt(both)
        ratio = own.value - its.value
        low, high = _exp(ratio - half), _exp(ratio + half)
        return min(low, median_ratio), max(high, median_ratio)

    def interval(self, times: Sequence[float]) -> tuple[float, float]:
        """Returns the 95 % interval of a point's time, which contains the median of its runs.

        With too few runs, or a time of 0, it is 0 and infinity.
        """
        if not self._explains(times):
            return 0.0, math.inf
        mean, median = self._mean(times), float(np.median(times))
        freedom = min(mean.freedom, self.freedom)
        half = student.quantile(1 - TAIL, freedom) * math.sqrt(mean.variance)
        low, high = _exp(mean.value - half), _exp(mean.value + half)
        return min(low, median), max(high, median)

    def _explains(self, times: Sequence[float]) -> bool:
        """Returns whether a point has three runs, or two that are not too far apart; none of 0."""
        if min(times) <= 0:
            return False
        if len(times) > MIN_RUNS:
            return True
        apart = np.log(max(times) / min(times))
        return len(times) == MIN_RUNS and bool(apart <= MOST_APART * self.spread)

    def _mean(self, times: Sequence[float]) -> _Mean:
        logs = np.log(np.asarray(times, dtype=np.float64))
        runs, median = len(logs), float(np.median(logs))
        spread = _own_spread(logs, self.spread)
        squares, freedom = _squares(logs, self.spread), runs - 1
        if _is_apart(squares, freedom, self.squares, self.freedom):
            variance, freedom = squares / freedom, max(freedom, LEAST_OWN_FREEDOM)
        else:
            freedom += WEIGHT
            variance = (WEIGHT * self.variance + squares) / freedom
        if np.abs(logs - median).max() > OUTLIER * spread:
            # The variance of the median of many normal values; for few it is less.
            return _Mean(median, variance / runs * math.pi / 2, freedom)
        return _Mean(float(logs.mean()), variance / runs, freedom)


def _exp(power: float) -> float:
    """Returns the exponential; the largest or smallest that a double has room for."""
    return math.exp(max(-700.0, min(power, 700.0)))


@dataclass(frozen=True)
class _Mean:
    """The mean of logarithms, or the median in its place; its variance, and degrees of freedom."""

    value: float
    variance: float
    freedom: int


def pool(groups: Sequence[Sequence[float]]) -> Noise | str:
    """Pools the noise of a line, or returns why the points' variances cannot be compared.

    Args:
        groups: Times (s) of the runs of each point, including the baseline.
    """
    kept = [times for times in groups if len(times) >= MIN_RUNS]
    if len(kept) < MIN_POINTS:
        return f"fewer than {MIN_POINTS} points with {MIN_RUNS} runs"
    if any(min(times) <= 0 for times in kept):
        return "a run took no time"
    logs = [np.log(np.asarray(times, dtype=np.float64)) for times in kept]
    spread = _spread(logs)
    if spread == 0:
        return "most runs of a point took equally long"
    points = [(_squares(one, spread), len(one) - 1) for one in logs]
    squares, freedom = sum(one for one, _ in points), sum(one for _, one in points)
    alike = [point for point in points if not _is_apart(*point, squares, freedom)]
    variance = sum(one for one, _ in alike) / sum(one for _, one in alike)
    return Noise(variance, squares, freedom, spread)


def _is_apart(squares: float, freedom: int, all_squares: float, all_freedom: int) -> bool:
    """Returns whether the variance of a point is far above that of the others together."""
    others = (all_squares - squares) / (all_freedom - freedom)
    return squares / freedom > OWN_VARIANCE * others


def _spread(logs: Sequence[Floats]) -> float:
    """Estimates the standard deviation by the median distance of two runs (Shamos 1976)."""
    distances = [np.abs(one[:, None] - one[None, :])[np.triu_indices(len(one), 1)] for one in logs]
    return float(np.median(np.concatenate(distances))) / HALF_OF_DIFFERENCES


def _own_spread(logs: Floats, spread: float) -> float:
    """Returns the common spread, or the point's own if several of its runs lie far out."""
    outside = np.abs(logs - np.median(logs)) > WINSOR * spread
    return max(spread, _spread([logs])) if np.count_nonzero(outside) > 1 else spread


def _squares(logs: Floats, spread: float) -> float:
    """Sums squared deviations from the mean; an outlier counts for `WINSOR` standard deviations."""
    median, reach = np.median(logs), WINSOR * _own_spread(logs, spread)
    drawn_in = np.clip(logs, median - reach, median + reach)
    return float(((drawn_in - drawn_in.mean()) ** 2).sum())
