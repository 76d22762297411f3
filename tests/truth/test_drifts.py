"""A quick part of the drift bench, and the properties of a drift."""

from __future__ import annotations

import math

import drifts
import numpy as np
import pytest

from flowsweep.analysis import drift

SWEEPS = 200


@pytest.mark.parametrize("kind", drifts.KINDS)
def test_a_drift_that_is_not_there_is_rarely_reported(kind: str) -> None:
    """At most 9 % of the sweeps, and 3 standard errors."""
    most = drifts.MOST_FALSE_OF_ONE
    slack = 3 * math.sqrt(most * (100 - most) / SWEEPS)
    assert drifts.measure(kind, 5, 3, 0.0, SWEEPS) <= most + slack


def test_a_large_drift_is_reported_nearly_always_and_a_small_one_rarely() -> None:
    assert drifts.measure("normal", 9, 3, 0.1, SWEEPS) >= drifts.LEAST_FOUND
    assert drifts.measure("normal", 9, 3, 0.03, SWEEPS) >= 50
    assert drifts.measure("normal", 9, 3, 0.01, SWEEPS) <= 30


def test_one_slow_run_does_not_hide_a_drift() -> None:
    assert drifts.measure("one outlier", 9, 6, 0.1, SWEEPS) >= drifts.LEAST_FOUND


def runs(slower: float, seed: int = 3) -> list[list[tuple[int, float]]]:
    """Returns runs of three points; the last point, twice as slow, is measured after the others."""
    random = np.random.default_rng(seed)
    starts = [[0, 2, 4, 6], [1, 3, 5, 7], [8, 9, 10, 11]]
    return [
        [
            (start, level * (1 + slower) ** (start / 11) * math.exp(0.003 * random.normal()))
            for start in point_starts
        ]
        for point_starts, level in zip(starts, (1.0, 1.5, 2.0), strict=True)
    ]


def test_a_point_that_is_made_late_is_no_drift() -> None:
    found = drift.find(runs(0.0))
    assert found is not None
    assert found.p > drift.LEVEL
    assert found.low < 0 < found.high


def test_a_drift_is_as_large_as_from_the_first_run_to_the_last() -> None:
    found = drift.find(runs(0.05))
    assert found is not None
    assert found.low < 0.05 < found.high < 0.1
    assert found.change == pytest.approx(0.05, abs=0.01)
    assert found.p < 0.001
    faster = drift.find(runs(-0.05))
    assert faster is not None
    assert faster.change == pytest.approx(-0.05, abs=0.01)


@pytest.mark.parametrize("groups", [
    [[(0, 1.0), (1, 1.1)], [(2, 1.0), (3, 1.2)]],
    [[(0, 1.0), (1, 1.0), (2, 1.0)]] * 3,
    [[(0, 1.0), (3, 1.1)], [(1, 0.0), (4, 1.1)], [(2, 1.0), (5, 1.1)]],
    [[(0, 1.0)], [(1, 2.0)], [(2, 3.0)]],
    [],
])  # fmt: skip
def test_too_few_or_too_equal_runs_tell_no_drift(groups: list[list[tuple[int, float]]]) -> None:
    assert drift.find(groups) is None
