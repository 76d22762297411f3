"""Awari: databases as one thread builds them, whatever is switched; small messages, all to all."""

from __future__ import annotations

import polars as pl
import pytest

from .launch import alone, captured, counts_agree

HOSTS = {"pc1": "10.77.1.1", "pc2": "10.77.1.2", "pc3": "10.77.2.1", "pc4": "10.77.2.2"}
SWITCHES = (
    "tree_synchronisation",
    "autonomous_flush",
    "ring_per_destination",
    "tuned_polling",
    "large_messages",
)
ALL_OFF = dict.fromkeys(SWITCHES, False)
BOARDS = 18_564  # with up to 6 stones


@pytest.mark.parametrize(
    ("problem", "ranks", "compute"),
    [
        ({}, 3, "busy"),
        (ALL_OFF, 4, "paced"),
        ({"tree_synchronisation": False, "barrier_boards": 100}, 2, "paced"),
        ({"autonomous_flush": False, "barrier_boards": 1000}, 5, "paced"),
        ({"ring_per_destination": False, "large_messages": False}, 3, "paced"),
    ],
)
def test_databases_are_those_of_a_sequential_search(tmp_path, problem, ranks, compute):
    given = {"stones": 6, "job_ns": 500, **problem}
    done, record = alone("awari", given, tmp_path, ranks=ranks, compute=compute)
    assert record is not None, done.stderr
    answer = record["answer"]
    assert {name: answer[name] for name in answer["expected"]} == answer["expected"]
    assert answer["won"] + answer["lost"] + answer["drawn"] == BOARDS
    assert record["correct"] is True
    assert counts_agree(record)
    assert {phase["name"] for phase in record["phases"]} == {"init", "busy", "sync"}
    for rank in record["ranks"]:
        assert set(rank["mpi"]) == {"send", "receive", "probe_failed", "probe_found"}


@pytest.mark.parametrize(
    ("problem", "ranks", "message"),
    [
        ({"stones": 0}, 2, "stones: found 0, expected a whole number from 1 to 15"),
        ({"tuned_polling": 1}, 2, "tuned_polling: found 1, expected true or false"),
        ({"stone": 5}, 2, "stone: found 5, expected one of stones, job_ns"),
        ({}, 1, "ranks: found 1, expected at least 2"),
    ],
)
def test_bad_parameters_end_at_once_with_a_message(tmp_path, problem, ranks, message):
    done, record = alone("awari", problem, tmp_path, ranks=ranks)
    assert done.returncode != 0
    assert record is None
    assert message in done.stderr


@pytest.fixture(scope="module")
def measured(namespaces, tmp_path_factory, measurement):
    """All optimisations on, and off."""

    def run(switches):
        folder = tmp_path_factory.mktemp("awari")
        return captured("awari", {"stones": 7, **switches}, folder, "rtt=2.64ms")

    return measurement(lambda: [run(switches) for switches in ({}, ALL_OFF)])


def pairs(run, host: str) -> pl.DataFrame:
    """Payload and segments that a host sent to each other one."""
    flows = run.table(host, "flows").filter(pl.col("src_ip") == HOSTS[host])
    return flows.group_by("dst_ip").agg(pl.col("payload_bytes", "packets").sum())


def test_small_messages_go_from_every_host_to_every_other(measured):
    measured.holds(check_sizes)


def check_sizes(runs) -> None:
    for run in runs:
        assert run.application["correct"] is True
        found = pl.concat([pairs(run, host) for host in HOSTS])
        assert found.height == 12
        # A job is 12 bytes and has 22 of MPI around it if it goes alone.
        mean = found["payload_bytes"].sum() / found["packets"].sum()
        assert 34 < mean < 1000, mean


def test_boards_are_spread_evenly(measured):
    def check(runs):
        sizes = pl.concat([pairs(runs[0], host) for host in HOSTS])["payload_bytes"]
        assert sizes.max() <= 1.5 * sizes.min(), sizes.to_list()

    measured.holds(check)


def test_a_ring_synchronises_around_and_a_tree_up_and_down(measured):
    """pc3 sends its part to pc1 in the tree, to pc4 in the ring of four."""
    measured.holds(check_synchronisation)


def check_synchronisation(runs) -> None:
    shares = []
    for run in runs:
        ranks = run.application["ranks"]
        # Messages of jobs are spread evenly; what is more is synchronisation.
        to = {peer: count["messages"] for peer, count in ranks[2]["to"].items()}
        shares.append(to["0"] / to["3"])
    assert shares[0] > 1 > shares[1], shares
