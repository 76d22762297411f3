"""What the quick experiments must show in their captures, by application.

    FLOWSWEEP_RESULTS=results pytest tests/workloads/test_quick_experiments.py

They take minutes each, so `make papers` makes them and sets FLOWSWEEP_RESULTS; without it, all
tests are skipped. The other tests of this folder assert the same properties with shorter runs.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import os
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

RESULTS = os.environ.get("FLOWSWEEP_RESULTS")
NAMES = ["kitatsuji-quick", "das3-quick", "lambdastream-quick", "uklight-quick"]
BIN_NS = 10_000_000
MPI_BYTES = 22
BATCH_BYTES = 8192 + MPI_BYTES


class Results:
    """A quick experiment with results."""

    def __init__(self, name: str) -> None:
        if RESULTS is None:
            pytest.skip("FLOWSWEEP_RESULTS names no folder of results; make papers makes them")
        self.folder = Path(RESULTS) / name
        assert (self.folder / "report.html").exists(), (
            f"{self.folder} is not there: snakemake --configfile workflows/experiments/"
            f"{name}.yaml makes it"
        )

    @cached_property
    def runs(self) -> dict[str, dict[str, Any]]:
        paths = sorted(self.folder.glob("runs/*/run.json"))
        return {path.parent.name: json.loads(path.read_text()) for path in paths}

    def addresses(self, run: str) -> dict[str, str]:
        return {host["name"]: host["address"] for host in self.runs[run]["hosts"]}

    def table(self, run: str, host: str, name: str) -> pl.DataFrame:
        path = self.folder / "tables" / f"run={run}" / f"host={host}" / f"{name}.parquet"
        found = pl.read_parquet(path)
        ends = [column for column in ("src_ip", "dst_ip") if column in found.columns]
        return found.with_columns(pl.col(ends).cast(pl.String))

    def sent(self, run: str, host: str) -> pl.DataFrame:
        """Returns flows that a host sent, from its own capture."""
        address = self.addresses(run)[host]
        return self.table(run, host, "flows").filter(pl.col("src_ip") == address)

    def messages(self, run: str) -> pl.DataFrame:
        """Returns messages of all hosts, each from its sender's capture."""
        keys = ["connection", "direction"]
        return pl.concat(
            self.table(run, host, "messages").join(self.sent(run, host).select(keys), on=keys)
            for host in self.addresses(run)
        )

    def bins(self, run: str, host: str) -> pl.DataFrame:
        """Returns payload out of and into a host in each 10-ms bin of the application's time."""
        application = self.runs[run]["application"]
        first, last = (nanoseconds(application[end]) // BIN_NS for end in ("start", "end"))
        number = (pl.col("bin_start").dt.epoch("ns") // BIN_NS).alias("bin")
        found = self.table(run, host, "throughput").with_columns(number)
        whole = pl.DataFrame({"bin": range(first, last + 1)}, schema={"bin": found["bin"].dtype})
        address = self.addresses(run)[host]
        for way, column in (("out", "src_ip"), ("in", "dst_ip")):
            part = found.filter(pl.col(column) == address).group_by("bin")
            whole = whole.join(part.agg(pl.col("payload_bytes").sum().alias(way)), "bin", "left")
        return whole.fill_null(0).sort("bin")


def nanoseconds(time: str) -> int:
    """Converts RFC 3339 with nanoseconds to nanoseconds since 1970."""
    seconds, _, fraction = time.removesuffix("Z").partition(".")
    whole = dt.datetime.fromisoformat(f"{seconds}+00:00").timestamp()
    return int(whole) * 10**9 + int(fraction.ljust(9, "0"))


@pytest.fixture(scope="module")
def kitatsuji() -> Results:
    return Results("kitatsuji-quick")


@pytest.fixture(scope="module")
def das3() -> Results:
    return Results("das3-quick")


@pytest.fixture(scope="module")
def lambdastream() -> Results:
    return Results("lambdastream-quick")


@pytest.fixture(scope="module")
def uklight() -> Results:
    return Results("uklight-quick")


@pytest.mark.parametrize("name", NAMES)
def test_all_runs_are_valid_and_right(name):
    for run, record in Results(name).runs.items():
        # A warm-up is neither used nor tried again.
        assert record["status"] == "valid" or record["warmup"], (run, record["reason"])
        assert record["application"]["correct"] is True, run


@pytest.mark.parametrize("name", NAMES)
def test_the_report_agrees_with_the_tables(name):
    report = (Results(name).folder / "report.html").read_text(encoding="utf-8")
    assert "This report contradicts" not in report


def test_nqueens_is_silent_and_ends_in_a_burst(kitatsuji):
    run = "nqueens-baseline-r1"
    bins = kitatsuji.bins(run, "pc3")
    assert bins.filter(pl.col("in") + pl.col("out") < 2).height / bins.height > 0.95
    out = bins["out"]
    assert out[len(out) // 2 :].sum() > 0.99 * out.sum() > 100 * bins["in"].sum()
    flows = kitatsuji.table(run, "pc3", "flows").filter(pl.col("payload_bytes") > 0)
    assert flows.height == 2


def test_jigsaw_exchanges_less_where_it_is_far_and_takes_as_long(kitatsuji):
    """Kitatsuji, table 2: an exponent of -0.9 from 4.3 to 64.3 ms."""
    found = {rtt: f"jigsaw-rtt_{rtt}ms-r1" for rtt in (4.3, 64.3)}
    packets = {rtt: kitatsuji.sent(run, "pc3")["packets"].sum() for rtt, run in found.items()}
    exponent = math.log(packets[64.3] / packets[4.3]) / math.log(64.3 / 4.3)
    assert -1.1 < exponent < -0.6, packets
    times = [kitatsuji.runs[run]["application"]["completion_s"] for run in found.values()]
    assert max(times) < 1.25 * min(times)


def test_lu_is_on_and_off_and_equal_both_ways(kitatsuji):
    bins = kitatsuji.bins("lu-baseline-r1", "pc3")
    silent = bins.filter(pl.col("in") + pl.col("out") < 20).height / bins.height
    assert 0.3 < silent < 0.95
    assert bins["in"].sum() == pytest.approx(bins["out"].sum(), rel=0.1)
    tenths = bins.group_by(pl.col("bin") // 10).sum()
    assert np.corrcoef(tenths["in"], tenths["out"])[0, 1] > 0.6
    times = {run: record["application"]["completion_s"] for run, record in kitatsuji.runs.items()}
    # Buffer size and RTT interact: each alone costs less than both.
    small, large = times["lu-rtt_64.3ms-buffer_64KiB-r1"], times["lu-rtt_64.3ms-r1"]
    assert small > 1.2 * large > 1.2 * times["lu-buffer_64KiB-r1"]


def test_taskgraph_has_many_flows_of_all_sizes(kitatsuji):
    flows = kitatsuji.table("taskgraph-baseline-r1", "pc3", "flows")
    flows = flows.filter((pl.col("direction") == "backward") & (pl.col("payload_bytes") > 0))
    assert flows.height >= 40
    assert {3, 4, 5, 6} <= {len(str(size)) for size in flows["payload_bytes"]}
    assert flows["duration_ns"].max() > 100 * flows["duration_ns"].min()


def test_modelcheck_sends_batches_of_8_kib_from_all_to_all(das3):
    run = "modelcheck-baseline-r1"
    hosts = das3.addresses(run)
    sizes = [
        size
        for host in hosts
        for size in das3.sent(run, host)
        .group_by("dst_ip")
        .agg(pl.col("payload_bytes").sum())["payload_bytes"]
    ]
    assert len(sizes) == len(hosts) * (len(hosts) - 1)
    assert max(sizes) < 1.3 * min(sizes)
    free, limited = (
        das3.messages(one)["bytes"] for one in (run, "modelcheck-variant_flush_100-r1")
    )
    # The number of small messages depends on which rank waits; most jobs are in full ones.
    for sizes in (free, limited):
        assert sizes.filter(sizes == BATCH_BYTES).sum() > 0.5 * sizes.sum()
        assert sizes.filter(sizes > BATCH_BYTES // 2).mode()[0] == BATCH_BYTES
    # Where queues run dry, messages are small; a limit makes them fewer and larger.
    assert (free < BATCH_BYTES // 8).sum() > 1.3 * (limited < BATCH_BYTES // 8).sum()
    assert limited.mean() > 1.2 * free.mean()


def test_modelcheck_comes_in_waves(das3):
    run = "modelcheck-baseline-r1"
    application = das3.runs[run]["application"]
    start = nanoseconds(application["start"])
    flows = das3.sent(run, "uva1").select("connection", "direction")
    messages = das3.table(run, "uva1", "messages").join(flows, on=["connection", "direction"])
    sizes = []
    for phase in (phase for phase in application["phases"] if phase["rank"] == 0):
        begin, end = (start + round(1e9 * phase[at]) for at in ("start_s", "end_s"))
        inside = messages.filter(pl.col("first_time").dt.epoch("ns").is_between(begin, end))
        sizes.append(inside["bytes"].sum())
    assert sizes[0] > 2 * max(sizes[1:]), sizes
    assert sizes[1:6] == sorted(sizes[1:6], reverse=True), sizes


@pytest.mark.parametrize(
    ("run", "low", "high"),
    [
        ("video1k-baseline-r1", 28, 31),
        ("video2k-baseline-r1", 28, 31),
        # Maassen, section 3.2.1: 25 of 30 frames where 12 Gbit/s meet 10.
        ("video4k-baseline-r1", 20, 25),
        ("video4k-links_2-r1", 28, 31),
        ("video4k-rate_10Mbit-r1", 2, 2.5),
        ("video2k-rate_6.2Mbit-r1", 5, 6.3),
    ],
)
def test_video_keeps_its_frame_rate_where_the_link_carries_it(das3, run, low, high):
    readers = {host: at for host, at in das3.addresses(run).items() if host.startswith("uva")}
    flows = pl.concat(das3.sent(run, host) for host in readers)
    flows = flows.filter(~pl.col("dst_ip").is_in(list(readers.values())))
    spans = das3.runs[run]["application"]["transfers"]
    flows = flows.filter(pl.col("payload_bytes") > spans[0]["bytes"])
    total = flows["payload_bytes"].sum() - flows["retransmitted_bytes"].sum()
    seconds = (flows["last_time"].max() - flows["first_time"].min()).total_seconds()
    assert total == pytest.approx(sum(span["bytes"] for span in spans), rel=0.01)
    assert low < (len(spans) - 1) / seconds < high


def test_supernova_fetches_the_largest_first_and_all_at_once(das3):
    run = "supernova-rate_10Mbit-r1"
    servers = das3.addresses(run)
    jobs = pl.concat(das3.sent(run, host) for host in servers if host.startswith("uva"))
    new = pl.col("payload_bytes") - pl.col("retransmitted_bytes")
    jobs = jobs.filter(pl.col("payload_bytes") > 20_000).sort("first_time").with_columns(new)
    transfers = das3.runs[run]["application"]["transfers"]
    assert jobs.height == len(transfers)
    ranks = jobs["payload_bytes"].rank("ordinal", descending=True).to_list()
    assert max(abs(rank - place) for place, rank in enumerate(ranks, 1)) <= 3, ranks
    first = jobs.head(4)
    assert first["first_time"].max() < first["last_time"].min()


def test_awari_sends_small_combined_messages_from_all_to_all(das3):
    run = "awari-baseline-r1"
    hosts = das3.addresses(run)
    pairs = {(host, to) for host in hosts for to in das3.sent(run, host)["dst_ip"]}
    assert len(pairs) == len(hosts) * (len(hosts) - 1)
    sizes = das3.messages(run)["bytes"] - MPI_BYTES
    # Jobs have 12 bytes: most messages carry several, and hardly any is full.
    assert 12 < sizes.median() < 1000
    assert sizes.mean() > 3 * 12
    assert 4096 < sizes.max() <= 8192


@pytest.mark.parametrize("rtt", ["", "-rtt_13.2ms"])
def test_awari_needs_fewer_rounds_if_ranks_flush_unasked(das3, rtt):
    """Otherwise held-back messages leave once per round; the time also grows, but varies."""
    runs = ("awari-baseline" if not rtt else f"awari{rtt}", f"awari{rtt}-variant_no_flush")
    unasked, asked = (das3.runs[f"{run}-r1"]["application"]["ranks"][0]["rounds"] for run in runs)
    assert asked > 2 * unasked


def test_lambdastream_fills_the_link_where_tcp_does_not(lambdastream):
    """EVL: 9.23 of 10 Gbit/s; here with one packet in a thousand lost."""

    def mbit_s(run: str, protocol: str) -> float:
        flows = lambdastream.table(run, "sandiego1", "flows")
        address = lambdastream.addresses(run)["sandiego1"]
        is_own = (pl.col("dst_ip") == address) & (pl.col("protocol") == protocol)
        largest = flows.filter(is_own).sort("payload_bytes").tail(1)
        return 8e3 * largest["wire_bytes"][0] / largest["duration_ns"][0]

    assert mbit_s("lambda-loss_0.1pct-r1", "udp") >= 90
    assert mbit_s("tcp-loss_0.1pct-r1", "tcp") < 50


def test_pingpong_has_one_message_at_a_time_each_way(uklight):
    run = "pingpong4-baseline-r1"
    problem = uklight.runs[run]["application"]["problem"]
    # TCP's window splits a message: count what goes one way until data go the other way.
    flows = pl.concat(uklight.sent(run, host) for host in uklight.addresses(run))
    parts = uklight.messages(run).filter(pl.col("bytes") > 200)
    parts = parts.join(
        flows.select("connection", "direction", "src_ip"), on=["connection", "direction"]
    )
    turns = (
        parts.sort("first_time")
        .group_by(pl.col("src_ip").rle_id().alias("turn"))
        .agg(pl.col("bytes").sum(), pl.col("first_time").min(), pl.col("last_time").max())
        .sort("turn")
    )
    both_ways = [problem["message_bytes"]] * 2 * problem["repetitions"]
    assert turns["bytes"].to_list() == pytest.approx(both_ways, rel=0.01)
    assert (turns["first_time"][1:] >= turns["last_time"][:-1]).all()
