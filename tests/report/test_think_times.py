"""How long answers take, against plain polars over the tables and against hand-made messages."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import tiny
from recomputed import OWNERS, POINT, SITES, assert_steps, counted_runs, table

from flowsweep.warehouse import Warehouse

WEST, EAST = "10.77.1.1", "10.77.2.1"
KEY = ["run", "host", "connection", "direction"]


@pytest.mark.parametrize("side", ["think", "wait"])
def test_each_distribution_is_that_of_the_turns(
    side: str, one_app: Path, warehouse: Warehouse
) -> None:
    end = {"think": "src_ip", "wait": "dst_ip"}[side]
    sites = [pl.col(ip).replace_strict(OWNERS).replace_strict(SITES) for ip in ("src_ip", "dst_ip")]
    own = table(one_app, "flows").filter(
        (pl.col(end).replace_strict(OWNERS) == pl.col("host")) & (sites[0] != sites[1])
    )
    ordered = table(one_app, "messages").sort("first_time", "last_time", "direction")
    connection = ["run", "host", "connection"]
    turns = (
        ordered.with_columns(
            before=pl.col("direction").shift().over(connection),
            ended=pl.col("last_time").cast(pl.Int64).shift().over(connection),
            first=pl.col("first_time").cast(pl.Int64),
        )
        .filter(pl.col("before") != pl.col("direction"))
        .join(own.select(*KEY), on=KEY)
        .join(counted_runs(one_app), on="run")
        .filter(pl.col("first").is_between(pl.col("start"), pl.col("end")))
        .filter((pl.col("run") != "nqueens-rate_10Mbit-r1") | (pl.col("host") != "pc3"))
        .with_columns(time_s=(pl.col("first") - pl.col("ended")) / 1e9)
    )
    rows = warehouse.rows("think_times").filter(pl.col("side") == side)
    assert rows["point"].n_unique() == 9
    answers = turns.filter(pl.col("time_s") >= 0)
    assert_steps(rows, "time_s", answers, [*POINT, "direction"])
    crossed = rows.unique(subset=["point", "direction"])["crossed"].sum()
    assert crossed == turns.filter(pl.col("time_s") < 0).height


def test_a_server_thinks_for_a_while_and_its_client_waits_longer(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    # requests of 1 ms at 0 and 100 ms; 2 ms one way; pc3 thinks for 7 and 9 ms; 2 ms back
    asked = [(0, 1), (100, 101)]
    answered = [(8, 9), (110, 112)]
    for host, there, back in (("pc1", 0, 4), ("pc3", 2, 2)):
        tiny.table(tmp_path, "captures", "r", host, [tiny.capture()])
        tiny.table(tmp_path, "throughput", "r", host, tiny.bins(WEST, EAST, {0: 1}))
        tiny.table(tmp_path, "flows", "r", host, [
            tiny.flow(WEST, EAST),
            tiny.flow(EAST, WEST, direction="backward", src_port=2000, dst_port=1000),
        ])  # fmt: skip
        tiny.table(tmp_path, "messages", "r", host, [
            tiny.message(100, direction=direction, first_time=tiny.T0 + (first + late) * tiny.MS,
                         last_time=tiny.T0 + (last + late) * tiny.MS)
            for direction, spans, late in (("forward", asked, there), ("backward", answered, back))
            for first, last in spans
        ])  # fmt: skip
    rows = Warehouse(tmp_path).rows("think_times")
    columns = ("side", "direction", "time_s", "share", "answers")
    assert rows.select(columns).rows() == [
        ("think", "backward", 0.007, 0.5, 1),
        ("think", "backward", 0.009, 1.0, 1),
        # the client thinks before its next request
        ("think", "forward", 0.087, 1.0, 1),
        ("wait", "backward", 0.011, 0.5, 1),
        ("wait", "backward", 0.013, 1.0, 1),
        ("wait", "forward", 0.091, 1.0, 1),
    ]
