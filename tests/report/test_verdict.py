"""Thresholds become sentences: every state has its own."""

from __future__ import annotations

from typing import Any

import pytest

from flowsweep.analysis.need import EMULATOR_OFF
from flowsweep.render import threshold_words, verdict_need
from flowsweep.render.verdict import _join, plain, verdict

REQUIREMENT = {
    "app": "lu", "problem": "", "outcome": "completion_time", "better": "less",
    "baseline_value": 10.0, "baseline_s": 10.0, "buffer_bytes": None, "worst_grade": "A",
    "baseline_packets": 1000, "crossing_packets": 900, "runs_used": 60,
    "peak_mbit_s": 20.0,
}  # fmt: skip


def threshold(axis: str, level: float = 1.1, **changes: Any) -> dict[str, Any]:
    row = {
        "app": "lu", "problem": "", "outcome": "completion_time", "better": "less",
        "buffer_bytes": None, "axis": axis, "level": level,
        "state": "found", "estimate": 165.0 if axis == "rate" else 4.2, "low": None, "high": None,
        "reason": None, "easier": 5.0, "harder": 10.0, "mildest": 1.0, "hardest": 32.3,
        "first_slowdown": 1.84, "runs_beside": 10, "runs_used": 60,
        "noise": "own", "spread": None, "noise_reason": "why",
        "drift": -0.004, "drift_low": -0.021, "drift_high": 0.013, "drift_p": 0.4,
    }  # fmt: skip
    return row | changes


def sentences(*rows: dict[str, Any], **changes: Any) -> list[str]:
    requirement = REQUIREMENT | changes
    found = verdict(rows, [requirement], {("lu", ""): "lu"})
    return [plain(sentence) for sentence in found.sentences]


def test_both_thresholds_with_intervals() -> None:
    rate = threshold("rate", low=134.0, high=181.0)
    rtt = threshold("rtt", low=3.9, high=4.6)
    assert sentences(rate, rtt)[0] == (
        "lu needs about 165 Mbit/s (95 % interval 134 to 181) and tolerates an RTT of about "
        "4.20 ms (3.90 to 4.60) before it is 10 % slower."
    )


def test_socket_buffers_are_named() -> None:
    row = threshold("rate", buffer_bytes=2**20)
    assert "with socket buffers of 1 MiB" in sentences(row, buffer_bytes=2**20)[0]


def test_few_runs_are_admitted() -> None:
    rows = [threshold("rate", runs_beside=2)]
    assert sentences(*rows)[0] == (
        "lu needs about 165 Mbit/s (between the tried 5.00 and 10.0; n = 2, no interval) to stay "
        "within 10 % of its baseline time."
    )
    near = threshold("rate", runs_beside=2, easier=180.0, harder=150.0)
    assert "165 Mbit/s (between the tried 150 and 180; n = 2, no interval)" in sentences(near)[0]
    found = verdict(rows, [REQUIREMENT], {("lu", ""): "lu"})
    assert any("3 valid runs" in clause for clause in found.unknown)


def test_what_the_numbers_of_an_interval_are_is_stated_once() -> None:
    rows = [
        threshold("rate", low=124.0, high=231.0),
        threshold("rtt", low=3.0, high=4.5),
        threshold("rtt", 1.5, estimate=9.0, low=8.0, high=16.0),
    ]
    assert sentences(*rows) == [
        (
            "lu needs about 160 Mbit/s (95 % interval 124 to 231) and tolerates an RTT of about "
            "4.20 ms (3.00 to 4.50) before it is 10 % slower."
        ),
        "It is 50 % slower above about 9.0 ms (8.00 to 16.0).",
    ]


def test_what_the_intervals_assume_is_stated() -> None:
    pooled = {"noise": "pooled", "spread": 0.016, "noise_reason": None, "low": 3.0, "high": 4.0}
    own = {"noise_reason": "fewer than 3 points with 2 runs"}
    rows = [threshold("rtt", **pooled), threshold("rate", low=150.0, **own)]
    labels = {("lu", ""): "lu"}
    assert verdict(rows, [REQUIREMENT], labels).assumed == [
        (
            "runs of a line vary by the same share of their time at every point (lu over RTT: "
            "1.6 %), except points whose own runs clearly vary more"
        ),
        (
            "nothing about variation for lu over rate, where each point has its own runs: fewer "
            "than 3 points with 2 runs"
        ),
        (
            "no drift, and none was found (95 % interval of the change from first run to last: lu "
            "\N{MINUS SIGN}2.1 % to +1.3 %)"
        ),
    ]
    # Without an interval, no assumption about intervals is stated.
    assert verdict([threshold("rate")], [REQUIREMENT], labels).assumed == []


