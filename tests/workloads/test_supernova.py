"""Supernovae: what was put in is found; largest jobs first, a connection each, contention first."""

from __future__ import annotations

import polars as pl
import pytest

from .launch import alone, captured, counts_agree

SERVERS = ("10.77.1.1",)
# Master, 1 server (pc1) and a worker on each other host.
PROBLEM = {"pairs": 18, "side": 300, "servers": 1, "pixel_ns": 3000, "spread": 0.4}


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


@pytest.mark.parametrize(
    ("problem", "ranks", "message"),
    [
        ({"side": 63}, 3, "side: found 63, expected a whole number from 64"),
        ({"servers": 2}, 3, "ranks: found 3, expected a master, 2 servers and at least 1 worker"),
        ({"pairs": 2}, 5, "ranks: found '3 workers', expected at most 2 workers"),
        ({"telescope": "Subaru"}, 3, "telescope: found 'Subaru', expected one of pairs"),
    ],
)
def test_bad_parameters_end_at_once_with_a_message(tmp_path, problem, ranks, message):
    done, record = alone("supernova", problem, tmp_path, ranks=ranks)
    assert done.returncode != 0
    assert record is None
    assert message in done.stderr


@pytest.fixture(scope="module")
def measured(namespaces, tmp_path_factory, measurement):
    """On a link on which the first three jobs are in each other's way."""
    return measurement(
        lambda: captured(
            "supernova", PROBLEM, tmp_path_factory.mktemp("supernova"), "rate=20Mbit/s"
        )
    )


def jobs_of(run) -> pl.DataFrame:
    """Flows of images, as the server's host saw them, in the order of their beginning."""
    flows = run.table("pc1", "flows").filter(
        pl.col("src_ip").is_in(SERVERS) & (pl.col("payload_bytes") > 50_000)
    )
    new = pl.col("payload_bytes") - pl.col("retransmitted_bytes")
    return flows.with_columns(new.alias("payload_bytes")).sort("first_time")


def test_every_job_is_a_connection_of_its_own(measured):
    run = measured.value
    jobs = jobs_of(run)
    assert run.application["correct"] is True
    # One worker, if any, is on the server's own site; all hosts but pc1 are seen here.
    assert jobs.height == len(run.application["transfers"]) == 18
    spans = sorted(span["bytes"] for span in run.application["transfers"])
    seen = sorted(jobs["payload_bytes"].to_list())
    assert all(0 < b - a < 100 for a, b in zip(spans, seen, strict=True))


def test_largest_jobs_go_first(measured):
    def check(run):
        ranks = jobs_of(run)["payload_bytes"].rank("ordinal", descending=True).to_list()
        # Requests that come together may be served in any order.
        assert max(abs(rank - place) for place, rank in enumerate(ranks, 1)) <= 2, ranks

    measured.holds(check)


def test_transfers_are_in_each_others_way_at_the_start(measured):
    """Maassen, figures 9 and 10."""

    def check(run):
        jobs = jobs_of(run)
        begins = pl.col("first_time")
        overlap = [
            jobs.filter(
                (begins <= row["first_time"]) & (pl.col("last_time") >= row["first_time"])
            ).height
            for row in jobs.iter_rows(named=True)
        ]
        # The last of the first three begins while the others are being fetched.
        assert max(overlap[:3]) == 3, overlap
        assert sum(overlap[3:15]) / 12 < 2, overlap

    measured.holds(check)
