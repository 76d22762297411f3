"""A quick part of the truth bench, and every sentence on thresholds where it is true and false."""

from __future__ import annotations

from dataclasses import replace

import made_sweeps
import numpy as np
import pytest
import verdict

from flowsweep.analysis.need import EMULATOR_OFF, Points
from flowsweep.analysis.slowdown import Line

RTTS = (0.3, 1, 4, 16, 64)
RATES = (1000, 100, 50, 20, 10)
SEEDS = range(60)
LEVEL = (1, 1, 1, 1, 1)
RISING = (1, 1.01, 1.05, 1.3, 2)
BUMP = (1, 1.3, 1, 1, 1)
STEP_OUT = (1, 1, 1, 1.01, 1.12)
ALMOST = (1, 1, 1, 1, 1.085)
UNSURE = {"spread": 0.03}


def made(
    slowdowns: tuple[float, ...],
    seed: int,
    axis: str = "rtt",
    *,
    runs: int = 6,
    spread: float = 0.01,
    has_baseline: bool = True,
) -> made_sweeps.Sweep:
    """Returns a sweep with a piecewise linear true curve and lognormal times around it."""
    random = np.random.default_rng(seed)
    x = [float(value) for value in (RTTS if axis == "rtt" else RATES)]
    hardness = np.array(x) if axis == "rtt" else 1 / np.array(x)
    times = [
        (10 * one * np.exp(spread * random.standard_normal(runs))).tolist() for one in slowdowns
    ]
    baseline = times[0] if has_baseline else (10 + 0.1 * random.standard_normal(runs)).tolist()
    line = Line(times, baseline, 0 if has_baseline else None)
    points = Points(axis, x, line, [False] * len(x))
    return made_sweeps.Sweep(
        points, lambda u: np.interp(u, hardness, slowdowns), bool((np.diff(slowdowns) >= 0).all())
    )


def share(text: str, slowdowns: tuple[float, ...], axis: str = "rtt", **how: object) -> float:
    """Returns the share of sweeps for which a sentence with this text is printed."""
    printed = [
        any(text in one for one in verdict.printed(made(slowdowns, seed, axis, **how))[1])
        for seed in SEEDS
    ]
    return sum(printed) / len(printed)


# A text that only one sentence has, a sweep for which it is true, and sweeps for which it is false.
BOTH_DIRECTIONS = [
    ("tolerates an RTT of about", (RISING, {}), [(LEVEL, {}), (BUMP, {}), (ALMOST, {})]),
    ("needs about", (RISING, {"axis": "rate"}), [(LEVEL, {"axis": "rate"})]),
    ("It is 50 % slower above", (RISING, {}), [((1, 1.01, 1.05, 1.3, 1.4), {}), (LEVEL, {})]),
    ("It is 50 % slower below", (RISING, {"axis": "rate"}), [(LEVEL, {"axis": "rate"})]),
    (
        "stayed within 10 % at every RTT tried, up to 64.0 ms: no limit was reached",
        (LEVEL, {}),
        [(RISING, {}), (BUMP, {}), (STEP_OUT, {}), ((1, 1, 1, 1.2, 1.0), {})],
    ),
    (
        "stayed within 10 % at every rate tried, down to 10.0 Mbit/s: no limit was reached",
        (LEVEL, {"axis": "rate"}),
        [(RISING, {"axis": "rate"}), (BUMP, {"axis": "rate"})],
    ),
    ("gets faster again between", (BUMP, {}), [(RISING, {}), (LEVEL, {}), (STEP_OUT, {})]),
    (
        "times slower at the mildest RTT",
        ((1.5, 1.6, 1.7, 1.8, 2), {"has_baseline": False}),
        [((1.5, 1.6, 1.7, 1.8, 2), {}), ((1, 1.6, 1.7, 1.8, 2), {"has_baseline": False})],
    ),
    (
        "cannot be determined more closely than",
        ((1, 1.08, 1.1, 1.12, 1.9), UNSURE),
        [(RISING, {}), (LEVEL, {}), (BUMP, {})],
    ),
    (
        "It stayed within 10 % at every RTT tried up to 16.0 ms",
        (ALMOST, UNSURE | {"runs": 10}),
        [(RISING, {}), ((1, 1, 1, 1.11, 1.1), {}), (LEVEL, {})],
    ),
    (
        "It is 10 % slower at 1.00 ms and at every RTT beyond that has valid runs",
        ((1.11, 1.3, 1.4, 1.5, 1.6), {"has_baseline": False}),
        [(RISING, {}), ((1.1, 1.3, 1.0, 1.5, 1.6), {"has_baseline": False})],
    ),
    (
        "which decides neither way about 10 %",
        (ALMOST, {"spread": 0.04}),
        [(RISING, {}), (LEVEL, {}), ((1, 1, 1, 1, 1.3), {})],
    ),
    ("itself varies by", ((1, 1.1, 1.1, 1.1, 1.1), {"spread": 0.3, "runs": 20}), [(RISING, {})]),
    ("spread too far", ((1, 1.09, 1.1, 1.12, 1.9), UNSURE), [(RISING, {}), (LEVEL, {})]),
    (
        "(95 % interval 4.00 to 16.0) before",
        (RISING, {}),
        [(LEVEL, {}), (BUMP, {}), (STEP_OUT, {})],
    ),
    ("n = 1, no interval", (RISING, {"runs": 1}), [(RISING, {"runs": 2})]),
    (
        "and 1 valid run at the baseline, where an interval needs 3",
        (LEVEL, {"runs": 1}),
        [(LEVEL, {"runs": 2})],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "true", "false"), BOTH_DIRECTIONS)