def test_a_drift_that_few_runs_would_not_show_is_not_called_absent() -> None:
    wide = {"noise": "pooled", "spread": 0.2, "noise_reason": None, "low": 3.0, "high": 4.0,
            "drift": -0.13, "drift_low": -0.28, "drift_high": 0.018, "drift_p": 0.07}  # fmt: skip
    labels = {("lu", ""): "lu"}
    assumed = verdict([threshold("rtt", **wide)], [REQUIREMENT], labels).assumed
    assert assumed[-1] == (
        "no drift, which these runs neither show nor rule out (95 % interval of the change from "
        "first run to last: lu \N{MINUS SIGN}28 % to +1.8 %)"
    )


def test_one_reason_for_rate_and_rtt_is_stated_once() -> None:
    unknown = {"state": "cannot tell", "reason": "why", "easier": None}
    rate, rtt = (threshold(axis, **unknown) for axis in ("rate", "rtt"))
    why = "cannot be determined: why."
    assert sentences(rate, rtt) == [f"The rate that lu needs and the RTT that lu tolerates {why}"]
    for other in (rtt | {"reason": "1 run"}, threshold("rtt", state="not monotone")):
        first, second = sentences(rate, other)
        assert first == f"The rate that lu needs {why}"
        assert second == sentences(other)[0]
    # A reason may contain the words of the sentence.
    odd = unknown | {"reason": "it cannot be determined: why"}
    (both,) = sentences(threshold("rate", **odd), threshold("rtt", **odd))
    assert both == (
        "The rate that lu needs and the RTT that lu tolerates cannot be determined: "
        "it cannot be determined: why."
    )


NOT_COVERED = "the intervals do not cover that"
SLOWER = "no drift, but runs of lu became 3.1 % slower from first to last (p = 0.0042)"
FASTER = "no drift, but runs of lu became 12 % faster from first to last (p < 0.001)"


@pytest.mark.parametrize(("changes", "words"), [
    ({"drift": 0.031, "drift_p": 0.0042}, f"{SLOWER}: {NOT_COVERED}"),
    ({"drift": -0.12, "drift_p": 0.0}, f"{FASTER}: {NOT_COVERED}"),
    ({"drift_p": None}, "no drift, which too few runs of lu could show"),
])  # fmt: skip
def test_a_drift_is_among_what_the_intervals_assume(changes: dict[str, Any], words: str) -> None:
    row = threshold("rtt", low=3.0, high=4.0) | changes
    assert verdict([row], [REQUIREMENT], {("lu", ""): "lu"}).assumed[-1] == words


def test_what_a_number_between_two_points_assumes_is_stated() -> None:
    for row, is_stated in (
        (threshold("rtt", low=4.0, high=16.0), True),
        (threshold("rtt", low=1.0, high=32.3), False),
        (threshold("rtt", state="never", estimate=None), False),
    ):
        found = verdict([row], [REQUIREMENT], {("lu", ""): "lu"})
        assert any("assumes a straight line" in clause for clause in found.unknown) == is_stated


def test_a_grid_of_rtt_and_rate_is_no_cross() -> None:
    """The joint effect of RTT and rate must not be unknown where pairs were measured."""
    rows = [threshold("rtt", low=4.0, high=16.0), threshold("rate", low=20.0, high=50.0)]
    both = {"app": "lu", "problem": "", "is_used": True, "is_traffic_used": True}
    at = [(0.3, 200.0), (16.0, 200.0), (0.3, 20.0), (16.0, 20.0)]
    runs = [
        both | {"rtt_asked_ms": rtt, "rate_asked_mbit_s": rate, "is_baseline": number == 0}
        for number, (rtt, rate) in enumerate(at)
    ]
    for some, is_stated in ((runs[:3], True), (runs, False)):
        found = verdict(rows, [REQUIREMENT], {("lu", ""): "lu"}, some)
        assert any("do together (each was varied" in one for one in found.unknown) == is_stated


