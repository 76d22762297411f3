"""Medians, intervals and thresholds against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from flowsweep.analysis import estimates, slowdown, thresholds


def crossing(hardness: list[float], medians: list[float], level: float) -> float:
    weights = np.ones(len(medians))
    fitted = thresholds.monotone(np.array([medians]), weights)
    return float(thresholds.crossings(np.array(hardness), fitted, level)[0])


def test_monotone_medians_pool_neighbours_that_fall() -> None:
    fitted = thresholds.monotone(np.array([1.0, 1.3, 1.1, 1.6]), np.array([1.0, 1.0, 1.0, 1.0]))
    assert fitted.tolist() == pytest.approx([1.0, 1.2, 1.2, 1.6])


def test_monotone_medians_weigh_points_by_their_runs() -> None:
    fitted = thresholds.monotone(np.array([2.0, 1.0]), np.array([3.0, 1.0]))
    assert fitted.tolist() == pytest.approx([1.75, 1.75])


def test_monotone_medians_leave_a_rising_curve_alone() -> None:
    curve = np.array([[1.0, 1.1, 1.5], [1.0, 1.0, 1.0]])
    assert np.array_equal(thresholds.monotone(curve, np.ones(3)), curve)


def test_rtt_is_interpolated_linearly() -> None:
    # slowdown 1 + 0.02 * RTT crosses 1.1 at 5 ms, on a grid of 4 and 8
    assert crossing([1, 4, 8], [1.02, 1.08, 1.16], 1.1) == pytest.approx(5.0)


def test_rate_is_interpolated_in_its_inverse() -> None:
    # slowdown 1 + 5 / rate crosses 1.1 at 50 Mbit/s, on a grid of 100, 70 and 35
    rates = [1000.0, 100.0, 70.0, 35.0]
    found = crossing([1 / rate for rate in rates], [1 + 5 / rate for rate in rates], 1.1)
    assert 1 / found == pytest.approx(50.0)


def test_a_threshold_at_a_tried_point_is_that_point() -> None:
    assert crossing([1, 4, 8], [1.0, 1.1, 1.3], 1.1) == pytest.approx(4.0)


def test_a_curve_that_never_crosses_is_infinite() -> None:
    assert crossing([1, 4, 8], [1.0, 1.0, 1.0], 1.1) == np.inf


def test_a_curve_above_the_level_from_the_start_is_minus_infinite() -> None:
    assert crossing([1, 4, 8], [1.2, 1.3, 1.4], 1.1) == -np.inf


def test_thresholds_do_not_depend_on_the_unit() -> None:
    milliseconds = crossing([1, 4, 8], [1.0, 1.05, 1.2], 1.1)
    seconds = crossing([0.001, 0.004, 0.008], [1.0, 1.05, 1.2], 1.1)
    assert seconds * 1e3 == pytest.approx(milliseconds)


def test_crossings_are_counted_in_both_directions() -> None:
    assert thresholds.crossing_count(np.array([1.0, 1.2, 1.0, 1.2]), 1.1) == 3
    assert thresholds.crossing_count(np.array([1.0, 1.05, 1.2]), 1.1) == 1


def test_the_baseline_point_has_no_error_of_its_own() -> None:
    line = slowdown.Line([[1.0, 1.1, 0.9, 1.0, 1.2, 1.05], [2.0] * 6], [1.0, 1.1, 0.9, 1.0], 0)
    replicates = slowdown.bootstrap(line, seed=1, replicates=200)
    assert np.all(replicates[:, 0] == 1.0)
    # the second point's times are all equal: what varies is the baseline below it
    assert replicates[:, 1].std() > 0


def test_equal_times_have_an_interval_of_no_width() -> None:
    line = slowdown.Line([[1.0] * 6, [1.5] * 6], [1.0] * 6, 0)
    assert slowdown.interval(slowdown.bootstrap(line, seed=1)[:, 1]) == (1.5, 1.5)


def test_the_same_seed_gives_the_same_interval() -> None:
    line = slowdown.Line([[1.0, 1.2, 0.9], [1.3, 1.5, 1.4]], [1.0, 1.2, 0.9], 0)
    first = slowdown.bootstrap(line, seed=7, replicates=500)
    assert np.array_equal(first, slowdown.bootstrap(line, seed=7, replicates=500))


def test_an_interval_keeps_infinities() -> None:
    low, high = slowdown.interval(np.array([1.0] * 50 + [np.inf] * 50))
    assert (low, high) == (1.0, np.inf)


def test_intervals_of_a_median_cover_the_truth() -> None:
    """5 % lognormal noise, 8 runs a point, 300 sweeps: 95 % within a tolerance."""
    random = np.random.default_rng(5)
    hits = 0
    for trial in range(300):
        base, point = (truth * np.exp(0.05 * random.standard_normal(8)) for truth in (1.0, 1.3))
        line = slowdown.Line([base.tolist(), point.tolist()], base.tolist(), 0)
        low, high = slowdown.interval(slowdown.bootstrap(line, seed=trial, replicates=400)[:, 1])
        hits += low <= 1.3 <= high
    assert 0.90 <= hits / 300 <= 1.0


def test_a_program_that_is_faster_on_the_harder_network_has_no_threshold() -> None:
    # the baseline is the larger RTT, as where an application was moved closer
    times = [[2.8], [2.1]]
    points = estimates.Points(
        axis="rtt", x=[56.0, 78.0], line=slowdown.Line(times, [2.1], 1),
        is_off=[False, False], variation=0.0,
    )  # fmt: skip
    found = estimates._threshold(points, np.ones((1, 2)), 1.1)
    assert found.state == "not monotone"
    assert found.estimate is None
