"""Time stamps that are coarser than a bin make no peak that the link did not carry."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import tiny
from grid import PC1, PC3, one_run, rows

from flowsweep.analysis import adds_up, grades
from flowsweep.render import page
from flowsweep.warehouse import Warehouse, figure_names

OWN, OTHER = "10.0.0.1", "10.0.0.2"
#: A constant number of bytes per millisecond, for this many seconds.
BYTES_MS, SECONDS = 1_000, 40
MBIT_S = BYTES_MS * 8e-3


def steady_stream(resolution_ns: int, seconds: int) -> dict[int, int]:
    """Returns bytes by bin, with each packet's time rounded down to the resolution."""
    sizes: dict[int, int] = {}
    for at in range(0, seconds * 10**9, tiny.MS):
        number = at // resolution_ns * resolution_ns // (10 * tiny.MS)
        sizes[number] = sizes.get(number, 0) + BYTES_MS
    return sizes


def experiment(directory: Path, resolution_ns: int, **changes: object) -> Path:
    """Makes a steady stream that only its sender captured."""
    sizes = steady_stream(resolution_ns, SECONDS)
    total = sum(sizes.values())
    last = (SECONDS * 10**9 - tiny.MS) // resolution_ns * resolution_ns
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
    """Also where the resolution, such as 62.5 ms, is not a multiple of a bin."""
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
    series = warehouse.rows("throughput_series").filter(pl.col("direction") == "out")
    assert series["run_mean_mbit_s"].max() == pytest.approx(total["out_mbit_s"], rel=1e-4)


def test_a_resolution_that_fits_no_bins_leaves_bins_of_fifty_stamps(tmp_path: Path) -> None:
    """The least common multiple of 16.666667 ms and 10 ms is 46 hours."""
    warehouse = Warehouse(experiment(tmp_path, 16_666_667))
    rows = warehouse.rows("throughput_series").filter(pl.col("direction") == "out")
    assert set(rows["bin_ms"]) == {840.0}
    assert rows["max_mbit_s"].max() == pytest.approx(MBIT_S, rel=0.025)


@pytest.mark.parametrize(("per_second", "begin_ms"), [(1, 0), (2, 130), (16, 130), (64, 0)])
def test_between_sites_no_step_is_above_the_rate_of_the_wire(
    per_second: int, begin_ms: int, tmp_path: Path
) -> None:
    """The run may begin between two stamps, and it ends 10 ms after one."""
    seconds, resolution_ns = 4, 10**9 // per_second
    sizes = steady_stream(resolution_ns, seconds)
    end = tiny.T0 + (max(sizes) + 1) * 10 * tiny.MS
    directory = one_run(
        tmp_path,
        {"pc1": tiny.bins(PC1, PC3, sizes)},
        start=tiny.T0 - begin_ms * tiny.MS,
        end=end,
        json=None,
    )
    tiny.table(directory, "captures", "r", "pc1", [tiny.capture(ts_resolution_ns=resolution_ns)])
    found = rows(directory, "wan_throughput")
    assert sum(row["wire_bytes"] for row in found) == seconds * 1_000 * BYTES_MS
    for name in ("max_mbit_s", "mean_mbit_s", "run_peak_mbit_s"):
        assert max(row[name] for row in found) == pytest.approx(MBIT_S, rel=0.02), name
    (need,) = rows(directory, "lightpaths", site_a="east", site_b="west")
    assert need["peak_mbit_s"] == pytest.approx(MBIT_S, rel=0.02)
    names = ["wan_throughput", "lightpaths", "path_throughput"]
    assert [str(one) for one in adds_up.contradictions(Warehouse(directory), names)] == []


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
    assert "Not measurable below 1 s in r: time stamps are coarser than a bin." in html
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