def test_an_open_interval_is_named() -> None:
    row = threshold("rate", state="one-sided", low=150.0)
    assert "(95 % interval 150 or more)" in sentences(row)[0]


def test_a_limit_that_was_never_reached() -> None:
    assert sentences(threshold("rtt", state="never"))[0] == (
        "lu stayed within 10 % at every RTT tried, up to 32.3 ms: no limit was reached."
    )


def test_a_limit_that_lies_before_the_first_point() -> None:
    text = sentences(threshold("rate", state="at once", estimate=None))[0]
    assert "already 1.84 times slower" in text


def test_a_curve_that_crosses_twice() -> None:
    text = sentences(threshold("rtt", state="not monotone", estimate=None))[0]
    assert "gets faster again between 1.00 and 32.3 ms" in text


def test_a_threshold_that_is_unknown_has_reason_and_remedy() -> None:
    row = threshold("rate", state="cannot tell", reason="the baseline itself varies by 14 %")
    assert sentences(row)[0] == (
        "The rate that lu needs cannot be determined: the baseline itself varies by 14 %. "
        "More runs at 5.00 to 10.0 Mbit/s would help."
    )


@pytest.mark.parametrize(("axis", "ends", "text"), [
    ("rtt", (1.0, 32.3), (
        "The RTT that lu tolerates cannot be determined more closely than 1.00 to 32.3 ms: why. "
        "More runs at the points between would help."
    )),
    ("rtt", (16.0, None), (
        "The RTT that lu tolerates cannot be determined: why. "
        "It stayed within 10 % at every RTT tried up to "
        "16.0 ms."
    )),
    ("rate", (None, 16.0), (
        "The rate that lu needs cannot be determined: why. "
        "It stayed within 10 % at every rate tried "
        "down to 16.0 Mbit/s."
    )),
    ("rtt", (None, 16.0), (
        "The RTT that lu tolerates cannot be determined: why. "
        "It is 10 % slower at 16.0 ms and at every RTT "
        "beyond that has valid runs."
    )),
    # The mildest point is the baseline: that it is no slower than itself says nothing.
    ("rtt", (1.0, None), "The RTT that lu tolerates cannot be determined: why."),
])  # fmt: skip
def test_what_is_sure_of_a_threshold_that_is_unknown(
    axis: str, ends: tuple[float | None, float | None], text: str
) -> None:
    row = threshold(
        axis, state="cannot tell", reason="why", low=ends[0], high=ends[1], estimate=None,
        easier=None, harder=None,
    )  # fmt: skip
    assert sentences(row) == [text]


@pytest.mark.parametrize(
    ("axis", "text"),
    [
        ("rate", "The rate that lu needs to keep p99 within 10 % of the baseline cannot"),
        ("rtt", "The RTT that lu tolerates with p99 within 10 % of the baseline cannot"),
    ],
)
def test_an_unknown_threshold_names_its_outcome(axis: str, text: str) -> None:
    row = threshold(axis, outcome="p99", state="cannot tell", reason="why", estimate=None)
    (sentence,) = threshold_words.exceptions("lu", [row])
    assert plain(sentence).startswith(text)


def test_more_runs_do_not_help_where_the_emulator_was_off() -> None:
    for ends in ({}, {"low": 1.0, "high": 32.3}):
        row = threshold("rtt", state="cannot tell", reason=EMULATOR_OFF, **ends)
        assert "More runs" not in sentences(row)[0]


@pytest.mark.parametrize("state", ["one-sided", "never", "cannot tell", "not monotone"])
def test_a_severe_threshold_that_is_not_bounded_is_not_reported(state: str) -> None:
    rows = [threshold("rate"), threshold("rate", 1.5, state=state, low=None, high=40.0)]
    assert len(sentences(*rows)) == 1


def test_the_severe_threshold_follows() -> None:
    apart = {"easier": 45.0, "harder": 35.0}
    rows = [threshold("rate"), threshold("rate", 1.5, estimate=40.0, **apart)]
    assert sentences(*rows)[1] == (
        "It is 50 % slower below about 40.0 Mbit/s (between the tried 35.0 and 45.0)."
    )


def test_captures_without_a_sweep_say_nothing_about_needs() -> None:
    assert sentences()[0] == (
        "These runs show what lu sent, not what it needs: neither RTT nor rate was varied."
    )


