"""Medians, intervals and thresholds against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from flowsweep.analysis import need, slowdown, student, thresholds

RTTS = (0.3, 1.0, 4.0, 16.0, 64.0)


def crossing(hardness: list[float], medians: list[float], level: float) -> float:
    fitted = thresholds.monotone(np.array(medians), np.ones(len(medians)))
    return thresholds.crossing(np.array(hardness), fitted, level)


def made(truth: list[float], runs: int, spread: float, seed: int) -> need.Points:
    """Makes a line over RTTS with lognormal times around its true slowdowns, baseline first."""
    random = np.random.default_rng(seed)
    counts = [2 * runs, *[runs] * (len(truth) - 1)]
    times = [
        (median * np.exp(spread * random.standard_normal(count))).tolist()
        for median, count in zip(truth, counts, strict=True)
    ]
    return need.Points(
        "rtt", list(RTTS[: len(truth)]), slowdown.Line(times, times[0], 0), [False] * len(truth)
    )


def states(truth: list[float], runs: int, spread: float, sweeps: int = 200) -> dict[str, float]:
    """Returns the share of each state at the 10 % level over many simulated sweeps."""
    found = [need.threshold(made(truth, runs, spread, seed), 1.1).state for seed in range(sweeps)]
    return {state: found.count(state) / sweeps for state in found}


def test_quantiles_of_t_are_those_of_the_tables() -> None:
    table = {1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764, 10: 2.2281, 30: 2.0423}
    for freedom, value in table.items():
        assert student.quantile(0.975, freedom) == pytest.approx(value, abs=1e-4)
    assert student.quantile(0.995, 7) == pytest.approx(3.4995, abs=1e-4)


def test_quantiles_of_t_are_exact_between_whole_degrees() -> None:
    """The values at which the density, integrated by Simpson's rule, reaches 97.5 %."""
    integrated = {1.5: 6.016663, 2.5: 3.574655, 5.5: 2.501859}
    for freedom, value in integrated.items():
        assert student.quantile(0.975, freedom) == pytest.approx(value, abs=1e-6)
        assert student.tail(value, freedom) == pytest.approx(0.025, abs=1e-7)


def test_monotone_medians_pool_neighbours_that_fall() -> None:
    fitted = thresholds.monotone(np.array([1.0, 1.3, 1.1, 1.6]), np.array([1.0, 1.0, 1.0, 1.0]))
    assert fitted.tolist() == pytest.approx([1.0, 1.2, 1.2, 1.6])


def test_monotone_medians_weigh_points_by_their_runs() -> None:
    fitted = thresholds.monotone(np.array([2.0, 1.0]), np.array([3.0, 1.0]))
    assert fitted.tolist() == pytest.approx([1.75, 1.75])


def test_monotone_medians_leave_a_rising_curve_alone() -> None:
    curve = np.array([1.0, 1.1, 1.5])
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


def test_a_standard_error_comes_from_two_order_statistics() -> None:
    # Of six runs, the first and the last enclose the median with 1 - 2 / 64: 2 * 2.1539 errors.
    median = slowdown.Median.estimate([1.0, 1.1, 1.2, 1.3, 1.4, 2.0])
    assert median.value == 1.25
    assert median.error == pytest.approx(np.log(2.0) / (2 * 2.1539), rel=1e-4)
    # Of ten, the second and the ninth do with 1 - 2 * 11 / 1024: 2 * 2.2989 errors.
    ten = slowdown.Median.estimate([float(number) for number in range(1, 11)])
    assert ten.error == pytest.approx(np.log(9 / 2) / (2 * 2.2989), rel=1e-3)


def test_an_interval_is_that_of_welch() -> None:
    times, base = [1.4, 1.5, 1.6], [0.9, 1.0, 1.1]
    # The whole range of three runs is 2 * 1.1503 errors.
    errors = [np.log(1.6 / 1.4) / 2.3007, np.log(1.1 / 0.9) / 2.3007]
    both = sum(error**2 for error in errors)
    freedom = both**2 / sum(error**4 / 2 for error in errors)
    half = student.quantile(0.975, freedom) * np.sqrt(both)
    low, high = slowdown.Line([base, times], base, 0).intervals[1]
    assert (low, high) == pytest.approx((1.5 * np.exp(-half), 1.5 * np.exp(half)), rel=1e-4)


