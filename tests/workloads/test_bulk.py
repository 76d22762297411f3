"""Bulk transfer: identical files; near the line rate at high RTT and loss, unlike TCP."""

from __future__ import annotations

import polars as pl
import pytest

from .launch import alone, captured, counts_agree

SENDER, RECEIVER = "10.77.1.1", "10.77.2.1"


@pytest.mark.parametrize(
    "problem",
    [
        {"transport": "lambda", "megabytes": 3.0001, "start_mbit_s": 50},
        {"transport": "lambda", "megabytes": 2, "source": "disk", "target": "disk"},
        {"transport": "lambda", "megabytes": 2, "source": "disk", "both_ways": True},
        {"transport": "tcp", "megabytes": 5, "source": "disk", "target": "disk"},
        {"transport": "tcp", "megabytes": 5, "both_ways": True},
        {"transport": "tcp", "megabytes": 0.001, "beside": "tcp"},
    ],
)
def test_what_arrives_is_what_was_sent(tmp_path, problem):
    done, record = alone("bulk", {**problem, "folder": str(tmp_path)}, tmp_path, ranks=2)
    assert record is not None, done.stderr
    answer = record["answer"]
    assert answer["identical"] is True
    assert record["correct"] is True
    assert len(answer["streams"]) == 1 + problem.get("both_ways", False)
    assert record["completion_s"] > 0
    if problem["transport"] == "tcp":
        assert counts_agree(record)


@pytest.mark.parametrize("transport", ["lambda", "tcp"])
def test_a_content_of_many_files(tmp_path, transport):
    """EVL: 3,000 files of 75 MB. Files arrive in order, each with its arrival time."""
    problem = {"transport": transport, "megabytes": 3, "start_mbit_s": 50, "files": 24}
    where = {"source": "disk", "target": "disk", "folder": str(tmp_path)}
    done, record = alone("bulk", {**problem, **where}, tmp_path, ranks=4)
    assert record is not None, done.stderr
    assert record["correct"] is True
    moved = pl.DataFrame(record["transfers"])
    assert set(moved["name"]) == {"file"}
    assert set(moved["bytes"]) == {125_000}
    by_pair = moved.group_by("from", "to", maintain_order=True).agg("start_s", "end_s")
    assert by_pair.select("from", "to").sort("from").rows() == [(0, 2), (1, 3)]
    for starts, ends in by_pair.select("start_s", "end_s").iter_rows():
        assert len(starts) == 24
        assert starts == sorted(starts)
        assert ends == sorted(ends)
        assert all(start < end for start, end in zip(starts, ends, strict=True))
        assert ends[-1] <= record["completion_s"] + 1e-6


def test_files_that_do_not_divide_the_content(tmp_path):
    done, record = alone("bulk", {"megabytes": 1, "files": 7}, tmp_path, ranks=2)
    assert record is None
    assert "files: found 7, expected a number that divides the 1000000 bytes" in done.stderr


def test_streams_beside_each_other(tmp_path):
    problem = {"transport": "lambda", "megabytes": 1, "start_mbit_s": 40}
    done, record = alone("bulk", problem, tmp_path, ranks=4)
    assert record is not None, done.stderr
    pairs = [(stream["from"], stream["to"]) for stream in record["answer"]["streams"]]
    assert pairs == [(0, 2), (1, 3)]
    assert record["correct"] is True


def test_plain_udp_tells_what_arrived(tmp_path, measurement):
    def run():
        problem = {"transport": "udp", "megabytes": 1, "start_mbit_s": 20}
        done, record = alone("bulk", problem, tmp_path, ranks=2)
        assert record is not None, done.stderr
        return record["answer"]["streams"][0]

    def check(stream):
        assert 0.9 < stream["arrived_share"] <= 1
        assert stream["mbit_s"] == pytest.approx(20 * stream["arrived_share"], rel=0.2)

    measurement(run).holds(check)


LINK_MBIT_S = 60
BLOCK_SHARE = 1456 / 1472  # payload without the datagram's header
STEP_NS = 100_000_000