def test_what_was_swept_comes_before_what_was_not() -> None:
    others = [REQUIREMENT | {"app": app} for app in "abcdef"]
    labels = {(row["app"], ""): row["app"] for row in [*others, REQUIREMENT]}
    near = threshold("rtt", easier=4.0, harder=5.0)
    found = verdict([near], [*others, REQUIREMENT], labels)
    assert [plain(sentence) for sentence in found.sentences] == [
        (
            "lu tolerates an RTT of about 4.20 ms (between the tried 4.00 and 5.00) before it is "
            "10 % slower."
        ),
        (
            "These runs show what a; b; c; d and 2 more sent, not what they need: "
            "neither RTT nor rate was varied."
        ),
    ]


def test_no_valid_baseline_is_stated() -> None:
    assert "no run is valid at the baseline" in sentences(baseline_value=None)[0]


def test_why_no_baseline_is_valid_is_stated() -> None:
    run = {
        "app": "lu", "problem": "", "run": "b-r1", "is_baseline": True, "is_warmup": False,
        "reason": "other programs used 70 % of the cores", "is_traffic_used": False,
        "rtt_asked_ms": 1.0, "rate_asked_mbit_s": None,
    }  # fmt: skip
    runs = [run | {"app": "other"}, run | {"is_baseline": False}, run | {"is_warmup": True}, run]
    runs = [one | {"run": f"b-r{index}"} for index, one in enumerate(runs)]
    found = verdict([], [REQUIREMENT | {"baseline_value": None}], {("lu", ""): "lu"}, runs)
    assert found.first == (
        "Nothing can be said about lu: no run is valid at the baseline "
        "(b-r3: other programs used 70 % of the cores)."
    )


@pytest.mark.parametrize(
    ("rtts", "expected"),
    [
        ((1.0, 1.0), "These runs show what lu sent, not what it needs: neither RTT nor rate"),
        (
            (1.0, 9.0),
            "What lu needs cannot be determined: no run at the baseline has a completion time.",
        ),
    ],
)
def test_captures_without_a_completion_time_show_what_was_sent(
    rtts: tuple[float, float], expected: str
) -> None:
    runs = [
        {
            "app": "lu", "problem": "", "run": f"r{rtt}", "is_baseline": rtt == 1.0,
            "is_warmup": False, "reason": "no run.json", "is_traffic_used": True,
            "rtt_asked_ms": rtt, "rate_asked_mbit_s": None,
        }
        for rtt in rtts
    ]  # fmt: skip
    found = verdict([], [REQUIREMENT | {"baseline_value": None}], {("lu", ""): "lu"}, runs)
    assert found.first.startswith(expected)


def test_captures_without_a_packet_are_no_evidence() -> None:
    assert sentences(threshold("rtt"), baseline_packets=0) == [
        "Nothing can be said about lu: its captures at the baseline hold no packet."
    ]


def test_an_application_without_packets_has_one_sentence_for_all_outcomes() -> None:
    rows = [REQUIREMENT | {"outcome": name, "baseline_packets": 0} for name in ("tps", "latency")]
    found = verdict([threshold("rtt", outcome="tps")], rows, {("lu", ""): "lu"})
    texts = [plain(text) for text in found.sentences if "Nothing can be said" in text]
    assert len(texts) == 1


def test_a_limit_by_the_second_has_its_unit_behind_the_number() -> None:
    row = {
        "app": "lu", "problem": "", "outcome": "tps", "relation": ">", "limit_value": 30.0,
        "unit": "1/s", "state": "holds", "label": "baseline", "value": 40.0, "low": None,
        "runs_used": 2,
    }  # fmt: skip
    for unit, text in (("1/s", "tps > 30/s"), ("ms", "tps > 30 ms"), ("", "tps > 30")):
        (found,) = verdict_need.sentences([row | {"unit": unit}], {("lu", ""): "lu"})
        assert plain(found) == f"lu keeps {text} at 1 of 1 point."


def test_an_application_that_does_not_use_the_link_needs_nothing_of_it_that_is_known() -> None:
    (sentence,) = sentences(threshold("rtt"), crossing_packets=0)
    assert sentence.startswith(
        "Nothing can be said about lu, as no packet crossed between the sites"
    )


def test_completion_times_without_captures_are_evidence() -> None:
    unknown = {"peak_mbit_s": None, "worst_grade": None, "baseline_packets": None,
               "crossing_packets": None}  # fmt: skip
    assert sentences(threshold("rtt"), **unknown)[0].startswith("lu tolerates")


