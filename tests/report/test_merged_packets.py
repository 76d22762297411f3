"""Packets merged by offloading make no peak over less time than they take on the wire."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import ranked
import tiny

from flowsweep.analysis import merged_packets
from flowsweep.render import page
from flowsweep.warehouse import Warehouse

OWN, OTHER = "10.0.0.1", "10.0.0.2"
SIZE, GAP_MS, COUNT = 65_174, 52, 40
#: 65,174 bytes every 52 ms.
MBIT_S = SIZE * 8 / GAP_MS / 1e3


def experiment(
    directory: Path,
    *,
    size: int = SIZE,
    merged: int = COUNT,
    count: int = COUNT,
    silence_ms: int = 0,
) -> Path:
    """Makes one sender with a packet every 52 ms, and a silence before the last nine."""
    tiny.runs(directory, [{"run": "r", "status": "no record"}])
    last = tiny.T0 + ((count - 1) * GAP_MS + silence_ms) * tiny.MS
    tiny.table(directory, "captures", "r", "pc", [
        tiny.capture(packets=count, wire_bytes=count * size, last_time=last, super_packets=merged)
    ])  # fmt: skip
    tiny.table(directory, "flows", "r", "pc", [
        tiny.flow(OWN, OTHER, packets=count, wire_bytes=count * size, last_time=last,
                  duration_ns=last - tiny.T0, largest_packet_bytes=size - 14, mss=1460)
    ])  # fmt: skip
    sizes = {
        (number * GAP_MS + (silence_ms if number >= count - 9 else 0)) // 10: size
        for number in range(count)
    }
    tiny.table(directory, "throughput", "r", "pc", tiny.bins(OWN, OTHER, sizes))
    return directory


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return experiment(tmp_path_factory.mktemp("merged"))


def test_no_peak_is_above_what_the_wire_carried(merged: Path) -> None:
    warehouse = Warehouse(merged)
    # at most one packet in the 50 ms between two bins of 10 ms
    most = MBIT_S * GAP_MS / 50 * 1.001
    series = warehouse.rows("throughput_series").filter(pl.col("direction") == "out")
    assert 0.9 * MBIT_S < series["max_mbit_s"].max() <= most
    (need,) = warehouse.rows("requirement").to_dicts()
    assert 0.9 * MBIT_S < need["peak_mbit_s"] <= most
    for query, column in (("throughput_cdf", "mbit_s"), ("monitoring", "peak_mbit_s")):
        rows = warehouse.rows(query).filter(pl.col("direction") == "out")
        assert rows[column].max() <= most, query
    lightpaths = warehouse.rows("lightpaths")
    assert lightpaths["peak_mbit_s"].max() <= most


def test_no_bin_is_shorter_than_a_merged_packet_takes(merged: Path) -> None:
    warehouse = Warehouse(merged)
    for query, column in (
        ("throughput_series", "bin_ms"), ("throughput_cdf", "bin_ms"), ("monitoring", "window_ms"),
    ):  # fmt: skip
        rows = warehouse.rows(query).filter(pl.col("direction") == "out")
        assert rows.height, query
        assert rows[column].min() >= 50, query
    assert "Not measurable below" in page.build(merged).html.replace("\u00a0", " ")


@pytest.mark.parametrize(("count", "is_known"), [(3, False), (COUNT, True)])
def test_the_mean_beside_the_peak_is_that_of_the_series(
    tmp_path: Path, count: int, *, is_known: bool
) -> None:
    """Three packets take less time than a bin, so they have no mean."""
    warehouse = Warehouse(experiment(tmp_path, count=count, merged=count))
    (need,) = warehouse.rows("requirement").to_dicts()
    assert need["bin_ms"] > 10
    series = warehouse.rows("throughput_series").filter(pl.col("direction") == "out")
    mean = series["run_mean_mbit_s"].max()
    assert (mean is not None) == is_known
    assert need["mean_mbit_s"] == (pytest.approx(mean, rel=1e-4) if is_known else None)
    assert 0 < (mean or need["peak_mbit_s"]) <= need["peak_mbit_s"]


def test_the_busier_direction_is_the_one_with_more_bytes(tmp_path: Path) -> None:
    """A part of the time that the merged packet took is before the run."""
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    west, east = (host["address"] for host in tiny.HOSTS)
    sent = {0: 3000, 30: 3000, 60: 60_000, 95: 3000}
    back = dict.fromkeys(range(100), 600)
    tiny.table(tmp_path, "captures", "r", "pc3", [tiny.capture(super_packets=1)])
    tiny.table(tmp_path, "flows", "r", "pc3", [
        tiny.flow(east, west, wire_bytes=69_000, largest_packet_bytes=59_986, mss=1460,
                  duration_ns=950 * tiny.MS, last_time=tiny.T0 + 950 * tiny.MS),
        tiny.flow(west, east, wire_bytes=60_000, largest_packet_bytes=586, direction="backward"),
    ])  # fmt: skip
    bins = tiny.bins(east, west, sent) + tiny.bins(west, east, back)
    tiny.table(tmp_path, "throughput", "r", "pc3", bins)
    warehouse = Warehouse(tmp_path)
    (need,) = warehouse.rows("requirement").to_dicts()
    assert need["busier_direction"] == "out"
    series = warehouse.rows("throughput_series").filter(pl.col("direction") == "out")
    assert need["mean_mbit_s"] == pytest.approx(series["run_mean_mbit_s"].max(), rel=1e-4)


@pytest.mark.parametrize("is_run_known", [True, False])
def test_a_mean_that_differs_from_the_totals_is_explained(
    tmp_path: Path, *, is_run_known: bool
) -> None:
    """A part of the first packet's time is before the run; captures alone begin with it."""
    directory = experiment(tmp_path)
    if is_run_known:
        hosts = [{"name": "pc", "site": None, "address": OWN}]
        end = tiny.T0 + COUNT * GAP_MS * tiny.MS
        run = tiny.run("r", baseline=True, hosts=hosts, end=end, completion_s=None)
        tiny.runs(directory, [run])
    warehouse = Warehouse(directory)
    ((mean,), (total,)) = (
        warehouse.rows(query)[column]
        for query, column in (("requirement", "mean_mbit_s"), ("totals", "out_mbit_s"))
    )
    assert (mean < 0.99 * total) == is_run_known
    words = "the mean leaves out those that fall before the run"
    assert (words in page.build(directory).html.replace("\u00a0", " ")) == is_run_known