def test_the_baseline_point_has_no_error_of_its_own() -> None:
    base = [1.0, 1.1, 0.9, 1.0, 1.2, 1.05]
    line = slowdown.Line([base, [2.0] * 6], base, 0)
    assert line.intervals[0].tolist() == [1.0, 1.0]
    # The second point's times are all equal: only the baseline varies.
    assert line.intervals[1, 0] < line.medians[1] < line.intervals[1, 1]


def test_equal_times_have_an_interval_of_no_width() -> None:
    line = slowdown.Line([[1.0] * 6, [1.5] * 6], [1.0] * 6, 0)
    assert line.intervals[1].tolist() == pytest.approx([1.5, 1.5])


def test_two_runs_have_no_interval() -> None:
    line = slowdown.Line([[1.0] * 6, [1.5, 1.5]], [1.0] * 6, 0)
    assert line.intervals[1].tolist() == [0.0, np.inf]


def test_an_outlier_does_not_move_an_interval_past_the_median() -> None:
    base = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98]
    line = slowdown.Line([base, [1.3, 1.31, 1.29, 1.3, 1.32, 9.0]], base, 0)
    low, high = line.intervals[1]
    assert low < 1.305 < high
    assert line.medians[1] == pytest.approx(1.305)


@pytest.mark.parametrize("runs", [3, 6, 20])
@pytest.mark.parametrize("noise", ["lognormal", "stragglers", "three times wider at the baseline"])
def test_intervals_of_a_median_cover_the_truth(runs: int, noise: str) -> None:
    """Of 2,000 pairs of points with 5 % spread, each end is wrong in 2.5 % or less."""
    random = np.random.default_rng([runs, len(noise)])
    wrong = np.zeros(2)
    for _ in range(2_000):
        logs = 0.05 * random.standard_normal((2, runs))
        if noise == "stragglers":
            logs += (random.random((2, runs)) < 0.1) * random.exponential(0.3, (2, runs))
        if noise.startswith("three"):
            logs[0] *= 3
        base, point = np.exp(logs[0]).tolist(), (1.3 * np.exp(logs[1])).tolist()
        low, high = slowdown.Line([base, point], base, 0).intervals[1]
        wrong += (low > 1.3, high < 1.3)
    # The limit is 2.5 % plus three standard errors of that share.
    assert (wrong / 2_000 < 0.025 + 3 * np.sqrt(0.025 * 0.975 / 2_000)).all()
    assert wrong.sum() > 0


def test_a_bracket_ends_at_the_first_point_that_is_not_sure() -> None:
    sure, unsure, beyond = (0.9, 1.05), (0.9, 1.3), (1.15, 1.4)
    cases = [
        ((0, 2), [sure, unsure, beyond, beyond]),
        ((1, 2), [sure, sure, beyond, beyond]),
        # A sure point is ignored where an unsure one lies between it and its end of the line.
        ((0, 3), [sure, unsure, sure, beyond]),
        ((0, 3), [sure, beyond, unsure, beyond]),
        ((3, 4), [sure] * 4),
        ((-1, 0), [beyond] * 4),
        ((-1, 4), [unsure] * 4),
    ]
    for expected, intervals in cases:
        assert thresholds.bracket(np.array(intervals), 1.1) == expected


def test_a_bump_is_not_within_the_level() -> None:
    # A monotone fit would pool the bump away.
    truth = [1, 1.30, 1, 1, 1]
    for runs in (3, 6, 20):
        assert "never" not in states(truth, runs, 0.02)
    assert states(truth, 6, 0.02)["not monotone"] > 0.95


def test_more_runs_tell_better_that_a_curve_falls() -> None:
    truth = [1, 1.15, 1.05, 1.05, 1.6]
    falling = [states(truth, runs, 0.02).get("not monotone", 0.0) for runs in (3, 6, 10, 40)]
    assert falling == sorted(falling)
    assert falling[-1] > 0.99
    assert "found" not in states(truth, 40, 0.02)


def test_a_monotone_curve_is_rarely_called_falling() -> None:
    truth = [1, 1.09, 1.1, 1.11, 1.11]
    for runs in (3, 6, 20):
        assert states(truth, runs, 0.05, 400).get("not monotone", 0.0) <= 0.05


def test_interpolation_is_part_of_the_interval() -> None:
    # The times jump between the points at 4 and 16 ms.
    found = need.threshold(made([1, 1, 1, 1.5, 1.5], 6, 0.01, 1), 1.1)
    assert (found.state, found.low, found.high) == ("found", 4.0, 16.0)
    assert found.low < found.estimate < found.high


