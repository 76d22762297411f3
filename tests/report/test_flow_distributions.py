"""Durations, sizes and rates of flows at every point, against plain polars over the tables."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import tiny
from recomputed import POINT, assert_steps, counted_runs, own_flows

from flowsweep.warehouse import Warehouse

WEST, EAST = "10.77.1.1", "10.77.2.1"
NAMES = ("flow_durations", "flow_sizes", "flow_rates")


@pytest.fixture(scope="module")
def flows(one_app: Path) -> pl.DataFrame:
    return (
        own_flows(one_app)
        .join(counted_runs(one_app), on="run")
        .with_columns(
            duration_s=pl.col("duration_ns") / 1e9,
            payload_bytes=pl.col("payload_bytes").cast(pl.Float64),
            mbit_s=pl.col("payload_bytes") * 8e3 / pl.col("duration_ns"),
        )
    )


@pytest.mark.parametrize(
    ("name", "column"),
    [("flow_durations", "duration_s"), ("flow_rates", "mbit_s"), ("flow_sizes", "payload_bytes")],
)
def test_each_distribution_is_that_of_the_flows(
    name: str, column: str, warehouse: Warehouse, flows: pl.DataFrame
) -> None:
    rows = warehouse.rows(name)
    assert rows["point"].n_unique() == 9
    assert_steps(rows, column, flows, [*POINT, "direction"])
    for key, frame in rows.group_by(*POINT, "direction"):
        group = flows.filter(
            [pl.col(k) == v for k, v in zip([*POINT, "direction"], key, strict=True)]
        )
        assert frame["flows"].sum() == group.height == frame["of_flows"][0]


@pytest.mark.parametrize("name", NAMES)
def test_flows_that_the_capture_does_not_show_whole_are_counted(name: str, tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    tiny.table(tmp_path, "captures", "r", "pc1", [tiny.capture(truncated_tail=True)])
    kinds = [("syn", "fin"), ("syn", "rst"), ("syn", "open"), ("midstream", "fin"),
             ("midstream", "open")]  # fmt: skip
    tiny.table(tmp_path, "flows", "r", "pc1", [
        tiny.flow(WEST, EAST, connection=n, src_port=n, start=start, end=end)
        for n, (start, end) in enumerate(kinds)
    ])  # fmt: skip
    rows = Warehouse(tmp_path).rows(name)
    assert rows["flows"].sum() == 5
    assert rows["censored_flows"].sum() == 3
    if name != "flow_sizes":
        (row,) = rows.rows(named=True)
        assert (row["open_flows"], row["begun_before_flows"], row["cut_flows"]) == (2, 2, 2)
        assert row["of_censored_flows"] == 3


def test_a_flow_of_one_packet_has_no_rate(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    tiny.table(tmp_path, "flows", "r", "pc1", [
        tiny.flow(WEST, EAST, duration_ns=0),
        tiny.flow(WEST, EAST, connection=1, src_port=1, payload_bytes=0),
        tiny.flow(WEST, EAST, connection=2, src_port=2, payload_bytes=1_000_000),
    ])  # fmt: skip
    warehouse = Warehouse(tmp_path)
    assert warehouse.rows("flow_rates").select("mbit_s", "share").rows() == [(0, 0.5), (16, 1.0)]
    assert warehouse.rows("flow_durations").select("duration_s", "share").rows() == [
        (0, 0.333333), (0.5, 1.0)
    ]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_runs_without_a_record_stand_alone(name: str, tmp_path: Path) -> None:
    tiny.runs(tmp_path, [{"run": run, "status": "no record"} for run in ("a", "b")])
    for run, size in (("a", 1_000), ("b", 2_000)):
        flow = tiny.flow(WEST, EAST, payload_bytes=size, duration_ns=size * tiny.MS)
        tiny.table(tmp_path, "flows", run, "pc1", [flow])
    rows = Warehouse(tmp_path).rows(name).select("run", "runs", "share").rows()
    assert rows == [("a", 1, 1.0), ("b", 1, 1.0)]