def test_bytes_are_kept(merged: Path) -> None:
    rows = Warehouse(merged).rows("throughput_series").filter(pl.col("direction") == "out")
    assert rows["wire_bytes"].sum() == COUNT * SIZE


@pytest.mark.parametrize("ends", [(OWN, OWN), (OWN, "127.0.0.1"), ("::1", "::1")])
def test_what_a_host_sends_to_itself_takes_no_time_on_a_wire(
    ends: tuple[str, str], tmp_path: Path
) -> None:
    """One merged packet was on the wire; all others of the capture were on the loopback."""
    directory = experiment(tmp_path, merged=1)
    folder = directory / "tables/run=r/host=pc"
    tables = {name: pl.read_parquet(folder / f"{name}.parquet") for name in ("flows", "throughput")}
    for name, table in tables.items():
        local = table.with_columns(src_ip=pl.lit(ends[0]), dst_ip=pl.lit(ends[1]))
        tables[name] = local
        local.write_parquet(folder / f"{name}.parquet")
    captures = pl.read_parquet(folder / "captures.parquet")
    assert Warehouse(directory).select("select * from shortest_bins").is_empty()
    assert merged_packets.find_merged(captures, *tables.values(), list(ends)) == {}
    one = merged_packets.Merged(SIZE, 500 * tiny.MS)
    spread = merged_packets.spread_merged(tables["throughput"], one)
    assert spread.height == tables["throughput"].height


@pytest.mark.parametrize("silence_ms", [5_000, 3_600_000, 30 * 365 * 86_400_000])
def test_a_silence_is_no_part_of_the_rate_at_which_merged_packets_pass(
    silence_ms: int, tmp_path: Path
) -> None:
    """Nor are packets spread over the years by which a clock was wrong."""
    directory = experiment(tmp_path, silence_ms=silence_ms)
    warehouse = Warehouse(directory)
    (row,) = warehouse.select("select way, largest_bytes, shortest_ns from shortest_bins").rows()
    whole = (COUNT - 1) * GAP_MS
    assert row[2] <= (whole + 1_100) * tiny.MS / COUNT
    tables = [
        pl.read_parquet(directory / f"tables/run=r/host=pc/{name}.parquet")
        for name in ("captures", "flows", "throughput")
    ]
    assert merged_packets.find_merged(*tables, [OWN]) == {row[0]: merged_packets.Merged(*row[1:])}
    rows = warehouse.rows("throughput_series").filter(pl.col("direction") == "out")
    assert rows["wire_bytes"].sum() == COUNT * SIZE
    # The first packet after the silence may have passed at any time in it.
    assert rows["max_mbit_s"].max() <= MBIT_S * GAP_MS / 50 * 1.001


def test_a_lone_merged_packet_passes_in_the_time_without_silences(tmp_path: Path) -> None:
    directory = experiment(tmp_path, silence_ms=30 * 365 * 86_400_000)
    folder = directory / "tables/run=r/host=pc"
    flows = pl.read_parquet(folder / "flows.parquet")
    flows.with_columns(last_time="first_time").write_parquet(folder / "flows.parquet")
    warehouse = Warehouse(directory)
    (shortest,) = warehouse.select("select shortest_ns from shortest_bins").to_series()
    assert shortest <= (COUNT * GAP_MS + 1_100) * tiny.MS
    assert warehouse.rows("throughput_series").height


