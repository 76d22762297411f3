"""N Queens in its captures: silence, then a burst from the slaves to the master, in few flows."""

from __future__ import annotations

import nqueens
import polars as pl
import pytest

from .launch import captured

MASTER, PC3 = "10.77.1.1", "10.77.2.1"
#: A small board has more solutions per node than the paper's, which a slower core compensates.
PROBLEM = {"board": 13, "split": 1, "node_ns": 3000}


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
        # 73 712 solutions of 13 integers come back; a quarter of them from here, at the end.
        assert out.sum() > 500_000
        assert out[len(out) // 2 :].sum() > 0.99 * out.sum()
        assert out.sum() > 100 * bins["in"].sum()

    measured.holds(check)


def test_flows_are_few(measured):
    run = measured.value
    flows = run.table("pc3", "flows").filter(pl.col("payload_bytes") > 0)
    assert flows.height == 2
    assert set(flows["dst_ip"]) == {MASTER, PC3}


def test_a_sample_of_the_solutions_is_checked_and_all_are_counted():
    """The solutions come back in several messages."""
    kernel = nqueens.Kernel(8)
    solutions, _ = kernel.solve(b"")
    assert len(solutions) == 92 * 8
    sample = nqueens.Sample(8)
    for place in range(0, len(solutions), 5 * 8):
        sample.take(nqueens.encoded(solutions[place : place + 5 * 8]))
    assert (sample.returned, len(sample.boards)) == (92, 92)
    assert nqueens.check(sample, 92)[1] is True
    assert nqueens.check(sample, 91)[1] is False


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_a_column_that_is_damaged_in_any_of_its_bytes_is_seen(place):
    message = nqueens.encoded(nqueens.Kernel(6).solve(b"")[0])
    message[5 * 4 + place] ^= 1
    sample = nqueens.Sample(6)
    sample.take(message)
    answer, correct = nqueens.check(sample, 4)
    assert (answer["solutions"], answer["wrong"], correct) == (4, 1, False)


def test_of_a_large_board_every_so_many_solutions_are_kept(monkeypatch):
    monkeypatch.setattr(nqueens, "SPOT_CHECKS", 23)
    solutions, _ = nqueens.Kernel(8).solve(b"")
    sample = nqueens.Sample(8)
    for place in range(0, len(solutions), 7 * 8):
        sample.take(nqueens.encoded(solutions[place : place + 7 * 8]))
    every = [tuple(solutions[8 * n : 8 * n + 8]) for n in range(92)]
    assert sample.boards == every[::4]


@pytest.mark.measured  # next to other tests MPI's waiting would get less of a core
def test_a_slow_link_takes_no_core_from_others(namespaces, tmp_path):
    """Two slaves have more data than their sockets accept: half of the run is MPI's own waiting."""
    problem = {"board": 12, "split": 1, "node_ns": 100}
    run = captured("nqueens", problem, tmp_path, "rate=400kbit/s", "buffer=16KiB")
    assert run.application["correct"] is True
    machine = run.record["machine"]
    ran = [rank["ran_s"] / machine["watched_s"] for rank in machine["ranks"]]
    print([round(share, 2) for share in ran])
    assert max(ran) < 0.3
