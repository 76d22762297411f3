"""Time stamps that are coarser than a bin make no peak that the link did not carry."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import tiny

from flowsweep.analysis import adds_up, grades
from flowsweep.render import page
from flowsweep.warehouse import Warehouse, figure_names

OWN, OTHER = "10.0.0.1", "10.0.0.2"
#: Bytes in a millisecond, all the time, and so many seconds of them.
BYTES_MS, SECONDS = 1_000, 40
MBIT_S = BYTES_MS * 8e-3


def experiment(directory: Path, resolution_ns: int, **changes: object) -> Path:
    """A steady stream whose packets have the latest time that the stamps can express."""
    sizes: dict[int, int] = {}
    last = 0
    for at in range(0, SECONDS * 10**9, tiny.MS):
        last = (tiny.T0 + at) // resolution_ns * resolution_ns - tiny.T0
        number = last // (10 * tiny.MS)
        sizes[number] = sizes.get(number, 0) + BYTES_MS
    total = sum(sizes.values())
    tiny.runs(directory, [{"run": "r", "status": "no record"}])
    tiny.table(directory, "captures", "r", "pc", [
        tiny.capture(packets=SECONDS * 1_000, wire_bytes=total, last_time=tiny.T0 + last,
                     ts_resolution_ns=resolution_ns, **changes)
    ])  # fmt: skip
    tiny.table(directory, "flows", "r", "pc", [
        tiny.flow(OWN, OTHER, packets=SECONDS * 1_000, wire_bytes=total, duration_ns=last,
                  last_time=tiny.T0 + last, largest_packet_bytes=1_000, mss=1460)
    ])  # fmt: skip
    tiny.table(directory, "throughput", "r", "pc", tiny.bins(OWN, OTHER, sizes))
    return directory


@pytest.mark.parametrize("per_second", [1, 2, 8, 16, 64])
def test_peaks_and_means_are_those_of_the_wire(per_second: int, tmp_path: Path) -> None:
    """Also where the resolution is no multiple of a bin, as 62.5 ms is."""
    warehouse = Warehouse(experiment(tmp_path, 10**9 // per_second))
    for query, column in (
        ("throughput_series", "max_mbit_s"), ("throughput_cdf", "mbit_s"),
        ("monitoring", "peak_mbit_s"),
    ):  # fmt: skip
        rows = warehouse.rows(query).filter(pl.col("direction") == "out")
        assert rows[column].max() == pytest.approx(MBIT_S, rel=0.02), query
    (need,) = warehouse.rows("requirement").to_dicts()
    assert need["peak_mbit_s"] == pytest.approx(MBIT_S, rel=0.02)
    (total,) = warehouse.rows("totals").to_dicts()
    assert total["out_mbit_s"] == pytest.approx(MBIT_S, rel=0.002)
    assert total["out_mbit_s"] <= need["peak_mbit_s"]


@pytest.mark.parametrize("resolution_ns", [1_000, 10 * tiny.MS])
def test_stamps_as_fine_as_a_bin_leave_the_bins_of_the_tables(
    resolution_ns: int, tmp_path: Path
) -> None:
    rows = Warehouse(experiment(tmp_path, resolution_ns)).rows("throughput_series")
    assert set(rows["bin_ms"]) == {10.0}
    assert rows["shortest_ms"].null_count() == rows.height


def test_the_page_says_which_times_are_too_short(tmp_path: Path) -> None:
    directory = experiment(tmp_path, 10**9)
    html = page.build(directory).html.replace("\u00a0", " ")
    assert "Not measurable below 1 s in r: time stamps are no finer" in html
    assert "time stamps of 1 s: gaps, RTTs and peaks of less time are unknown" in html
    assert "largest takes so long" not in html
    warehouse = Warehouse(directory)
    found = adds_up.contradictions(warehouse, figure_names(warehouse.catalog.folder))
    assert [str(one) for one in found] == []


def test_an_interface_without_packets_has_no_coarse_stamps() -> None:
    idle = {"packets": 0, "ts_resolution_ns": 10**9, "is_drops_known": True}
    used = {"packets": 5, "ts_resolution_ns": 1_000, "is_drops_known": True}
    assert grades.combine([idle, used]).letter == "A"
    coarse = grades.combine([used, used | {"ts_resolution_ns": 10**9}])
    assert (coarse.letter, coarse.forbidden) == ("C", ["gaps between packets"])