def test_captures_of_a_run_too_short_for_a_rate_are_not_reported_to_hold_no_packet() -> None:
    found = sentences(threshold("rtt"), peak_mbit_s=None, baseline_packets=1)
    assert found[0].startswith("lu tolerates")


@pytest.mark.parametrize("word", ["good", "fast", "optimal", "significant"])
def test_the_words_do_not_judge(word: str) -> None:
    rows = [threshold("rate"), threshold("rtt", state="never"), threshold("rate", 1.5)]
    assert word not in " ".join(sentences(*rows))


def make_axis_row(axis: str, unit: str, **changes: Any) -> dict[str, Any]:
    return threshold(axis) | {"unit": unit} | changes


def write_axes(*rows: dict[str, Any]) -> list[str]:
    found = verdict([], [REQUIREMENT], {("lu", ""): "lu"}, others=rows)
    return [plain(one) for one in found.sentences][1:]


def test_other_axes_have_an_estimate_and_the_tried_values_on_both_sides() -> None:
    loss = make_axis_row(
        "loss", "", estimate=0.0005, easier=0.0, harder=0.001, mildest=0.0, hardest=0.01
    )
    buffer = make_axis_row(
        "buffer", "bytes", estimate=1e5, easier=2.0**18, harder=2.0**16, mildest=2.0**20,
        hardest=2.0**14,
    )  # fmt: skip
    (sentence,) = write_axes(loss, buffer)
    assert sentence == (
        "lu needs socket buffers of about 100 kB (between the tried 64 KiB and 256 KiB) and "
        "tolerates a loss of about 0.05 % (between the tried 0 and 0.100 %) "
        "before it is 10 % slower, all else as at the baseline."
    )
    (sentence,) = write_axes(buffer)
    assert sentence == (
        "lu needs socket buffers of about 100 kB (between the tried 64 KiB and 256 KiB) "
        "to stay within 10 % of its baseline time, all else as at the baseline."
    )


def test_an_interval_of_another_axis_is_named_once() -> None:
    jitter = make_axis_row("jitter", "ms", estimate=1.5, low=1.0, high=2.0)
    loss = make_axis_row("loss", "", estimate=0.01, low=0.001, high=0.02)
    (sentence,) = write_axes(jitter, loss)
    assert sentence.startswith(
        "lu tolerates a jitter of about 1.5 ms (95 % interval 1.00 to 2.00 ms) and a loss of "
        "about 1 % (0.100 to 2.00 %) before"
    )


def test_few_runs_beside_a_limit_of_another_axis_are_admitted() -> None:
    row = make_axis_row(
        "loss", "", easier=0.0, harder=0.01, mildest=0.0, hardest=0.01, runs_beside=1
    )
    found = "somewhere between 0 and 1.00 % (the whole range tried; n = 1, no interval)"
    assert found in write_axes(row)[0]


@pytest.mark.parametrize("state", ["never", "cannot tell", "at once", "one-sided"])
def test_an_axis_without_a_limit_between_tried_values_is_left_to_its_table(state: str) -> None:
    row = make_axis_row("loss", "", state=state, harder=None)
    assert write_axes(row) == []


def test_many_applications_with_other_axes_are_cut_with_their_number() -> None:
    labels = {(f"app{one}", ""): f"app{one}" for one in range(7)}
    rows = [make_axis_row("loss", "", app=app) for app, _ in labels]
    requirements = [REQUIREMENT | {"app": app} for app, _ in labels]
    found = verdict([], requirements, labels, others=rows).sentences
    assert sum("a loss of about" in one for one in found) == 4
    assert found[-1] == "What 3 more need of such axes is in the table below."


def test_sentences_of_one_application_are_joined_to_one() -> None:
    lines = [
        "**a** needs 8 Mbit/s.",
        "The RTT that **a** tolerates cannot be determined: 1 run.",
        "It is 50 % slower at 2 Mbit/s.",
    ]
    joined = "**a** needs 8 Mbit/s; the RTT that **a** tolerates cannot be determined: 1 run."
    assert _join(lines) == joined


def test_without_runs_the_page_says_that_there_are_none() -> None:
    assert verdict([], [], {}).first == (
        "There is nothing to conclude from: these tables hold no runs."
    )
