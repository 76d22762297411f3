"""How numbers are written."""

from __future__ import annotations

import pytest

from flowsweep import numbers
from flowsweep.render import axes


@pytest.mark.parametrize(
    ("value", "text"),
    [(165.2, "165"), (4.2, "4.20"), (0.01634, "0.0163"), (1234.0, "1,234"), (0, "0"),
     (None, numbers.NONE), (99.96, "100"), (-3.0, f"{numbers.MINUS}3.00"), (9.996, "10.0"),
     (1.054e-7, f"1.05 {numbers.TIMES} 10⁻⁷"),
     (-2e-11, f"{numbers.MINUS}2.00 {numbers.TIMES} 10⁻¹¹")],
)  # fmt: skip
def test_estimates_have_three_figures(value: float | None, text: str) -> None:
    assert numbers.estimate(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 %"), (0.0004, "< 0.1 %"), (0.004, "0.4 %"), (0.93, "93 %"), (0.99999, "> 99.9 %"),
     (0.995825, "99.6 %"), (0.9949, "99 %"), (1.5, "150 %"), (1, "100 %"), (0.0996, "10 %")],
)  # fmt: skip
def test_shares_never_hide_what_is_there(value: float, text: str) -> None:
    assert numbers.share(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 %"), (0.0001, "0.01 %"), (0.003, "0.3 %"), (0.01, "1 %"), (0.125, "12.5 %")],
)
def test_shares_that_somebody_chose_are_written_in_full(value: float, text: str) -> None:
    assert numbers.chosen_share(value) == text


def test_counts_are_exact_to_9999() -> None:
    assert [numbers.count(n) for n in (0, 9_999, 12_345, 4_560_000)] == [
        "0", "9,999", "12.3 k", "4.56 M",
    ]  # fmt: skip


def test_both_ends_of_an_interval_have_three_figures() -> None:
    assert numbers.interval(3.94, 4.561) == "[3.94, 4.56]"
    assert numbers.interval(0.362, 64.06) == "[0.362, 64.1]"
    assert numbers.interval(150.4, None) == "[150, not bounded above by this sweep]"
    assert numbers.interval(None, 150.4) == "[not bounded below by this sweep, 150]"
    assert numbers.interval(None, 150.4, brief=True) == "[open, 150]"


def test_buffers_are_binary_and_traffic_is_decimal() -> None:
    assert [numbers.size(n) for n in (2**18, 2_000_000, 12)] == ["256 KiB", "2.00 MB", "12 B"]
    # Even by chance: ten billion bytes are 9,765,625 KiB.
    assert [numbers.size(10**n) for n in (9, 10, 12)] == ["1.00 GB", "10.0 GB", "1.00 TB"]


def test_a_column_has_one_number_of_decimals() -> None:
    assert numbers.column([0.5, 10.25, 100.125]) == ["0.5", "10.2", "100.1"]


def test_a_far_larger_number_of_a_column_keeps_its_own_decimals() -> None:
    assert numbers.column([0.0222, 0.0223, 62.4133]) == ["0.0222", "0.0223", "62.4"]


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(1, 64, [1, 2, 5, 10, 20, 50]), (5, 100, [5, 10, 20, 50, 100]),
     (1, 1e5, [1, 10, 100, 1e3, 1e4, 1e5]), (53.2, 82.3, [60, 70, 80]), (99, 101, [99, 100, 101])],
)  # fmt: skip
def test_log_ticks_are_steps_of_1_2_5_or_decades_or_even(
    low: float, high: float, ticks: list[float]
) -> None:
    assert axes.log_ticks(low, high) == pytest.approx(ticks)


def test_log_ticks_are_never_more_than_eight() -> None:
    assert len(axes.log_ticks(1e-9, 1e9)) <= 8


@pytest.mark.parametrize(
    ("seconds", "text"), [(1, "1 s"), (1000, "1,000 s"), (0.01, "10 ms"), (1e-5, "10 µs")]
)
def test_a_width_has_the_unit_that_makes_it_short(seconds: float, text: str) -> None:
    assert numbers.width(seconds) == text


def test_ticks_have_no_computer_notation() -> None:
    assert [numbers.tick(value) for value in (1000, 0.5, 1e-6, 2e-6, 1e10)] == [
        "1,000", "0.5", "10⁻⁶", f"2 {numbers.TIMES} 10⁻⁶", "10,000,000,000"
    ]  # fmt: skip


def test_long_times_on_an_axis_have_separators() -> None:
    assert "'1,000,000 s'" in axes.time_labels([1e6])
