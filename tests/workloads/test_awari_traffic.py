"""Awari's captures: small messages, all to all, and the effect of each of the five optimisations.

In the paper (Verstoep, section 5) they gain 50 % on 144 cores. Here each is left out alone, in the
situation that it is for: latency for the first two, one slow receiver for the third, much
computing for the last two.
"""

from __future__ import annotations

import json

import polars as pl
import pytest

from .launch import WORKLOADS, captured, mpirun

HOSTS = {"pc1": "10.77.1.1", "pc2": "10.77.1.2", "pc3": "10.77.2.1", "pc4": "10.77.2.2"}
RTT_S = 0.020
MPI_BYTES = 22
SEGMENT = 1448
JOB_BYTES = 12


def tail(batch: int) -> int:
    """Returns the last segment's size of a full message of `batch` bytes."""
    return (batch // JOB_BYTES * JOB_BYTES + MPI_BYTES) % SEGMENT


def pairs(run, host: str) -> pl.DataFrame:
    """Returns payload and segments that a host sent to each other host."""
    flows = run.table(host, "flows").filter(pl.col("src_ip") == HOSTS[host])
    return flows.group_by("dst_ip").agg(pl.col("payload_bytes", "packets").sum())


def total(run, count: str) -> float:
    return sum(rank[count] for rank in run.application["ranks"])


@pytest.fixture(scope="module")
def far(namespaces, tmp_path_factory, measurement):
    """A long path: with all optimisations, and without each of those against latency."""

    def run(*without: str):
        problem = {"stones": 5, **dict.fromkeys(without, False)}
        return captured("awari", problem, tmp_path_factory.mktemp("awari"), "rtt=20ms")

    return measurement(lambda: [run(), run("tree_synchronisation"), run("autonomous_flush")])


@pytest.fixture(scope="module")
def near(namespaces, tmp_path_factory, measurement):
    """Two busy ranks: with all optimisations, and without each of those for computing."""

    def run(*without: str):
        problem = {"stones": 7, **dict.fromkeys(without, False)}
        return captured("awari", problem, tmp_path_factory.mktemp("awari"), "hosts=1")

    return measurement(lambda: [run(), run("tuned_polling"), run("large_messages")])


def test_small_messages_go_from_every_host_to_every_other(far):
    def check(runs):
        for run in runs:
            assert run.application["correct"] is True
            found = pl.concat([pairs(run, host) for host in HOSTS])
            assert found.height == 12
            # A job has 12 bytes, plus 22 of MPI if it goes alone.
            mean = found["payload_bytes"].sum() / found["packets"].sum()
            assert 20 < mean < 1000, mean
            # They are combined: with a message for each job there would be far more bytes.
            jobs = total(run, "job_messages")
            assert total(run, "sent_bytes") > 2 * JOB_BYTES * jobs, jobs

    far.holds(check)


def test_boards_are_spread_evenly(far):
    def check(runs):
        sizes = pl.concat([pairs(runs[0], host) for host in HOSTS])["payload_bytes"]
        assert sizes.max() <= 1.7 * sizes.min(), sizes.to_list()

    far.holds(check)


def test_a_ring_synchronises_around_and_a_tree_up_and_down(far):
    """pc3 sends its part to pc1 in the tree, and to pc4 in the ring of four."""

    def check(runs):
        shares = []
        for run in runs[:2]:
            # Messages of jobs are spread evenly; any excess is synchronisation.
            to = {
                peer: count["messages"] for peer, count in run.application["ranks"][2]["to"].items()
            }
            shares.append(to["0"] / to["3"])
        assert shares[0] > 1 > shares[1], shares

    far.holds(check)


def test_a_round_takes_longer_in_the_ring(far):
    """The ring crosses to the other site and back before any rank knows; half of the tree does not.

    Here 24 ms against 12 to 15 ms. The total cost hides behind other messages if these need not
    wait for it, as in the paper with all optimisations.
    """

    def check(runs):
        mean = [total(run, "rounds_s") / total(run, "rounds") for run in runs[:2]]
        assert mean[1] >= RTT_S
        assert mean[0] < 0.85 * mean[1], mean

    far.holds(check)


def test_who_flushes_unasked_need_not_wait_for_the_next_round(far):
    """Otherwise held-back messages leave once per round: more rounds, and a longer run.

    Here 182 rounds and 4.4 s against 284 and 6.9 s.
    """

    def check(runs):
        rounds = [total(run, "rounds") for run in runs]
        assert rounds[0] < 0.8 * rounds[2], rounds
        seconds = [run.application["completion_s"] for run in runs]
        assert seconds[0] < 0.85 * seconds[2], seconds

    far.holds(check)


def segments(run) -> list[int]:
    """Returns the payload of each segment that pc1 sent."""
    flows = run.table("pc1", "flows", "--packets").filter(pl.col("src_ip") == HOSTS["pc1"])
    packets = run.table("pc1", "packets", "--packets").filter(pl.col("payload_bytes") > 0)
    keys = ["connection", "direction"]
    return packets.join(flows.select(keys), on=keys)["payload_bytes"].to_list()


def test_large_messages_are_fewer(near):
    """A full message's last segment shows its size; here about 90 of 8 KiB, 250 of 4 KiB."""

    def check(runs):
        found = [
            {batch: segments(run).count(tail(batch)) for batch in (4096, 8192)}
            for run in (runs[0], runs[2])
        ]
        assert found[0][8192] > 30 > found[0][4096], found
        assert found[1][4096] > 2 * found[0][8192], found
        assert found[1][8192] < 10, found
        assert total(runs[0], "job_messages") < total(runs[2], "job_messages")

    near.holds(check)


def test_who_looks_seldom_while_computing_looks_in_vain_less(near):
    """Here 2,700 slices of work and 17,000 failed probes, against 17,700 and 77,000."""

    def check(runs):
        slices = [total(run, "slices") for run in runs[:2]]
        assert slices[1] > 4 * slices[0], slices
        vain = [
            sum(rank["mpi"]["probe_failed"]["calls"] for rank in run.application["ranks"])
            for run in runs[:2]
        ]
        assert vain[1] > 2 * vain[0], vain

    near.holds(check)


# Rank 1 does not receive until a second after 16 messages wait for it, when one goes to rank 2.
# They are too long for MPI's eager protocol: how much more the sockets accept, and when, is up to
# the kernel. A file tells rank 1 that they wait.
SLOW_RECEIVER = """
import json, pathlib, sys, time
sys.path.insert(0, sys.argv[1])
import awari
import mpi
full = pathlib.Path(sys.argv[3])
ranks = mpi.Ranks("awari", {}, "paced", never_blocks=True)
sender = awari.Sender(ranks, 16, per_destination=json.loads(sys.argv[2]))
if ranks.rank == 0:
    ranks.receive(1)
    ranks.receive(2)
    for _ in range(16):
        sender.send(bytearray(1 << 20), 1, 2)
    full.touch()
    sender.send(bytearray(8192), 2, 2)
    print(json.dumps([sender.stalls, sender.stalled_s]))
    sender.send(b"", 1, 3)
    ranks.flush()
else:
    ranks.send(b"", 0, 1)
    while ranks.rank == 1 and not full.exists():
        time.sleep(0.01)
    time.sleep(1.0 if ranks.rank == 1 else 0)
    while ranks.receive(0)[1] != 3 and ranks.rank == 1:
        pass
"""


@pytest.mark.parametrize("per_destination", [True, False])
def test_a_slow_receiver_stalls_others_only_in_a_shared_ring(tmp_path, per_destination):
    words = (WORKLOADS / "awari", json.dumps(per_destination), tmp_path / "full")
    done = mpirun(tmp_path, 3, "-c", SLOW_RECEIVER, *words)
    assert done.returncode == 0, done.stderr
    stalls, seconds = json.loads(done.stdout)
    if per_destination:
        assert (stalls, seconds) == (0, 0.0)
    else:
        assert stalls == 1
        assert seconds > 0.5
