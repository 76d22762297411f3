"""The distribution of throughput at every point, against plain polars over the tables."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import tiny
from recomputed import POINT, SITES, assert_steps, counted_runs, table

from flowsweep.warehouse import Warehouse

WEST, EAST = "10.77.1.1", "10.77.2.1"
BIN_NS = 10_000_000


@pytest.fixture(scope="module")
def rows(warehouse: Warehouse) -> pl.DataFrame:
    return warehouse.rows("throughput_cdf")


def binned(directory: Path, sent: pl.DataFrame, width: int) -> pl.DataFrame:
    """Returns Mbit/s of every bin of every run and series, empty bins included.

    Args:
        directory: The experiment.
        sent: Bins with run, `series` and wire_bytes.
        width: Width of a bin, in bins of the tables.
    """
    found = []
    for run in counted_runs(directory).iter_rows(named=True):
        first, end = run["start"] // BIN_NS, -(-run["end"] // BIN_NS)
        own = sent.filter(pl.col("run") == run["run"]).with_columns(
            bin=pl.col("bin_start").cast(pl.Int64) // BIN_NS - first
        )
        bins = end - first
        for (series,), frame in own.filter(pl.col("bin").is_between(0, bins - 1)).group_by(
            "series"
        ):
            sums = dict(
                frame.group_by(pl.col("bin") // width).agg(pl.col("wire_bytes").sum()).rows()
            )
            for step in range(-(-bins // width)):
                rate = sums.get(step, 0) * 8e3 / (width * BIN_NS)
                found.append(run | {"series": series, "mbit_s": rate})
    return pl.DataFrame(found)


@pytest.mark.parametrize("width", [1, 10, 100])
@pytest.mark.parametrize("direction", ["out", "in"])
def test_each_distribution_is_that_of_the_bins_of_a_host(
    direction: str, width: int, one_app: Path, rows: pl.DataFrame
) -> None:
    side = {"out": "src_ip", "in": "dst_ip"}[direction]
    is_own = pl.col(side) == pl.lit("10.77.2.1")
    bins = table(one_app, "throughput").filter((pl.col("host") == "pc3") & is_own)
    found = binned(one_app, bins.with_columns(series=pl.lit("pc3")), width)
    shown = rows.filter(
        (pl.col("host") == "pc3") & (pl.col("direction") == direction)
        & (pl.col("bin_ms") == 10 * width)
    )  # fmt: skip
    assert shown["point"].n_unique() == 9
    assert_steps(shown, "mbit_s", found, POINT, step=1.0112 + 1e-6)


def test_each_distribution_between_sites_is_that_of_what_they_send(
    one_app: Path, rows: pl.DataFrame
) -> None:
    owners = {"10.77.1.1": "pc1", "10.77.1.2": "pc2", "10.77.2.1": "pc3", "10.77.2.2": "pc4"}
    places = {address: SITES[host] for address, host in owners.items()}
    bins = table(one_app, "throughput").filter(
        (pl.col("src_ip").replace_strict(owners) == pl.col("host"))
        & (pl.col("src_ip").replace_strict(places) == "east")
        & (pl.col("dst_ip").replace_strict(places) == "west")
    )
    found = binned(one_app, bins.with_columns(series=pl.lit("east")), 1)
    shown = rows.filter((pl.col("from_site") == "east") & (pl.col("bin_ms") == 10))
    assert set(shown["to_site"]) == {"west"}
    assert_steps(shown, "mbit_s", found, POINT, step=1.0112 + 1e-6)


def test_the_tail_is_what_is_exceeded_so_rarely(one_app: Path, rows: pl.DataFrame) -> None:
    bins = table(one_app, "throughput").filter(
        (pl.col("host") == "pc1") & (pl.col("src_ip") == WEST)
    )
    found = binned(one_app, bins.with_columns(series=pl.lit("pc1")), 1)
    shown = rows.filter(
        (pl.col("host") == "pc1") & (pl.col("direction") == "out") & (pl.col("bin_ms") == 10)
    )
    for key, frame in shown.group_by(POINT):
        values = sorted(
            found.filter([pl.col(k) == v for k, v in zip(POINT, key, strict=True)])["mbit_s"]
        )
        row = frame.row(0, named=True)
        for column, beyond in (
            ("p99_mbit_s", 0.01),
            ("p999_mbit_s", 0.001),
            ("p9999_mbit_s", 1e-4),
        ):
            if len(values) * beyond < 1:
                assert row[column] is None
                continue
            true = values[-int(len(values) * beyond + 1e-9) - 1]
            assert true - 1e-6 <= row[column] <= true * 1.0112 + 1e-6


def test_hosts_of_other_names_are_added_up_by_their_place(tmp_path: Path) -> None:
    runs = []
    for run, names in (("a", ("n1", "n7")), ("b", ("n4", "n2"))):
        hosts = [
            {"name": name, "site": site, "address": address}
            for name, site, address in zip(names, ("west", "east"), (WEST, EAST), strict=True)
        ]
        runs.append(tiny.run(run, baseline=True, hosts=hosts))
        tiny.table(tmp_path, "captures", run, names[0], [tiny.capture()])
        sizes = {0: 1250} if run == "a" else {0: 2500, 1: 2500}
        tiny.table(tmp_path, "throughput", run, names[0], tiny.bins(WEST, EAST, sizes))
    tiny.runs(tmp_path, runs)
    found = (
        Warehouse(tmp_path)
        .rows("throughput_cdf")
        .filter((pl.col("direction") == "out") & (pl.col("bin_ms") == 10))
    )
    assert found.select("host", "mbit_s", "share", "share_low", "share_high", "runs").rows() == [
        ("west 1", 0.0, 0.985, 0.98, 0.99, 2),
        ("west 1", 1.0, 0.99, 0.98, 1.0, 2),
        ("west 1", 2.0, 1.0, 1.0, 1.0, 2),
    ]


def test_runs_without_a_record_stand_alone(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [{"run": run, "status": "no record"} for run in ("a", "b")])
    for run, size in (("a", 1250), ("b", 2500)):
        tiny.table(tmp_path, "captures", run, "x", [tiny.capture()])
        tiny.table(tmp_path, "flows", run, "x", [tiny.flow(WEST, EAST)])
        tiny.table(tmp_path, "throughput", run, "x", tiny.bins(WEST, EAST, {0: size}))
    found = (
        Warehouse(tmp_path)
        .rows("throughput_cdf")
        .filter((pl.col("direction") == "out") & (pl.col("host") == "x") & (pl.col("bin_ms") == 10))
    )
    assert found.select("run", "mbit_s", "runs").rows() == [
        ("a", 0.0, 1), ("a", 1.0, 1), ("b", 0.0, 1), ("b", 2.0, 1)
    ]  # fmt: skip
