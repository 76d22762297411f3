"""The scatter of repeated runs, pooled over the points of a line of a sweep.

Three runs say little of how much times scatter, those of all points together much more. Pooling
assumes that the logarithms of the times scatter alike at every point, so that times scatter in
proportion to their median. That is tested; where runs speak against it, or are too few to test it,
each point is left with its own runs (flowsweep.analysis.slowdown).

The pooled residuals are resampled: their medians of as many runs as a point has, less those of as
many as the baseline has, are what an observed slowdown may be wrong by. A residual is the logarithm
of a time less the mean of its point's, in which an outlier is drawn in to 2.5 standard deviations
of the median, so that one slow run does not turn its neighbours into outliers too. Residuals are
too small by sqrt((n - 1) / n), and a percentile is too close by as much as one of the normal
distribution is to one of Student's t; both are made good (Hesterberg, "What Teachers Should Know
About the Bootstrap", The American Statistician 69, 2015, section 3.3).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from flowsweep.analysis import student

Floats = NDArray[np.float64]

# With fewer there is too little to be tested: in made sweeps a baseline of three runs that scatter
# three times as much passed in 70 of 100.
MIN_BASELINE_RUNS = 4
MIN_RUNS = 2
MIN_POINTS = 3
MEDIANS = 10_000
# Random numbers drawn for the test, and the most and fewest resamples that they make.
TEST_NUMBERS, TEST_SAMPLES, LEAST_SAMPLES = 50_000, 499, 99
# Each of the tests speaks against pooling where chance alone does it in a tenth of all sweeps:
# narrower intervals ask for more than the absence of proof.
DOUBT = 0.1
WINSOR = 2.5
# The median of two runs moves with the slower one. If they are further apart than this many
# standard deviations, one of them is an outlier and their point is as unsure as if it had one run.
MOST_APART = 3 * 2**0.5
# Half of all differences of two standard normal values are below it.
HALF_OF_DIFFERENCES = 0.9539
SEED = 2015


@dataclass(frozen=True)
class Noise:
    """How the times of one line scatter, as far as it is the same at all points.

    Attributes:
        residuals: Of all points together, sorted, in logarithms of the time.
        freedom: Runs less points.
        spread: Standard deviation of one run, as a share of its time; of the inner half, so that
            outliers do not count.
        points: How many points were pooled.
    """

    residuals: Floats
    freedom: int
    spread: float
    points: int

    def errors(self, runs: int, baseline_runs: int, tail: float) -> tuple[float, float]:
        """Between which a median slowdown's logarithm is wrong, each end but for `tail`."""
        wider: float = NormalDist().cdf(-student.quantile(1 - tail, self.freedom))
        differences = self._medians(runs, 0) - self._medians(baseline_runs, 1)
        low, high = np.quantile(differences, [wider, 1 - wider])
        return float(low), float(high)

    def explains(self, times: Sequence[float]) -> bool:
        """Whether the median of these runs is as sure as their number says."""
        if len(times) > MIN_RUNS:
            return True
        apart = np.log(max(times) / min(times))
        return len(times) == MIN_RUNS and bool(apart <= MOST_APART * self.spread)

    def _medians(self, runs: int, stream: int) -> Floats:
        """Medians of resampled runs.

        The middle values of so many uniform numbers are drawn in place of all of them.
        """
        places = (_middles(runs, stream) * len(self.residuals)).astype(np.int64)
        return np.asarray(self.residuals[places].mean(axis=0))


@functools.lru_cache(maxsize=64)
def _middles(runs: int, stream: int) -> Floats:
    """The two middle values of `runs` uniform numbers, often: shape (2, MEDIANS)."""
    random = np.random.default_rng([SEED, runs, stream])
    rank = (runs + 1) // 2
    lower = random.beta(rank, runs - rank + 1, MEDIANS)
    if runs % 2 == 1:
        return np.array([lower, lower])
    # The rest are evenly spread above it; the least of them comes next.
    upper = 1 - (1 - lower) * random.random(MEDIANS) ** (1 / (runs - rank))
    return np.array([lower, np.minimum(upper, 1 - 1e-15)])


