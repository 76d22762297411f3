"""The peak at more ranks, predicted from fewer: tested at ranks that were not fitted."""

from __future__ import annotations

import math
import statistics
from pathlib import Path

import numpy as np
import pytest
import ranked

from flowsweep.analysis import rank_fits
from flowsweep.render import page
from flowsweep.warehouse import Warehouse

#: Student's t at 97.5 %, by degrees of freedom, from a printed table.
T = {2: 4.3027, 4: 2.7764}


def test_one_rank_is_not_divided_by(tmp_path: Path) -> None:
    html = page.build(ranked.make(tmp_path, ((1, 10.0), (1, 10.4)))).html
    assert "Bar: from the site with the least traffic" in html
    assert "idle ones included" not in html


def test_the_most_ranks_are_predicted_from_the_fewer(tmp_path: Path) -> None:
    """By hand: each prediction uses all fewer ranks; both ways carry 1.1 times one way."""
    rows = Warehouse(ranked.make(tmp_path)).rows("peak_prediction").rows(named=True)
    found = {row["ranks"]: row for row in rows}
    assert [(row["ranks"], row["is_tried"], row["from_ranks"]) for row in rows] == [
        (4.0, True, "2"), (8.0, True, "2, 4"), (16.0, False, "2, 4, 8"), (32.0, False, "2, 4, 8"),
    ]  # fmt: skip
    for ranks, tried in ((8, (2, 4)), (16, (2, 4, 8)), (32, (2, 4, 8))):
        each = [1.1 * mbit_s for count, mbit_s in ranked.RUNS if count in tried]
        mean, n = statistics.mean(each), len(each)
        half = T[n - 1] * statistics.stdev(each) * math.sqrt(1 + 1 / n)
        row = found[ranks]
        assert row["predicted_mbit_s"] == pytest.approx(mean * ranks, rel=1e-3)
        assert row["low_mbit_s"] == pytest.approx((mean - half) * ranks, rel=1e-2)
        assert row["high_mbit_s"] == pytest.approx((mean + half) * ranks, rel=1e-2)
        assert row["direction_predicted_mbit_s"] == pytest.approx(mean / 1.1 * ranks, rel=1e-3)
        assert row["lightpaths_predicted"] == math.ceil(mean / 1.1 * ranks / 100)
    most = found[8]
    assert most["measured_mbit_s"] == pytest.approx(1.1 * 8 * 10.2, rel=1e-3)
    assert most["error"] == pytest.approx(
        most["predicted_mbit_s"] / most["measured_mbit_s"] - 1, abs=1e-4
    )
    assert most["is_within"] is True
    assert (most["lightpaths_measured"], found[32]["lightpaths_predicted"]) == (1, 4)
    assert found[4]["low_mbit_s"] is None  # it rests on one run
    assert found[16]["measured_mbit_s"] is None


def test_a_peak_that_does_not_grow_with_the_ranks_is_outside(tmp_path: Path) -> None:
    """Eight ranks send only as much as four."""
    runs = ((8, 5.0), (8, 5.1), (4, 10.0), (4, 10.1), (2, 10.2), (2, 9.9))
    rows = Warehouse(ranked.make(tmp_path, runs)).rows("peak_prediction").rows(named=True)
    (most,) = (row for row in rows if row["ranks"] == 8)
    assert most["is_within"] is False
    assert most["error"] > 0.9


def test_nothing_between_the_sites_is_predicted_as_nothing(tmp_path: Path) -> None:
    """The error of the prediction would be 0 / 0, so it is null."""
    runs = ((8, 0.0), (4, 0.0), (2, 0.0))
    rows = Warehouse(ranked.make(tmp_path, runs)).rows("peak_prediction").rows(named=True)
    (most,) = (row for row in rows if row["ranks"] == 8)
    assert (most["predicted_mbit_s"], most["measured_mbit_s"], most["error"]) == (0, 0, None)
    assert most["is_within"] is True
    assert (most["lightpaths_predicted"], most["lightpaths_measured"]) == (0, 0)


def test_nine_in_ten_further_runs_and_more_lie_within() -> None:
    """The band contains one further run in 95 % of 2,000 sweeps of known spread."""
    random = np.random.default_rng(2009)
    inside = []
    for _ in range(2000):
        each = random.normal(10, 0.5, 6)
        runs = [
            {"app": "a", "problem": "", "ranks": ranks, "peak_mbit_s": ranks * mbit_s,
             "direction_peak_mbit_s": 1.0}
            for ranks, mbit_s in zip((2, 2, 4, 4, 6, 6), each, strict=True)
        ]  # fmt: skip
        *_, low, high, _ = next(row for row in rank_fits.rows(runs) if row[2] == 12)
        inside.append(low <= 12 * random.normal(10, 0.5) <= high)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.015)


def test_one_number_of_ranks_predicts_nothing(tmp_path: Path) -> None:
    warehouse = Warehouse(ranked.make(tmp_path, ((4, 10.0), (4, 11.0))))
    assert warehouse.rows("peak_prediction").is_empty()
    assert "the number of ranks was not varied" in str(warehouse.lack("peak_prediction"))