@pytest.mark.parametrize(
    ("last_ms", "stated_ms"),
    [(0, 86_400_000), (0, 20), (3_600_000, 1_000), (86_399_000, 86_400_000)],
)
def test_a_lone_merged_packet_takes_no_longer_than_around_it_was_something_to_send(
    last_ms: int, stated_ms: int, tmp_path: Path
) -> None:
    """Silences outside the time that run.json states are no part of it, those inside are."""
    end = tiny.T0 + stated_ms * tiny.MS
    tiny.runs(tmp_path, [tiny.run("r", end=end, completion_s=None)])
    west, east = (host["address"] for host in tiny.HOSTS)
    last = tiny.T0 + last_ms * tiny.MS
    tiny.table(tmp_path, "captures", "r", "pc1", [tiny.capture(super_packets=1, last_time=last)])
    tiny.table(tmp_path, "flows", "r", "pc1", [
        tiny.flow(west, east, wire_bytes=SIZE, largest_packet_bytes=SIZE - 14, mss=1460,
                  last_time=tiny.T0, duration_ns=0),
        tiny.flow(east, west, wire_bytes=60, largest_packet_bytes=60, direction="backward",
                  first_time=last, last_time=last, duration_ns=0),
    ])  # fmt: skip
    tiny.table(tmp_path, "throughput", "r", "pc1", [
        *tiny.bins(west, east, {0: SIZE}), *tiny.bins(east, west, {last_ms // 10: 60})
    ])  # fmt: skip
    warehouse = Warehouse(tmp_path)
    (shortest,) = warehouse.select("select shortest_ns from shortest_bins").to_series()
    assert 0 < shortest <= min(stated_ms, 3_100) * tiny.MS
    series = warehouse.rows("throughput_series").filter(pl.col("host") == "pc1")
    assert series.height


def test_whole_packets_keep_their_bins(tmp_path: Path) -> None:
    directory = experiment(tmp_path, size=1_514, merged=0)
    rows = Warehouse(directory).rows("throughput_series")
    assert set(rows["bin_ms"]) == {10.0}
    assert rows["shortest_ms"].null_count() == rows.height
    assert rows["max_mbit_s"].max() == pytest.approx(1_514 * 8e-4)


RANKED = ("peak_by_ranks", "throughput_per_core", "peak_prediction")


def ranked_and_merged(directory: Path, gap_ms: int) -> Path:
    """Makes a sweep over ranks with a merged packet of 65 kB every `gap_ms` at both hosts."""
    ranked.make(directory)
    for path in (directory / "tables").glob("run=*/host=*"):
        run, host = (part.split("=")[1] for part in path.parts[-2:])
        tiny.table(directory, "captures", run, host, [tiny.capture(super_packets=9)])
        ways = [(ranked.PC1, ranked.PC3), (ranked.PC3, ranked.PC1)]
        last = tiny.T0 + 10 * gap_ms * tiny.MS
        tiny.table(directory, "flows", run, host, [
            tiny.flow(*way, wire_bytes=10 * SIZE, last_time=last, mss=1460,
                      largest_packet_bytes=SIZE)
            for way in ways
        ])  # fmt: skip
    return directory


def test_peaks_of_ranks_state_the_shortest_time_whose_rate_is_known(tmp_path: Path) -> None:
    warehouse = Warehouse(ranked_and_merged(tmp_path, 40))
    for query in RANKED:
        rows = warehouse.rows(query)
        assert rows.height, query
        assert set(rows["shortest_ms"]) == {40.0}, query
    assert warehouse.rows("peak_by_ranks")["is_peak_known"].all()


def test_no_peak_of_ranks_is_of_a_shorter_time(tmp_path: Path) -> None:
    directory = ranked_and_merged(tmp_path, 250)
    warehouse = Warehouse(directory)
    for query in RANKED[:2]:
        rows = warehouse.rows(query)
        assert set(rows["shortest_ms"]) == {250.0}, query
        assert not rows["is_peak_known"].any(), query
    assert warehouse.lack("peak_prediction")
    html = page.build(directory).html.replace("\u00a0", " ")
    assert "At the peak" not in html
    assert "The largest peak is" not in html
    assert "peak not known" in html


def test_show_and_report_know_the_same_shortest_bin(merged: Path) -> None:
    warehouse = Warehouse(merged)
    (row,) = warehouse.select("select way, largest_bytes, shortest_ns from shortest_bins").rows()
    tables = {
        name: pl.read_parquet(merged / f"tables/run=r/host=pc/{name}.parquet")
        for name in ("captures", "flows", "throughput")
    }
    found = merged_packets.find_merged(*tables.values(), [OWN])
    assert found == {row[0]: merged_packets.Merged(*row[1:])}
    # older tables lack the largest packet: a bin's mean, which includes link headers, replaces it
    flows = tables["flows"].drop("largest_packet_bytes")
    old = merged_packets.find_merged(tables["captures"], flows, tables["throughput"], [OWN])
    assert old["out"].shortest_ns == pytest.approx(found["out"].shortest_ns, rel=0.001)
    spread = merged_packets.spread_merged(tables["throughput"], found["out"])
    assert spread["wire_bytes"].sum() == COUNT * SIZE
    assert (
        spread.group_by("start_ns").agg(pl.col("wire_bytes").sum())["wire_bytes"].max() < SIZE / 4
    )
