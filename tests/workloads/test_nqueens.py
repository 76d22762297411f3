"""N Queens in its captures: silence, then a burst from the slaves to the master; few flows."""

from __future__ import annotations

import polars as pl
import pytest

from .launch import captured

MASTER, PC3 = "10.77.1.1", "10.77.2.1"
PROBLEM = {"board": 13, "split": 1, "node_ns": 2000}


@pytest.fixture(scope="module")
def measured(namespaces, tmp_path_factory, measurement):
    """A short run with captures."""
    return measurement(lambda: captured("nqueens", PROBLEM, tmp_path_factory.mktemp("nqueens")))


def test_silence_then_a_burst_to_the_master(measured):
    """Kitatsuji, figures 2 and 3: less than 1 kbit/s for more than 95 % of the time."""
    assert measured.value.application["correct"] is True

    def check(run):
        bins = run.bins("pc3", PC3)
        silent = bins.filter(pl.col("in") + pl.col("out") < 2).height / bins.height
        assert silent > 0.95
        out = bins["out"]
        # 73 712 solutions of 13 bytes come back; a quarter of them from here, at the end.
        assert out.sum() > 100_000
        assert out[len(out) // 2 :].sum() > 0.99 * out.sum()
        assert out.sum() > 100 * bins["in"].sum()

    measured.holds(check)


def test_flows_are_few(measured):
    run = measured.value
    flows = run.table("pc3", "flows").filter(pl.col("payload_bytes") > 0)
    assert flows.height == 2
    assert set(flows["dst_ip"]) == {MASTER, PC3}


@pytest.mark.measured  # beside other tests MPI's waiting would get less of a core
def test_a_slow_link_takes_no_core_from_others(namespaces, tmp_path):
    """Two slaves have more for it than their sockets take: MPI's own waiting is half of the run."""
    problem = {"board": 12, "split": 1, "node_ns": 100}
    run = captured("nqueens", problem, tmp_path, "rate=400kbit/s", "buffer=16KiB")
    assert run.application["correct"] is True
    machine = run.record["machine"]
    ran = [rank["ran_s"] / machine["watched_s"] for rank in machine["ranks"]]
    print([round(share, 2) for share in ran])
    assert max(ran) < 0.3
