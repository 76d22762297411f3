"""A quick part of the interval bench, and the properties of an interval."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import held_out
import intervals

from flowsweep.analysis import noise, slowdown, student

SWEEPS = 150


def line(counts: list[int], seed: int = 1, spreads: list[float] | None = None) -> slowdown.Line:
    """Returns points with these numbers of runs, the baseline first; 1 + 0.05 per point."""
    random = np.random.default_rng(seed)
    times = [
        (intervals.truth(index) * np.exp(spread * random.standard_normal(count))).tolist()
        for index, (count, spread) in enumerate(
            zip(counts, spreads or [0.02] * len(counts), strict=True)
        )
    ]
    return slowdown.Line(times, times[0], 0)


@pytest.mark.parametrize("repetitions", [3, 6, 10])
@pytest.mark.parametrize("kind", [*intervals.ALIKE, *intervals.UNLIKE, intervals.MODES])
def test_intervals_hold_the_truth(kind: str, repetitions: int) -> None:
    """150 sweeps of 5 points; the intervals of one sweep share its baseline.

    If only the promised minimum were held, one such test in 600 would fail: the standard error of
    four intervals with a correlation of 1/2 is that of 240 independent ones.
    """
    least = intervals.LEAST if kind in intervals.ALIKE else intervals.LEAST_UNLIKE
    found = intervals.measure(kind, 5, repetitions, SWEEPS)
    assert found.held >= least - 2.9 * math.sqrt(least * (100 - least) / 240)


@pytest.mark.parametrize("noise_kind", held_out.NOISES)
def test_intervals_and_brackets_hold_where_no_method_was_chosen(noise_kind: str) -> None:
    """40 sweeps of each of three shapes; the six intervals of a sweep share its baseline."""
    found = [held_out.measure(shape, noise_kind, 40) for shape in ("logistic", "cubic", "capped")]
    assert np.mean([one["held"] for one in found]) >= held_out.LEAST_HELD - 3
    assert np.mean([one["bracket held"] for one in found]) >= held_out.LEAST_BRACKETS - 2
    # Brackets without ends would contain the truth as well.
    assert np.mean([one["closed"] for one in found]) >= 70


def test_shared_scatter_makes_intervals_of_three_runs_narrower() -> None:
    found = intervals.measure("normal", 9, 3, SWEEPS)
    assert math.log(found.width) < 0.75 * math.log(found.own_width)


def test_a_point_that_scatters_more_widens_its_own_interval_alone() -> None:
    spreads = [0.02, 0.02, 0.2, 0.02, 0.02, 0.02]
    loud, quiet = line([10] * 6, spreads=spreads), line([10] * 6)
    widths = np.log(loud.intervals[:, 1] / loud.intervals[:, 0])
    before = np.log(quiet.intervals[:, 1] / quiet.intervals[:, 0])
    assert widths[2] > 5 * before[2]
    assert np.delete(widths, 2) == pytest.approx(np.delete(before, 2), rel=0.2)


def test_why_scatter_is_not_shared_is_stated() -> None:
    assert line([6, 3]).noise == "fewer than 3 points with 2 runs"
    equal = slowdown.Line([[1.0] * 6, [1.1] * 3, [1.2] * 3], [1.0] * 6, 0)
    assert equal.noise == "most runs of a point took equally long"
    none = slowdown.Line([[1.0] * 3, [0.0] * 3, [1.2] * 3], [1.0] * 3, 0)
    assert none.noise == "a run took no time"


def test_runs_that_take_equally_long_have_an_interval_without_width() -> None:
    times = [[1.0, 1.0, 1.0], [1.1, 1.1, 1.1], [1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8]]
    made = slowdown.Line(times, times[0], 0)
    assert isinstance(made.noise, noise.Noise)
    assert made.intervals[1].tolist() == [1.1, 1.1]
    low, high = made.intervals[2]
    assert 1 < low < 1.5 < high < 3


def test_a_baseline_that_scatters_is_not_taken_for_outliers() -> None:
    """The runs of the other points are 0.1 % apart."""
    times = [[0.8, 1.001, 1.3], [1.0, 1.001, 1.002], [1.3, 1.301, 1.302]]
    low, high = slowdown.Line(times, times[0], 0).intervals[2]
    assert low < 1.1 < 1.3 < high


def test_an_interval_by_hand() -> None:
    """Without outliers: Student's t on the difference of two means of logarithms."""
    times = [[10.0, 10.1, 10.3, 9.9], [11.0, 11.2, 10.9], [12.4, 12.0, 12.1]]
    logs = [np.log(one) for one in times]
    squares = [float(((one - one.mean()) ** 2).sum()) for one in logs]
    common = sum(squares) / 7
    own = [(2 * common + squares[i]) / (2 + len(logs[i]) - 1) / len(logs[i]) for i in (0, 1)]
    freedom = (own[0] + own[1]) ** 2 / (own[0] ** 2 / 5 + own[1] ** 2 / 4)
    half = student.quantile(1 - noise.TAIL, min(freedom, 7)) * math.sqrt(sum(own))
    middle = logs[1].mean() - logs[0].mean()
    found = slowdown.Line(times, times[0], 0).intervals[1]
    assert np.log(found) == pytest.approx([middle - half, middle + half])


def test_an_interval_holds_the_ratio_of_the_medians() -> None:
    for seed in range(200):
        made = line([3] * 5, seed)
        inside = (made.intervals[:, 0] <= made.medians) & (made.medians <= made.intervals[:, 1])
        assert inside.all()


def test_one_slow_run_does_not_move_an_interval_far() -> None:
    made = line([6, 3, 3, 3, 3], seed=2)
    times = [list(one) for one in made.times]
    times[2][0] *= 3
    low, high = slowdown.Line(times, times[0], 0).intervals[2]
    assert low < 1.1 < high < 1.3


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


def test_a_time_of_nothing_has_no_interval() -> None:
    """An outcome may be 0: no logarithm, and no ratio, is known of it."""
    common = noise.Noise(variance=1e-4, squares=1e-3, freedom=10, spread=0.01)
    assert common.compared([0.0], [1.0, 1.0, 1.1]) == (0.0, math.inf)
    assert common.compared([1.0, 1.0, 1.1], [0.0, 0.0, 0.0]) == (0.0, math.inf)
    assert common.interval([0.0, 0.0]) == (0.0, math.inf)
