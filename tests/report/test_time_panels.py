"""Panels of throughput over time: the unit of a panel, and the labels of silences that are cut."""

from __future__ import annotations

import pytest

from flowsweep.render import axes, charts, silences
from flowsweep.render.throughput import describe_rates

DAY_S = 86_400.0


@pytest.mark.parametrize(
    ("rates", "top", "words"),
    [
        ((67.5, 1.04), 67.5, "67.5, mean 1.04 Mbit/s"),
        ((0.136, 0.000371), 0.136, "136, mean 0.371 kbit/s"),
        # The other direction sets the scale.
        ((0.9, 0.02), 5.0, "0.900, mean 0.0200 Mbit/s"),
        ((2.07, 0.0000055), 2.07, "2.07 Mbit/s, mean 5.50 bit/s"),
        ((0.0004, 0.0), 0.0004, "400, mean 0 bit/s"),
    ],
)
def test_a_panel_has_one_unit_unless_its_mean_is_far_below(
    rates: tuple[float, float], top: float, words: str
) -> None:
    assert describe_rates(rates, top) == words


def test_an_axis_of_no_traffic_has_a_zero_alone() -> None:
    assert axes.rate_axis(0.0, ticks=3) == {"values": [0]}


def place_labels(cuts: list[tuple[float, float]], end_s: float) -> list[tuple[str, int]]:
    """Returns the labels of a panel with their distances from its top."""
    made = silences.marks(cuts, end_s, 352, charts.field("start_s:Q"))
    drawn = [chart.specification() for chart in made[1:]]
    return [
        (next(iter(one["datasets"].values()))[0]["text"], one["encoding"]["y"]["value"])
        for one in drawn
    ]


def test_labels_that_would_overlap_stand_below_each_other() -> None:
    first, second = place_labels([(2.1, 2_044 * DAY_S), (3.84, 1_735 * DAY_S)], 3.85)
    assert (first[0], second[0]) == ("2,044 days cut", "1,735 days cut")
    assert second[1] > first[1]


def test_labels_with_room_share_a_row() -> None:
    first, second = place_labels([(0.1, 100.0), (2.5, 100.0)], 4.0)
    assert first[1] == second[1]