def pooled(groups: Sequence[Sequence[float]], baseline: int) -> Noise | str:
    """The noise of a line, or why it is not pooled.

    Args:
        groups: Times (s) of the runs of each point, mildest first.
        baseline: Which of them is the baseline.
    """
    if len(groups[baseline]) < MIN_BASELINE_RUNS:
        return f"fewer than {MIN_BASELINE_RUNS} runs at the baseline"
    kept = [index for index, times in enumerate(groups) if len(times) >= MIN_RUNS]
    if len(kept) < MIN_POINTS:
        return f"fewer than {MIN_POINTS} points with {MIN_RUNS} runs"
    if any(min(groups[index]) <= 0 for index in kept):
        return "a run took no time"
    logs = [np.log(np.asarray(groups[index], dtype=np.float64)) for index in kept]
    spread = _spread(logs)
    if spread == 0:
        return "most runs of a point took equally long"
    residuals = [_residuals(one, spread) for one in logs]
    doubt = _doubt(residuals, kept.index(baseline))
    if doubt is not None:
        return doubt
    together = np.sort(np.concatenate(residuals))
    return Noise(together, len(together) - len(kept), spread, len(kept))


def _spread(logs: Sequence[Floats]) -> float:
    """Standard deviation by the median distance of two runs of a point (Shamos 1976)."""
    distances = [np.abs(one[:, None] - one[None, :])[np.triu_indices(len(one), 1)] for one in logs]
    return float(np.median(np.concatenate(distances))) / HALF_OF_DIFFERENCES


def _residuals(logs: Floats, spread: float) -> Floats:
    median = np.median(logs)
    reach = WINSOR * spread
    centre = np.clip(logs, median - reach, median + reach).mean()
    return np.asarray((logs - centre) * np.sqrt(len(logs) / (len(logs) - 1)))


def _doubt(residuals: Sequence[Floats], baseline: int) -> str | None:
    """What speaks against equal scatter, in words; None where chance explains it.

    Three statistics are compared with those of resampled residuals: the mean absolute residual of
    the baseline beside that of the other points; whether it grows or falls along the line; and how
    far the points are apart in it (Levene). An outlier counts for three standard deviations.
    """
    counts = np.array([len(one) for one in residuals])
    together = np.concatenate(residuals)
    samples = max(LEAST_SAMPLES, min(TEST_SAMPLES, TEST_NUMBERS // len(together)))
    drawn = together[_places(len(together), samples)]
    observed = _statistics(together[None, :], counts, baseline)
    by_chance = _statistics(drawn, counts, baseline)
    for found, chance, words in zip(
        observed.T,
        by_chance.T,
        (
            "runs at the baseline scatter {} than those of the other points",
            "runs scatter {} the harder the network is",
            "runs of some points scatter more than those of others",
        ),
        strict=True,
    ):
        if (1 + np.count_nonzero(np.abs(chance) >= abs(found[0]))) / (1 + samples) < DOUBT:
            return words.format("more" if found[0] > 0 else "less")
    return None


@functools.lru_cache(maxsize=8)
def _places(runs: int, samples: int) -> NDArray[np.int64]:
    return np.random.default_rng([SEED, runs]).integers(0, runs, (samples, runs))


def _statistics(noise: Floats, counts: NDArray[np.int64], baseline: int) -> Floats:
    """The three statistics of each row of `noise`: shape (rows, 3)."""
    point = np.repeat(np.arange(len(counts)), counts)
    belongs = (point[:, None] == np.arange(len(counts))).astype(np.float64)
    means = noise @ belongs / counts
    absolute = np.abs(noise - means[:, point]) * np.sqrt(counts / (counts - 1))[point]
    scale = np.median(absolute, axis=1, keepdims=True) / NormalDist().inv_cdf(0.75)
    # A resample of equal residuals scatters nowhere.
    absolute = np.minimum(absolute / np.where(scale > 0, scale, 1.0), 3.0)
    of_points = absolute @ belongs / counts
    mean = absolute.mean(axis=1)
    share = counts / counts.sum()
    ranks = np.arange(len(counts)) - share @ np.arange(len(counts))
    others = (absolute.sum(axis=1) - of_points[:, baseline] * counts[baseline]) / (
        counts.sum() - counts[baseline]
    )
    mean = np.where(mean > 0, mean, 1.0)
    return np.column_stack([
        (of_points[:, baseline] - others) / mean,
        of_points @ (share * ranks) / mean,
        ((of_points - mean[:, None]) ** 2 @ share) / mean**2,
    ])  # fmt: skip
