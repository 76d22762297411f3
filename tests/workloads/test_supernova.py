"""Supernovae: planted ones are found; largest jobs first, a connection each, early contention."""

from __future__ import annotations

import polars as pl
import pytest

from .launch import alone, captured, counts_agree

SERVERS = ("10.77.1.1",)
# Master, 1 server (pc1) and a worker on each other host.
PROBLEM = {"pairs": 24, "side": 240, "servers": 1, "pixel_ns": 3000, "spread": 0.4, "seed": 13}


@pytest.mark.parametrize("compute", ["busy", "paced"])
def test_what_has_appeared_is_found(tmp_path, compute):
    problem = {"pairs": 12, "side": 128, "servers": 2, "pixel_ns": 500}
    done, record = alone("supernova", problem, tmp_path, ranks=5, compute=compute)
    assert record is not None, done.stderr
    answer = record["answer"]
    assert (answer["pairs"], answer["wrong_pairs"], answer["largest_first"]) == (12, [], True)
    assert answer["candidates"] == answer["expected"] >= 12
    assert record["correct"] is True
    assert counts_agree(record)
    assert len(record["transfers"]) == 12
    assert {phase["name"] for phase in record["phases"]} >= {"fetch", "search", "serve"}


@pytest.fixture(scope="module")
def measured(namespaces, tmp_path_factory, measurement):
    """A link on which the first three jobs compete."""
    return measurement(
        lambda: captured(
            "supernova", PROBLEM, tmp_path_factory.mktemp("supernova"), "rate=20Mbit/s"
        )
    )


def jobs_of(run) -> pl.DataFrame:
    """Returns the flows of images at the server's host, in order of their start."""
    flows = run.table("pc1", "flows").filter(
        pl.col("src_ip").is_in(SERVERS) & (pl.col("payload_bytes") > 20_000)
    )
    new = pl.col("payload_bytes") - pl.col("retransmitted_bytes")
    return flows.with_columns(new.alias("payload_bytes")).sort("first_time")


def test_every_job_is_a_connection_of_its_own(measured):
    run = measured.value
    jobs = jobs_of(run)
    assert run.application["correct"] is True
    # At most one worker is on the server's site; the flows to all hosts but pc1 are visible here.
    assert jobs.height == len(run.application["transfers"]) == 24
    spans = sorted(span["bytes"] for span in run.application["transfers"])
    seen = sorted(jobs["payload_bytes"].to_list())
    assert all(0 < b - a < 100 for a, b in zip(spans, seen, strict=True))


def test_largest_jobs_go_first(measured):
    def check(run):
        ranks = jobs_of(run)["payload_bytes"].rank("ordinal", descending=True).to_list()
        # Simultaneous requests may be served in any order.
        assert max(abs(rank - place) for place, rank in enumerate(ranks, 1)) <= 2, ranks

    measured.holds(check)


def test_spans_of_the_transfers_are_those_of_the_connections(measured):
    def check(run):
        seen = jobs_of(run).with_columns(
            (pl.col("last_time") - pl.col("first_time")).dt.total_nanoseconds().alias("lasts_ns")
        )
        lasts = seen.sort("payload_bytes")["lasts_ns"]
        transfers = sorted(run.application["transfers"], key=lambda span: span["bytes"])
        for span, lasted_ns in zip(transfers, lasts, strict=True):
            # From the request to the last byte; the connection ends a little later.
            assert lasted_ns / 1e9 == pytest.approx(span["end_s"] - span["start_s"], abs=0.05)

    measured.holds(check)


def test_transfers_are_in_each_others_way_at_the_start_and_again_at_the_end(measured):
    """Maassen, figures 9 and 10: at the end jobs take less time than data."""

    def check(run):
        jobs = jobs_of(run).select(pl.col("first_time", "last_time").dt.epoch("ns"))
        begin, end = jobs["first_time"].min(), jobs["last_time"].max()

        def under_way(start: float, stop: float) -> float:
            """Returns the mean number of concurrent transfers in a part of the run."""
            low, high = (begin + share * (end - begin) for share in (start, stop))
            spans = (min(b, high) - max(a, low) for a, b in jobs.iter_rows())
            return sum(max(0.0, span) for span in spans) / (high - low)

        start, middle, last = under_way(0, 0.15), under_way(0.2, 0.8), under_way(0.8, 1)
        assert start > 2 * middle, (start, middle, last)
        assert last > 1.25 * middle, (start, middle, last)

    measured.holds(check)