@pytest.mark.parametrize("runs", [3, 6, 20])
def test_beyond_the_sweep_is_stated_only_where_it_is_sure(runs: int) -> None:
    assert states([1, 1, 1, 1.02, 1.12], runs, 0.02, 400).get("never", 0.0) <= 0.025
    if runs > 3:
        assert states([1, 1, 1, 1.02, 1.02], runs, 0.02)["never"] > 0.5


def test_what_is_not_sure_at_the_hardest_point_is_reported_with_its_interval() -> None:
    found = need.threshold(made([1, 1, 1, 1.02, 1.08], 6, 0.02, 3), 1.1)
    assert (found.state, found.low, found.high) == ("cannot tell", 16.0, None)
    assert found.reason.startswith("at 64.0 ms it takes 1.0")
    assert found.reason.endswith("] times its baseline time, which decides neither way about 10 %")


def test_the_baseline_is_no_reason_where_another_level_is_found() -> None:
    base = [0.85, 0.9, 1.0, 1.05, 1.1, 1.15]
    line = slowdown.Line([base, [1.5 * time for time in base]], base, 0)
    points = need.Points("rtt", [1.0, 4.0], line, [False] * 2)
    assert need.threshold(points, 1.1).state == "found"
    found = need.threshold(points, 1.5)
    assert found.state == "cannot tell"
    assert found.reason.startswith("at 4.00 ms it takes 1.5")
    assert found.reason.endswith("which decides neither way about 50 %")


def test_few_noisy_runs_still_hold_the_truth() -> None:
    """With 5 % spread and 6 runs, 1 + 0.02 * (RTT - 0.3 ms) crosses 1.1 at 5.3 ms."""
    held = []
    for seed in range(400):
        found = need.threshold(made([1, 1.014, 1.074, 1.314, 2.274], 6, 0.05, seed), 1.1)
        held.append((found.low or 0.0) <= 5.3 <= (found.high or np.inf))
    assert np.mean(held) >= 0.95


def test_a_median_that_is_the_level_reaches_it() -> None:
    for base in (1.0, 0.7, 1.3):
        times = [[base] * 3, [1.05 * base] * 3, [1.1 * base] * 3]
        found = need.threshold(
            need.Points("rtt", [1.0, 4.0, 16.0], slowdown.Line(times, times[0], 0), [False] * 3),
            1.1 * base / base,
        )
        assert (found.state, found.low, found.high) == ("found", 4.0, 16.0)
        assert found.estimate == pytest.approx(16.0)


def test_a_rate_without_a_limit_is_the_mild_end_of_a_bracket() -> None:
    times = [[1.0, 1.01, 0.99], [1.3, 1.31, 1.29], [2.0, 2.01, 1.99]]
    line = slowdown.Line(times, times[0], 0)
    found = need.threshold(need.Points("rate", [np.inf, 50.0, 10.0], line, [False] * 3), 1.1)
    assert (found.state, found.low, found.high) == ("found", 50.0, None)
    # In 1/rate, 1.1 is a third of the way from 1 to 1.3.
    assert found.estimate == pytest.approx(150.0)


@pytest.mark.parametrize(("runs", "state"), [(1, "cannot tell"), (3, "not monotone")])
def test_a_program_that_is_faster_on_the_harder_network_has_no_threshold(
    runs: int, state: str
) -> None:
    # The baseline has the larger RTT, as when an application was moved closer.
    times = [[2.8, 2.82, 2.81][:runs], [2.1, 2.11, 2.12][:runs]]
    points = need.Points("rtt", [56.0, 78.0], slowdown.Line(times, times[1], 1), [False, False])
    found = need.threshold(points, 1.1)
    assert (found.state, found.estimate) == (state, None)


def test_one_run_a_point_is_reported_by_its_medians_alone() -> None:
    line = slowdown.Line([[1.0], [1.05], [1.3]], [1.0], 0)
    found = need.threshold(need.Points("rtt", [1.0, 4.0, 16.0], line, [False] * 3), 1.1)
    assert (found.state, found.low, found.high, found.runs_beside) == ("found", None, None, 1)
    assert (found.easier, found.harder) == (4.0, 16.0)
    never = need.threshold(need.Points("rtt", [1.0, 4.0, 16.0], line, [False] * 3), 1.5)
    assert never.state == "cannot tell"
    assert never.reason == (
        "1 valid run at 16.0 ms and 1 valid run at the baseline, where an interval needs 3"
    )
