"""Bulk transfer: files identical; near the line rate at high RTT and loss, where TCP is not."""

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


@pytest.mark.parametrize(
    ("problem", "ranks", "message"),
    [
        ({"transport": "carrier pigeon"}, 2, "expected one of lambda, tcp, udp"),
        ({"megabytes": 0}, 2, "megabytes: found 0, expected a number from 0.001"),
        ({"folder": "/nowhere"}, 2, "folder: found '/nowhere', expected a folder"),
        ({}, 3, "ranks: found 3, expected an even number: senders and receivers"),
    ],
)
def test_bad_parameters_end_at_once_with_a_message(tmp_path, problem, ranks, message):
    done, record = alone("bulk", problem, tmp_path, ranks=ranks)
    assert done.returncode != 0
    assert record is None
    assert message in done.stderr


@pytest.fixture(scope="module")
def measured(namespaces, tmp_path_factory, measurement):
    """CAVEwave's round-trip time, one packet in a thousand lost, a link of 60 Mbit/s."""
    where = ("hosts=1", "rtt=78.3ms", "loss=0.1%", "rate=60Mbit/s")

    def run(transport: str, megabytes: int):
        problem = {"transport": transport, "megabytes": megabytes, "start_mbit_s": 57}
        return captured("bulk", problem, tmp_path_factory.mktemp("bulk"), *where)

    return {
        "lambda": measurement(lambda: run("lambda", 40)),
        "tcp": measurement(lambda: run("tcp", 15)),
    }


def line_share(run, protocol: str) -> float:
    """What the receiver's capture shows of the link's 60 Mbit/s: frames, first to last packet."""
    flows = run.table("pc3", "flows").filter(
        (pl.col("src_ip") == SENDER)
        & (pl.col("protocol") == protocol)
        & (pl.col("payload_bytes") > 1e6)
    )
    assert flows.height == 1
    seconds = flows["duration_ns"][0] / 1e9
    return 8 * flows["wire_bytes"][0] / seconds / 60e6


def test_lambdastream_fills_the_link_and_tcp_does_not(measured):
    def check_lambda(run):
        share = line_share(run, "udp")
        assert share >= 0.9, share
        # Of the content alone, headers and repetitions apart.
        assert run.application["answer"]["mbit_s"] >= 0.9 * 60

    def check_tcp(run):
        share = line_share(run, "tcp")
        assert share < 0.6, share

    measured["lambda"].holds(check_lambda)
    measured["tcp"].holds(check_tcp)
    assert all(transport.value.application["correct"] for transport in measured.values())


def test_captured_datagrams_are_those_that_were_sent(measured):
    def check(run):
        data = run.table("pc1", "flows").filter(
            (pl.col("src_ip") == SENDER) & (pl.col("protocol") == "udp")
        )
        told = run.application["ranks"][0]["to"]["1"]["bytes"]
        # The rest of what rank 0 counts are a few messages of the TCP connection.
        assert 0 <= told - data["payload_bytes"].sum() < 2000
        # A packet in a thousand is lost; each is sent again.
        repeated = run.application["answer"]["streams"][0]["repeated"]
        assert 10 <= repeated <= 80

    measured["lambda"].holds(check)
