"""Which points would narrow the brackets of the thresholds."""

from __future__ import annotations

import math
from typing import Any

import pytest

from flowsweep.analysis.refine import Proposal, proposals

LINE = {"app": "lu", "problem": "", "unit": "ms", "buffer_bytes": None, "better": "less"}


def threshold(axis: str = "rtt", level: float = 1.1, **changes: Any) -> dict[str, Any]:
    row = {
        "axis": axis, "level": level, "state": "found", "reason": None, "estimate": 6.0,
        "low": 4.06, "high": 16.06, "easier": 4.06, "harder": 16.06,
    }  # fmt: skip
    return LINE | row | changes


def points(*asked: float, axis: str = "rtt", off: float = 0.06) -> list[dict[str, Any]]:
    """Returns points at the requested values, measured a little above them."""
    return [LINE | {"axis": axis, "x_asked": value, "x": value + off} for value in asked]


def one(row: dict[str, Any], *asked: float, **more: Any) -> Proposal:
    found, left = proposals([row], points(*asked, **more))
    assert not left
    return found[0]


def test_a_bracket_is_halved_in_its_logarithm() -> None:
    made = one(threshold(), 1, 4, 16, 32)
    assert made.value == 8
    assert made.bracket == (4, 16)
    assert (made.factor, made.factor_after) == (4, 2)


def test_a_rate_is_halved_alike() -> None:
    row = threshold("rate", estimate=12.0, low=9.98, high=49.9, easier=49.9, harder=9.98)
    made = one(row, 100, 50, 10, 5, axis="rate", off=-0.02)
    assert made.value == pytest.approx(math.sqrt(500), rel=0.005)


def test_two_halvings_of_a_factor_of_four_are_narrower_than_one_and_a_half() -> None:
    first = one(threshold(), 1, 4, 16)
    second = one(threshold(low=4.06, high=first.value + 0.06), 1, 4, first.value, 16)
    assert second.factor_after <= 1.5
    low = second.value
    found, left = proposals(
        [threshold(low=low + 0.06, high=first.value + 0.06)], points(1, 4, low, first.value, 16)
    )
    assert not found
    assert "narrower than 1.5 times" in left[0].why


def test_from_no_loss_the_value_is_halved() -> None:
    row = threshold("loss", estimate=0.004, low=0.0, high=0.01, easier=0.0, harder=0.01)
    assert one(row, 0.0, 0.01, axis="loss", off=0.0).value == 0.005


def test_both_levels_may_ask_for_one_point() -> None:
    found, _ = proposals([threshold(), threshold(level=1.5)], points(1, 4, 16))
    assert [made.levels for made in found] == [(1.1, 1.5)]


def test_the_widest_bracket_comes_first() -> None:
    narrow = threshold("rate", low=10.0, high=20.0, easier=20.0, harder=10.0, estimate=15.0)
    found, _ = proposals(
        [narrow, threshold()], [*points(1, 4, 16), *points(10, 20, axis="rate", off=0)]
    )
    assert [made.axis for made in found] == ["rtt", "rate"]


def test_a_point_without_valid_runs_was_tried() -> None:
    """The gap around the estimate is halved instead."""
    made = one(threshold(estimate=5.0), 1, 4, 8, 16)
    assert made.between == (4, 8)
    assert made.value == pytest.approx(5.66)


def test_an_estimate_is_between_points_as_they_were_measured() -> None:
    """Every RTT was 1.5 ms longer than requested: 8.5 ms lie below the point of 8 ms."""
    row = threshold(estimate=8.5, low=5.5, high=17.5, easier=5.5, harder=17.5)
    assert one(row, 1, 4, 8, 16, off=1.5).between == (4, 8)


def test_medians_stand_in_where_there_is_no_interval() -> None:
    assert one(threshold(low=None, high=None), 1, 4, 16).value == 8
    assert one(threshold(state="one-sided", high=None), 1, 4, 16).value == 8


@pytest.mark.parametrize(("row", "why"), [
    (threshold(state="never", low=None, high=None, easier=None, harder=None), "not reached"),
    (threshold(state="not monotone"), "better again"),
    (threshold(state="cannot tell", reason="no valid run", low=None, high=None, easier=None,
               harder=None), "no valid run"),
])  # fmt: skip
def test_where_there_is_no_bracket_none_is_halved(row: dict[str, Any], why: str) -> None:
    found, left = proposals([row], points(1, 4, 16))
    assert not found
    assert why in left[0].why


def test_close_points_need_more_runs() -> None:
    row = threshold(estimate=5.0)
    found, left = proposals([row], points(1, 4, 4.9, 5.4, 16))
    assert not found
    assert "more runs" in left[0].why


@pytest.mark.parametrize("number", range(50))
def test_no_tried_point_is_proposed(number: int) -> None:
    ratio = 1.05 + number / 10
    low, high = 4.0, round(4.0 * ratio, 2)
    found, _ = proposals(
        [threshold(low=low, high=high, easier=low, harder=high, estimate=low * ratio**0.5)],
        points(1, low, high, off=0),
    )
    for made in found:
        assert low * 1.02 < made.value < high / 1.02
