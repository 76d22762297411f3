"""Gaps between packets at every point, against plain polars over the tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tiny
from recomputed import OWNERS, POINT, SITES, counted_runs, table

from flowsweep.warehouse import Warehouse

WEST, EAST = "10.77.1.1", "10.77.2.1"
KEY = ["run", "host", "connection", "direction"]
#: The capture whose grade forbids claims on gaps.
DAMAGED = {"run": "nqueens-rate_10Mbit-r1", "host": "pc3"}


@pytest.fixture(scope="module")
def gaps(one_app: Path) -> pl.DataFrame:
    """Returns buckets of gaps between the sites, from the receiver's capture, with their stream."""
    flows = table(one_app, "flows").with_columns(
        sender=pl.col("src_ip").replace_strict(OWNERS),
        receiver=pl.col("dst_ip").replace_strict(OWNERS),
        is_larger=pl.col("payload_bytes")
        == pl.col("payload_bytes").max().over("run", "host", "connection"),
    )
    crossing = flows.filter(
        (pl.col("receiver") == pl.col("host"))
        & (pl.col("sender").replace_strict(SITES) != pl.col("receiver").replace_strict(SITES))
        & ~((pl.col("run") == DAMAGED["run"]) & (pl.col("host") == DAMAGED["host"]))
    )
    return (
        table(one_app, "intervals")
        .join(crossing.select(*KEY, "is_larger"), on=KEY)
        .join(counted_runs(one_app), on="run")
        .with_columns(stream=pl.when("is_larger").then(pl.lit("data")).otherwise(pl.lit("replies")))
    )


def test_every_point_has_all_its_gaps(warehouse: Warehouse, gaps: pl.DataFrame) -> None:
    rows = warehouse.rows("packet_intervals")
    assert rows["point"].n_unique() == 9
    keys = [*POINT, "stream"]
    found = rows.group_by(keys).agg(pl.col("count").sum(), pl.col("of_count").first()).sort(keys)
    expected = gaps.group_by(keys).agg(pl.col("count").sum()).sort(keys)
    assert found.select(*keys, "count").rows() == expected.rows()
    assert found["of_count"].to_list() == found["count"].to_list()


def test_shares_of_a_bucket_are_those_of_the_runs(warehouse: Warehouse, gaps: pl.DataFrame) -> None:
    for row in warehouse.rows("packet_intervals").rows(named=True)[::7]:
        own = gaps.filter(*(pl.col(key) == row[key] for key in [*POINT, "stream"])).with_columns(
            middle=(pl.col("bucket_low_ns") + pl.col("bucket_high_ns")) / 2e3
        )
        inside = pl.col("middle").is_between(row["low_us"], row["high_us"], closed="left")
        if row["high_us"] == 0:
            inside = pl.col("bucket_low_ns") == 0
        else:
            inside &= pl.col("bucket_low_ns") > 0
        shares = own.group_by("run").agg(
            share=pl.col("count").filter(inside).sum() / pl.col("count").sum()
        )["share"]
        whole = own.filter(inside)["count"].sum() / own["count"].sum()
        assert (row["share"], row["share_low"], row["share_high"]) == pytest.approx(
            (whole, shares.min(), shares.max()), abs=6e-7
        ), row
        below = own.filter((pl.col("bucket_low_ns") == 0) | (pl.col("middle") < row["high_us"]))[
            "count"
        ].sum()
        assert row["share_below"] == pytest.approx(below / own["count"].sum(), abs=6e-7)


def test_shares_near_a_predicted_place_are_those_of_the_buckets_there(
    warehouse: Warehouse, gaps: pl.DataFrame
) -> None:
    rows = warehouse.rows("packet_intervals").unique(subset=["point", "stream"])
    for row in rows.rows(named=True):
        own = gaps.filter(*(pl.col(key) == row[key] for key in [*POINT, "stream"]))
        frame_us = 1514 * 8 / row["rate_mbit_s"]
        for name, low, high in (
            ("back_to_back_share", -1.0, frame_us * 1.25),
            ("near_serialisation_share", frame_us / 1.25, frame_us * 1.25),
            ("near_rtt_share", row["rtt_ms"] * 1e3 / 1.25, row["rtt_ms"] * 1e3 * 1.25),
        ):
            inside = (pl.col("bucket_low_ns") >= low * 1e3) & (
                pl.col("bucket_high_ns") <= high * 1e3
            )
            touching = (pl.col("bucket_high_ns") > low * 1e3) & (
                pl.col("bucket_low_ns") <= high * 1e3
            )
            for column, which in ((name, inside), (f"{name}_most", touching)):
                if row["back_to_back_us"] is None and name != "near_rtt_share":
                    # Bare acknowledgements are not full frames.
                    assert (row["stream"], row[column]) == ("replies", None)
                    continue
                share = own.filter(which)["count"].sum() / own["count"].sum()
                # rate and RTT are rounded to four decimals
                assert row[column] == pytest.approx(share, abs=2e-3), (column, row["point"])


@pytest.mark.parametrize(
    ("asked", "back_to_back_us"),
    [({}, 121.12), ({"back": {"rate_bit_s": 1e8}}, 121.12), ({"back": {"rate_bit_s": 1e6}}, None)],
)
def test_a_slower_way_back_leaves_no_one_gap_to_predict(
    tmp_path: Path, asked: dict[str, Any], back_to_back_us: float | None
) -> None:
    link = {"between": ["west", "east"], "rate_bit_s": 1e8, "links": 1} | asked
    tiny.runs(tmp_path, [tiny.run("r", json=json.dumps({"links": [link]}))])
    tiny.table(tmp_path, "captures", "r", "pc3", [tiny.capture()])
    tiny.table(tmp_path, "flows", "r", "pc3", [tiny.flow(WEST, EAST)])
    bucket = {"bucket_low_ns": 120_000, "bucket_high_ns": 122_000, "count": 9}
    key = {"connection": 0, "direction": "forward"}
    tiny.table(tmp_path, "intervals", "r", "pc3", [key | bucket])
    (row,) = Warehouse(tmp_path).rows("packet_intervals").rows(named=True)
    assert row["back_to_back_us"] == back_to_back_us
    assert row["back_to_back_share"] == (None if back_to_back_us is None else 1.0)


def test_runs_without_a_record_stand_alone(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [{"run": run, "status": "no record"} for run in ("a", "b")])
    key = {"connection": 0, "direction": "forward"}
    for run, low in (("a", 64_000), ("b", 120_000)):
        tiny.table(tmp_path, "captures", run, "x", [tiny.capture()])
        tiny.table(tmp_path, "flows", run, "x", [tiny.flow(WEST, EAST, packets=4)])
        bucket = {"bucket_low_ns": low, "bucket_high_ns": low + 1000, "count": 3}
        tiny.table(tmp_path, "intervals", run, "x", [key | bucket])
    found = Warehouse(tmp_path).rows("packet_intervals")
    assert found.select("run", "count", "share", "runs").rows() == [
        ("a", 3, 1.0, 1), ("b", 3, 1.0, 1)
    ]  # fmt: skip
