"""A quick part of the bench of intervals, and what pooling does and refuses."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import intervals

from flowsweep.analysis import noise, slowdown

SWEEPS = 150


def line(counts: list[int], seed: int = 1, spreads: list[float] | None = None) -> slowdown.Line:
    """Points with so many runs each, the baseline first; 1 + 0.05 a point."""
    random = np.random.default_rng(seed)
    times = [
        (intervals.truth(index) * np.exp(spread * random.standard_normal(count))).tolist()
        for index, (count, spread) in enumerate(
            zip(counts, spreads or [0.02] * len(counts), strict=True)
        )
    ]
    return slowdown.Line(times, times[0], 0)


@pytest.mark.parametrize("repetitions", [3, 6, 10])
@pytest.mark.parametrize("kind", [*intervals.ALIKE, *intervals.UNLIKE])
def test_intervals_hold_the_truth(kind: str, repetitions: int) -> None:
    """150 sweeps of 5 points; the intervals of one sweep share its baseline.

    If so few as 93 % held, less than 88.8 % would be found once in 600 such tests: the standard
    error with four intervals of a correlation of 1/2 is that of 240 independent ones, 1.65 %.
    """
    found = intervals.measure(kind, 5, repetitions, SWEEPS)
    assert found.held >= 93 - 2.9 * 100 * math.sqrt(0.93 * 0.07 / 240)


def test_pooled_noise_makes_intervals_of_three_runs_narrower() -> None:
    found = intervals.measure("normal", 9, 3, SWEEPS)
    assert found.pooled > 70
    assert math.log(found.width) < 0.8 * math.log(found.own_width)


def test_a_noisy_baseline_is_noticed() -> None:
    assert intervals.measure("baseline three times", 9, 6, SWEEPS).pooled < 20


def test_why_noise_is_not_pooled_is_said() -> None:
    few = line([3, 3, 3, 3]).noise
    assert few == "fewer than 4 runs at the baseline"
    assert line([6, 3]).noise == "fewer than 3 points with 2 runs"
    loud = line([20, 10, 10, 10, 10], spreads=[0.2, 0.02, 0.02, 0.02, 0.02]).noise
    assert loud == "runs at the baseline scatter more than those of the other points"
    growing = line([20] * 6, spreads=[0.02, 0.01, 0.03, 0.05, 0.1, 0.2]).noise
    assert growing in {
        "runs scatter more the harder the network is",
        "runs at the baseline scatter less than those of the other points",
    }
    odd = line([20] * 6, spreads=[0.02, 0.02, 0.2, 0.02, 0.02, 0.02]).noise
    assert isinstance(odd, str)
    equal = slowdown.Line([[1.0] * 6, [1.1] * 3, [1.2] * 3], [1.0] * 6, 0)
    assert equal.noise == "most runs of a point took equally long"


def test_pooled_medians_are_those_of_resampled_runs() -> None:
    """The middle values are drawn at once; here all runs are drawn."""
    residuals = np.sort(np.random.default_rng(3).standard_normal(40))
    pooled = noise.Noise(residuals, 30, 1.0, 5)
    for runs in (2, 3, 6, 7):
        drawn = np.random.default_rng(4).choice(residuals, (20_000, runs))
        expected = np.quantile(np.median(drawn, axis=1), [0.025, 0.5, 0.975])
        found = np.quantile(pooled._medians(runs, 0), [0.025, 0.5, 0.975])
        assert found == pytest.approx(expected, abs=0.08)


def test_two_runs_that_are_far_apart_have_no_interval() -> None:
    made = line([4, 2, 2, 2, 2], seed=2)
    assert isinstance(made.noise, noise.Noise)
    assert all(0 < low < high < math.inf for low, high in made.intervals[1:])
    times = [list(one) for one in made.times]
    times[2][0] = times[2][1] * 1.5
    apart = slowdown.Line(times, times[0], 0)
    assert isinstance(apart.noise, noise.Noise)
    assert apart.intervals[2].tolist() == [0.0, math.inf]


def test_the_same_runs_have_the_same_interval() -> None:
    assert line([6, 3, 3, 3]).intervals.tolist() == line([6, 3, 3, 3]).intervals.tolist()