def test_a_sentence_is_printed_where_it_is_true_and_only_there(
    text: str, true: tuple, false: list[tuple]
) -> None:
    slowdowns, how = true
    assert share(text, slowdowns, **how) >= 0.7
    for slowdowns, how in false:
        assert share(text, slowdowns, **how) <= 0.05


def test_an_emulator_that_missed_the_deciding_point_is_named_and_no_other() -> None:
    for missed, is_stated in ((2, True), (3, True), (1, False), (4, False)):
        sweep = made(RISING, 1)
        is_off = [index == missed for index in range(len(RTTS))]
        missing = replace(sweep, points=replace(sweep.points, is_off=is_off))
        assert any(EMULATOR_OFF in one for one in verdict.printed(missing)[1]) == is_stated


CANNOT = "The RTT that app tolerates cannot be determined"
STAYED = "It stayed within 10 % at every RTT tried up to"
AGAIN = (
    "app gets faster again between 0.300 and 64.0 ms (at 1.00 ms it takes 1.30 [1.2, 1.4] times "
    "its baseline time, but at 4.00 ms it takes 1.00 times its baseline time): no single RTT"
)
JUDGED = [
    ("app tolerates an RTT of about 7.00 ms (95 % interval 4.00 to 16.0) before", RISING, LEVEL),
    ("app tolerates an RTT of about 7.00 ms (95 % interval 4.00 to 16.0) before", RISING, BUMP),
    ("It is 50 % slower above about 30.0 ms (16.0 to 64.0).", RISING, LEVEL),
    (
        "app tolerates an RTT of about 2.00 ms (95 % interval 1.00 to 4.00) before",
        (1, 1, 1.2, 1.3, 2),
        RISING,
    ),
    (
        "app tolerates an RTT of about 60 ms (95 % interval 16.0 or more) before",
        LEVEL,
        RISING,
    ),
    ("app stayed within 10 % at every RTT tried, up to 64.0 ms: no limit", LEVEL, BUMP),
    (AGAIN, BUMP, RISING),
    ("app is already 1.50 times slower at the mildest RTT after", (1.5, 1.6, 1.7, 2, 3), RISING),
    (f"{CANNOT} more closely than 4.00 to 16.0 ms: why.", RISING, STEP_OUT),
    (f"{CANNOT}: why. {STAYED} 4.00 ms.", RISING, BUMP),
    (
        f"{CANNOT}: why. It is 10 % slower at 16.0 ms and at every RTT beyond that has valid runs.",
        RISING,
        LEVEL,
    ),
]


