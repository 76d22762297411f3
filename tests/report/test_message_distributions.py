"""Sizes of messages and their number over time, at every point, against plain polars."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import tiny
from recomputed import OWNERS, POINT, SITES, assert_steps, counted_runs, own_flows, table

from flowsweep.warehouse import Warehouse

WEST, EAST = "10.77.1.1", "10.77.2.1"
KEY = ["run", "host", "connection", "direction"]


@pytest.fixture(scope="module")
def messages(one_app: Path) -> pl.DataFrame:
    """Returns messages between the sites from their sender's capture, within their run's time."""
    crossing = own_flows(one_app).filter(
        pl.col("src_ip").replace_strict(OWNERS).replace_strict(SITES)
        != pl.col("dst_ip").replace_strict(OWNERS).replace_strict(SITES)
    )
    return (
        table(one_app, "messages")
        .join(crossing.select(*KEY), on=KEY)
        .join(counted_runs(one_app), on="run")
        .with_columns(first_ns=pl.col("first_time").cast(pl.Int64))
        .filter(pl.col("first_ns").is_between(pl.col("start"), pl.col("end")))
        # without the capture that has drops
        .filter((pl.col("run") != "nqueens-rate_10Mbit-r1") | (pl.col("host") != "pc3"))
    )


def test_each_distribution_is_that_of_the_messages(
    warehouse: Warehouse, messages: pl.DataFrame
) -> None:
    rows = warehouse.rows("message_sizes")
    assert rows["point"].n_unique() == 9
    assert_steps(rows, "bytes", messages, [*POINT, "direction"])


def test_quantiles_and_rates_of_a_point_are_those_of_its_messages(
    warehouse: Warehouse, messages: pl.DataFrame
) -> None:
    for row in warehouse.rows("message_rate").rows(named=True):
        own = messages.filter(*(pl.col(key) == row[key] for key in POINT))
        assert row["messages"] == own.height
        assert row["mean_bytes"] == pytest.approx(own["bytes"].mean(), abs=0.06)
        assert row["max_bytes"] == own["bytes"].max()
        sizes = sorted(own["bytes"])
        for column, share in (("p10_bytes", 0.1), ("p50_bytes", 0.5), ("p90_bytes", 0.9),
                              ("p99_bytes", 0.99)):  # fmt: skip
            true = sizes[-int(-share * len(sizes) // 1) - 1]
            assert true <= row[column] <= true * 1.0112
        rates = own.group_by("run").agg(
            rate=pl.len() / ((pl.col("end") - pl.col("start")).first() / 1e9)
        )["rate"]
        assert row["messages_s"] == pytest.approx(rates.median(), abs=1e-4)
        assert (row["messages_s_min"], row["messages_s_max"]) == pytest.approx(
            (rates.min(), rates.max()), abs=1e-4
        )


def test_each_step_has_the_messages_that_began_in_it(
    warehouse: Warehouse, messages: pl.DataFrame, one_app: Path
) -> None:
    runs = counted_runs(one_app)
    rows = warehouse.rows("message_rate_series")
    assert rows["point"].n_unique() == 9
    for row in rows.rows(named=True)[::11]:
        counts = []
        for run in runs.filter(*(pl.col(key) == row[key] for key in POINT)).rows(named=True):
            length = (run["end"] - run["start"]) / 1e9
            if length <= row["start_s"] + 1e-9:
                continue
            since = (pl.col("first_ns") - run["start"]) / 1e9
            inside = since.is_between(row["start_s"] - 1e-10, row["start_s"] + 0.01 - 1e-10, "left")
            counts.append(messages.filter(pl.col("run") == run["run"]).filter(inside).height)
        assert (row["runs"], row["messages"]) == (len(counts), sum(counts)), row
        # The last step of a run includes the silence after it.
        assert row["messages_s"] == pytest.approx(sum(counts) / len(counts) / 0.01, abs=1e-3)
        assert row["messages_s_min"] == pytest.approx(min(counts) / 0.01, abs=1e-3)
        assert row["messages_s_max"] == pytest.approx(max(counts) / 0.01, abs=1e-3)


def test_steps_of_runs_of_other_lengths_are_added_up(tmp_path: Path) -> None:
    # 3 s in steps of 10 ms, 30 s in steps of 100 ms
    tiny.runs(tmp_path, [
        tiny.run(run, baseline=True, end=tiny.T0 + length * 1000 * tiny.MS)
        for run, length in (("short", 3), ("long", 30))
    ])  # fmt: skip
    for run in ("short", "long"):
        tiny.table(tmp_path, "captures", run, "pc3", [tiny.capture()])
        tiny.table(tmp_path, "throughput", run, "pc3", tiny.bins(EAST, WEST, {0: 1}))
        tiny.table(tmp_path, "flows", run, "pc3", [tiny.flow(EAST, WEST)])
        tiny.table(tmp_path, "messages", run, "pc3", [
            tiny.message(100, first_time=tiny.T0 + at * tiny.MS) for at in (0, 15, 2_950, 3_000)
        ])  # fmt: skip
    rows = Warehouse(tmp_path).rows("message_rate_series")
    assert rows.height == 300
    busy = rows.filter(pl.col("messages") > 0)
    columns = ("start_s", "runs", "messages", "bytes", "messages_s", "messages_s_min",
               "messages_s_max")  # fmt: skip
    assert busy.select(columns).rows() == [
        (0.0, 2, 4, 400, 20.0, 20.0, 20.0),
        # a message that begins at the very end of a run belongs to its last step
        (2.9, 2, 3, 300, 15.0, 10.0, 20.0),
        (3.0, 1, 1, 100, 10.0, 10.0, 10.0),
    ]