@pytest.fixture(scope="module")
def measured(namespaces, tmp_path_factory, measurement):
    """CAVEwave's RTT, one packet in a thousand lost, a link of 60 Mbit/s."""
    where = ("hosts=1", "rtt=78.3ms", f"rate={LINK_MBIT_S}Mbit/s")

    def run(megabytes: int, *axes: str, **problem: str):
        given = {"megabytes": megabytes, "start_mbit_s": 57, **problem}
        return captured("bulk", given, tmp_path_factory.mktemp("bulk"), *where, *axes)

    return {
        "lambda": measurement(lambda: run(40, "loss=0.1%", transport="lambda")),
        # 11 of 11,000 segments are lost; with half as many it might be none before the last ones
        "tcp": measurement(lambda: run(16, "loss=0.1%", transport="tcp")),
        "beside": measurement(lambda: run(25, transport="lambda", beside="tcp")),
    }


def arriving(run, protocol: str) -> pl.DataFrame:
    """Returns packets with payload in the one large flow of a protocol to pc3, once each."""
    flows = run.table("pc3", "flows", "--packets").filter(
        (pl.col("src_ip") == SENDER)
        & (pl.col("protocol") == protocol)
        & (pl.col("payload_bytes") > 1e6)
    )
    assert flows.height == 1
    packets = run.table("pc3", "packets", "--packets").filter(pl.col("payload_bytes") > 0)
    return packets.join(flows.select("connection", "direction"), on=["connection", "direction"])


def typical_mbit_s(packets: pl.DataFrame, column: str) -> float:
    """Returns the median over the tenths of a second from first to last packet, empty ones too.

    Interruptions by a busy machine, and the end, change only a few of them.
    """
    steps = packets.group_by(pl.col("time").dt.epoch("ns") // STEP_NS).agg(pl.col(column).sum())
    steps = steps.sort("time")
    whole = steps["time"][-1] - steps["time"][0] + 1
    rates = sorted([0] * (whole - steps.height) + steps[column].to_list())
    return 8e-6 * rates[len(rates) // 2] / (STEP_NS / 1e9)


def test_lambdastream_fills_the_link_and_tcp_does_not(measured):
    """EVL: 9.2 of 10 Gbit/s at 78.3 ms. TCP: 1.22 segments / (RTT sqrt(loss)) = 5.7 Mbit/s."""

    def check_lambda(run):
        packets = arriving(run, "udp")
        assert typical_mbit_s(packets, "wire_bytes") >= 0.9 * LINK_MBIT_S
        # The content alone, without headers.
        assert BLOCK_SHARE * typical_mbit_s(packets, "payload_bytes") >= 0.9 * LINK_MBIT_S

    def check_tcp(run):
        assert typical_mbit_s(arriving(run, "tcp"), "wire_bytes") < 0.6 * LINK_MBIT_S

    measured["lambda"].holds(check_lambda)
    measured["tcp"].holds(check_tcp)
    assert all(transport.value.application["correct"] for transport in measured.values())


def test_captured_datagrams_are_those_that_were_sent(measured):
    def check(run):
        data = run.table("pc1", "flows").filter(
            (pl.col("src_ip") == SENDER) & (pl.col("protocol") == "udp")
        )
        sent_bytes = run.application["ranks"][0]["to"]["1"]["bytes"]
        # Rank 0 also counts a few messages of the TCP connection.
        assert 0 <= sent_bytes - data["payload_bytes"].sum() < 2000
        # One packet in a thousand is lost, and each is sent again.
        repeated = run.application["answer"]["streams"][0]["repeated"]
        assert 10 <= repeated <= 80

    measured["lambda"].holds(check)


def test_what_is_reported_of_the_tcp_flow_beside_a_transfer_is_what_arrived(measured):
    def check(run):
        stream = run.application["answer"]["streams"][0]
        data, beside = arriving(run, "udp"), arriving(run, "tcp")
        begin, end = data["time"].min(), data["time"].max()
        during = beside.filter(pl.col("time").is_between(begin, end))
        seconds = (end - begin).total_seconds()
        # Includes retransmissions, and data that TCP had not handed on yet.
        mbit_s = 8e-6 * during["payload_bytes"].sum() / seconds
        assert mbit_s == pytest.approx(stream["beside_mbit_s"], rel=0.15, abs=1)
        # Both continue: neither pushes the other off the link, and together they fill it.
        assert stream["beside_mbit_s"] > 0.05 * LINK_MBIT_S
        assert stream["mbit_s"] > 0.25 * LINK_MBIT_S
        both = pl.concat([data, during])
        assert typical_mbit_s(both, "wire_bytes") >= 0.9 * LINK_MBIT_S

    measured["beside"].holds(check)
