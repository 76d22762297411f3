"""Throughput, goodput and bytes in flight between the sites, against numbers worked out here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import in_flight
import pytest
import tiny
from in_flight import PAYLOAD, REPEATED

from flowsweep.render import page
from flowsweep.warehouse import Warehouse


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return in_flight.make(tmp_path_factory.mktemp("sweep"))


def rows(directory: Path, name: str) -> list[dict[str, Any]]:
    return Warehouse(directory).rows(name).to_dicts()


def test_throughput_is_the_median_over_the_runs_of_a_point(sweep: Path) -> None:
    found = rows(sweep, "path_throughput")
    assert {(row["axis"], row["from_site"], row["to_site"]) for row in found} == {
        ("rtt", "west", "east")
    }
    assert [(row["x"], row["runs_used"]) for row in found] == [(1, 3), (10, 1), (100, 1)]
    assert [row["throughput_mbit_s"] for row in found] == [2.0, 0.5, 0.1]
    assert [row["throughput_mbit_s_min"] for row in found] == [1.0, 0.5, 0.1]
    assert [row["throughput_mbit_s_max"] for row in found] == [4.0, 0.5, 0.1]
    assert {row["link_mbit_s"] for row in found} == {100.0}


def test_goodput_leaves_out_headers_and_what_was_sent_again(sweep: Path) -> None:
    share = (PAYLOAD - REPEATED) / 10_000
    found = [row["goodput_mbit_s"] for row in rows(sweep, "path_throughput")]
    assert found == pytest.approx([2.0 * share, 0.5 * share, 0.1 * share])


def test_bytes_in_flight_stand_beside_rate_times_rtt(sweep: Path) -> None:
    found = rows(sweep, "bytes_in_flight")
    assert [row["bdp_bytes"] for row in found] == [12_500, 125_000, 1_250_000]
    assert [row["in_flight_bytes"] for row in found] == [40_001, 100_000, 50_000]
    assert [row["in_flight_bytes_max"] for row in found] == [40_002, 100_000, 50_000]
    assert [row["of_bdp"] for row in found] == [pytest.approx(3.2001, abs=1e-4), 0.8, 0.04]
    # the window that the receiver advertised, not the sender's
    assert {row["window_bytes"] for row in found} == {65_000}


def test_both_are_drawn_and_their_claims_hold(sweep: Path) -> None:
    html = page.build(sweep).html.replace("\u00a0", " ")
    for name in ("path_throughput", "bytes_in_flight"):
        assert f'id="figure-{name}"' in html
    assert "This report contradicts" not in html


def test_where_no_axis_was_varied_no_line_is_drawn(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("only", baseline=True)])
    in_flight.capture(tmp_path, "only", 125_000, 40_000, None)
    assert rows(tmp_path, "path_throughput") == []
    (row,) = rows(tmp_path, "bytes_in_flight")
    assert (row["bdp_bytes"], row["of_bdp"], row["window_bytes"]) == (12_500, 3.2, None)


def test_a_point_without_a_rate_has_no_bandwidth_delay_product(tmp_path: Path) -> None:
    found = rows(in_flight.make(tmp_path, has_rate=False), "bytes_in_flight")
    assert sorted(row["rtt_ms"] for row in found if row["bdp_bytes"] is None) == [100.0]
