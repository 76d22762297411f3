"""How a threshold is written: its digits, where it is not located, and in terms of its outcome."""

from __future__ import annotations

import pytest
from test_verdict import sentences, threshold

from flowsweep.render import threshold_words, verdict_groups, verdict_limits
from flowsweep.render.verdict import plain


@pytest.mark.parametrize(("low", "high", "text"), [
    (150.0, 180.0, "165 Mbit/s"),
    (120.0, 200.0, "160 Mbit/s"),
    (50.0, 210.0, "200 Mbit/s"),
    (None, 210.0, "200 Mbit/s"),
    # Rounded to one digit, the estimate would lie outside its interval.
    (40.0, 180.0, "160 Mbit/s"),
])  # fmt: skip
def test_an_estimate_has_as_many_digits_as_its_interval_is_narrow(
    low: float | None, high: float, text: str
) -> None:
    (sentence,) = sentences(threshold("rate", low=low, high=high))
    assert sentence.startswith(f"lu needs about {text} (95 % interval ")


def test_an_interval_over_the_whole_range_tried_has_no_number_inside() -> None:
    ends = {"low": 5.0, "high": 100.0, "mildest": 100.0, "hardest": 5.0, "estimate": 40.4}
    rows = [threshold("rate", **ends), threshold("rate", 1.5, **ends | {"estimate": 12.3})]
    rtt = threshold("rtt", low=1.0, high=32.3)
    assert sentences(*rows, rtt) == [
        (
            "lu needs somewhere between 5.00 and 100 Mbit/s (95 % interval: the whole range tried) "
            "and tolerates an RTT somewhere between 1.00 and 32.3 ms (the whole range tried) "
            "before it is 10 % slower."
        ),
        (
            "It is 50 % slower below a limit somewhere between 5.00 and 100 Mbit/s "
            "(the whole range tried)."
        ),
    ]
    # A row of few runs whose mild end has no limit.
    open_end = {"easier": None, "harder": 5.0, "mildest": None, "hardest": 5.0, "runs_beside": 2}
    (sentence,) = sentences(threshold("rate", **open_end))
    assert sentence == (
        "lu needs somewhere above 5.00 Mbit/s (the whole range tried; n = 2, no interval) to stay "
        "within 10 % of its baseline time."
    )


def test_other_problems_have_the_digits_of_their_intervals() -> None:
    wide = threshold("rate", estimate=12.3, low=5.0, high=50.0)
    narrow = threshold("rate", estimate=165.0, low=160.0, high=170.0)
    nowhere = threshold("rate", low=5.0, high=100.0, mildest=100.0, hardest=5.0)
    assert verdict_groups.others(3, [narrow, wide, nowhere]).startswith(
        "3 other problems of it need about 10 to 165 Mbit/s (2 of 3)"
    )


@pytest.mark.parametrize(
    ("better", "ends", "text"),
    [
        ("more", (16.0, None), "The tps of lu stayed at 91 % of the baseline or more at every RTT"),
        ("more", (None, 16.0), "Its outcome tps falls below 91 % of its baseline at 16.0 ms and"),
        ("less", (None, 16.0), "Its outcome tps is 10 % higher at 16.0 ms and at every RTT"),
    ],
)
def test_what_is_sure_is_in_the_terms_of_its_outcome(
    better: str, ends: tuple[float | None, float | None], text: str
) -> None:
    """The limit of a rate is 91 % of the baseline, not "within 10 %"."""
    row = threshold(
        "rtt", outcome="tps", better=better, state="cannot tell", reason="why", estimate=None,
        low=ends[0], high=ends[1], easier=None, harder=None,
    )  # fmt: skip
    (sentence,) = threshold_words.exceptions("lu", [row])
    assert f"why. {text}" in plain(sentence)


def test_limits_of_the_file_have_their_assumption() -> None:
    """Their intervals use the scatter of the whole sweep, those of thresholds that of a line."""
    needs = [{"outcome": "tps", "noise": noise} for noise in ("pooled", "pooled", None)]
    (clause,) = verdict_limits.assumed([], {("lu", ""): "lu"}, needs)
    assert clause.startswith("runs vary by the same share of their value at every point of the")
    assert clause.endswith("are judged (tps)")
    assert verdict_limits.assumed([], {("lu", ""): "lu"}, needs[2:]) == []
