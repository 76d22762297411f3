"""PingPong: replies equal requests, and no other message is in transit meanwhile."""

from __future__ import annotations

import polars as pl
import pytest

from .launch import alone, captured, counts_agree

SIZE = 200_000
ROUNDS = 5  # one is a warm-up
WEST, EAST = "10.77.1.1", "10.77.2.2"


def test_sizes_are_timed_one_after_the_other(tmp_path):
    sizes = [0, 1, 1000, 300_000]
    problem = {"message_bytes": sizes, "repetitions": 3}
    done, record = alone("pingpong", problem, tmp_path, ranks=3)
    assert record is not None, done.stderr
    assert record["correct"] is True
    table = record["answer"]["sizes"]
    assert [row["message_bytes"] for row in table] == sizes
    assert all(0 < row["least_s"] <= row["mean_s"] <= row["most_s"] for row in table)
    assert counts_agree(record)
    # One warm-up round and three counted ones, in each direction.
    assert record["ranks"][0]["to"]["2"]["messages"] >= 16
    assert sum(span["bytes"] for span in record["transfers"]) == 2 * 4 * sum(sizes)


@pytest.fixture(scope="module")
def run(namespaces, tmp_path_factory):
    """Few messages over a long path."""
    problem = {"message_bytes": SIZE, "repetitions": ROUNDS - 1}
    return captured("pingpong", problem, tmp_path_factory.mktemp("pingpong"), "rtt=20ms")


def test_one_message_at_a_time_each_way(run):
    assert run.application["correct"] is True
    ends = [pl.col("src_ip").is_in([WEST, EAST]), pl.col("dst_ip").is_in([WEST, EAST])]
    flows = run.table("pc4", "flows", "--packets").filter(*ends)
    packets = run.table("pc4", "packets", "--packets")
    data = packets.join(flows, on=["connection", "direction"], suffix="_flow").sort("packet")
    # MPI's own messages are short.
    data = data.filter(pl.col("payload_bytes") > 200)
    # A stall may cause retransmissions.
    end = pl.col("seq") + pl.col("payload_bytes")
    seen = end.cum_max().shift(1).over("connection", "direction")
    data = data.filter((end > seen).or_(seen.is_null()))
    turns = (
        data.with_columns(pl.col("src_ip").rle_id().alias("turn"))
        .group_by("turn")
        .agg(pl.col("payload_bytes").sum(), pl.col("src_ip").first())
    )
    messages = turns.filter(pl.col("payload_bytes") > SIZE // 2).sort("turn")
    assert messages.height == 2 * ROUNDS
    assert messages["src_ip"].to_list() == ROUNDS * [WEST, EAST]
    assert messages["payload_bytes"].min() >= 0.99 * SIZE
    assert messages["payload_bytes"].max() <= 1.02 * SIZE