@pytest.mark.parametrize(("failed", "expected"), [
    (None, "app stayed within 10 % at every RTT tried, up to 64.0 ms: no limit was reached."),
    (256, f"{CANNOT}: no run is valid at 256 ms. {STAYED} 64.0 ms."),
    (8, f"{CANNOT}: no run is valid at 8.00 ms. {STAYED} 4.00 ms."),
])  # fmt: skip
def test_a_point_without_a_valid_run_is_within_nothing(failed: float | None, expected: str) -> None:
    sweep = made(LEVEL, 1)
    points = replace(sweep.points, without_runs=[failed] if failed else [])
    assert verdict.printed(replace(sweep, points=points))[1] == [expected]


def test_what_it_needs_is_not_called_untried_where_a_milder_point_has_no_valid_run() -> None:
    sweep = made((1.5, 1.6, 1.7, 1.8, 2), 1, has_baseline=False)
    points = replace(sweep.points, without_runs=[0.1])
    text = verdict.printed(replace(sweep, points=points))[1][0]
    assert text.startswith(f"{CANNOT}: no run is valid at 0.100 ms.")


def test_a_point_without_a_valid_run_widens_a_bracket_that_it_lies_in_front_of() -> None:
    sweep = made(RISING, 1)
    points = replace(sweep.points, without_runs=[2.0, 256.0])
    found, _ = verdict.printed(replace(sweep, points=points))
    assert (found[0].state, found[0].low, found[0].high) == ("found", 1.0, 16.0)


@pytest.mark.parametrize(("sentence", "true", "false"), JUDGED)
def test_the_judge_tells_true_from_false(
    sentence: str, true: tuple[float, ...], false: tuple[float, ...]
) -> None:
    assert verdict.is_true(made(true, 0), sentence)
    assert not verdict.is_true(made(false, 0), sentence)


def test_a_sentence_that_no_rule_judges_is_an_error() -> None:
    with pytest.raises(ValueError, match="no rule judges"):
        verdict.is_true(made(LEVEL, 0), "app is quick.")


@pytest.mark.parametrize(("name", "bad", "missed"), [
    ("held", 6, 0), ("held", 8, 1), ("false", 5, 0), ("false", 6, 1),
])  # fmt: skip
def test_the_bench_fails_where_one_cell_misses_a_goal(name: str, bad: int, missed: int) -> None:
    good = verdict.Counter(sweeps=100, intervals=100, held=100, told=90)
    cell = verdict.Counter(good)
    cell[name] = 100 - bad if name == "held" else bad
    assert verdict.judge([good, good]) == 0
    assert verdict.judge([good, cell]) == missed


@pytest.mark.parametrize("shape", made_sweeps.SHAPES)
def test_what_is_printed_holds_the_truth(shape: str) -> None:
    """25 sweeps of each number of runs and spread: 300 of a shape."""
    counts = sum(
        (verdict.measure(shape, runs, spread, 25)
         for runs in verdict.RUNS for spread in verdict.SPREADS),
        start=verdict.Counter(),
    )  # fmt: skip
    assert counts["held"] >= 0.95 * counts["intervals"]
    assert counts["false"] <= 0.05 * counts["sweeps"]
    # Refusing every answer would satisfy the lines above.
    assert counts["told"] >= 0.4 * counts["sweeps"]
    assert counts["intervals"] >= 100


def test_a_quiet_sweep_is_bracketed_to_the_gap() -> None:
    found = [verdict.printed(made(RISING, seed, runs=3))[0][0] for seed in SEEDS]
    closest = [(one.state, one.low, one.high) == ("found", 4.0, 16.0) for one in found]
    assert np.mean(closest) > 0.6
