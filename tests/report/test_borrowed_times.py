"""Packets without a time of their own: no peak, rate or distribution rests on them."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
import tiny

from flowsweep.analysis import adds_up, grades
from flowsweep.render import page
from flowsweep.warehouse import Warehouse, figure_names

OWN, OTHER = "10.0.0.1", "10.0.0.2"
COLUMNS = ("untimed_packets", "times_out_of_range")


def experiment(directory: Path, **counts: int) -> Path:
    """Makes a sender; all packets that took the time of the one before them are in bin 7."""
    tiny.runs(directory, [{"run": "r", "status": "no record"}])
    last = tiny.T0 + 995 * tiny.MS
    tiny.table(directory, "captures", "r", "pc", [tiny.capture(last_time=last, **counts)])
    tiny.table(directory, "flows", "r", "pc", [
        tiny.flow(OWN, OTHER, packets=10_000, wire_bytes=1_990_000, last_time=last,
                  duration_ns=last - tiny.T0)
    ])  # fmt: skip
    sizes = dict.fromkeys(range(100), 10_000) | {7: 1_000_000}
    tiny.table(directory, "throughput", "r", "pc", tiny.bins(OWN, OTHER, sizes))
    return directory


@pytest.fixture(scope="module", params=COLUMNS)
def borrowed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return experiment(tmp_path_factory.mktemp("borrowed"), **{request.param: 9})


def test_no_query_has_a_peak(borrowed: Path) -> None:
    warehouse = Warehouse(borrowed)
    (need,) = warehouse.rows("requirement").to_dicts()
    assert need["is_borrowed"]
    assert need["peak_mbit_s"] is need["p99_mbit_s"] is None
    # 1.99 MB in a run of 1 s
    assert need["mean_mbit_s"] == pytest.approx(15.92, rel=0.001)
    assert warehouse.rows("throughput_cdf").is_empty()
    assert warehouse.rows("monitoring").is_empty()
    series = warehouse.rows("throughput_series").filter(pl.col("direction") == "out")
    assert series["max_mbit_s"].to_list() == pytest.approx([15.92], rel=0.001)
    assert series["wire_bytes"].sum() == 1_990_000
    # The burst of 1 MB in 10 ms would be 800 Mbit/s.
    wan = warehouse.rows("wan_throughput")
    assert (wan["shortest_ms"] > wan["step_ms"]).all()
    lightpaths = warehouse.rows("lightpaths")
    assert (lightpaths["shortest_ms"] > lightpaths["step_ms"]).all()


def test_the_page_says_why(borrowed: Path) -> None:
    html = page.build(borrowed).html.replace("\u00a0", " ")
    text = " ".join(re.sub(r"<[^>]+>", " ", html).split())
    assert "no peak is known, because some of its packets have no time of their own" in text
    assert "No peak is known of r: some packets there have no time of their own" in text
    assert "in its busiest" not in text
    assert "no peak is known" in html


def test_what_is_stated_adds_up(borrowed: Path) -> None:
    warehouse = Warehouse(borrowed)
    names = figure_names(warehouse.catalog.folder)
    assert [str(one) for one in adds_up.contradictions(warehouse, names)] == []


def test_where_all_packets_have_their_own_time_nothing_is_withdrawn(tmp_path: Path) -> None:
    experiment(tmp_path, untimed_packets=0, times_out_of_range=0)
    (need,) = Warehouse(tmp_path).rows("requirement").to_dicts()
    assert need["peak_mbit_s"] == pytest.approx(800)
    assert not need["is_borrowed"]


@pytest.mark.parametrize("column", COLUMNS)
def test_many_of_them_leave_no_claim(column: str) -> None:
    assert grades.grade({"packets": 100, column: 2, "is_drops_known": True}).letter == "D"
