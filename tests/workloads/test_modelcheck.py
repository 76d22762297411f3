"""The elevator: the same number of states as from one thread; all-to-all batches in waves."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from .launch import alone, captured, counts_agree

HOSTS = {"pc1": "10.77.1.1", "pc2": "10.77.1.2", "pc3": "10.77.2.1", "pc4": "10.77.2.2"}
MPI_BYTES = 22  # around every message
ROUND_BYTES = 32 + MPI_BYTES
FULL_BYTES = 1448
TAIL_BYTES = (8192 + MPI_BYTES) % FULL_BYTES
PROBLEM = {"floors": 7, "persons": 3, "state_ns": 10_000}  # 242 851 states: about 3 s on 4 ranks


@pytest.mark.parametrize(
    ("problem", "ranks", "compute"),
    [
        ({"floors": 5, "persons": 2}, 2, "busy"),
        ({"floors": 4, "persons": 3, "batch_bytes": 512}, 5, "paced"),
        ({"floors": 4, "persons": 2, "flush_rate_limit": 500}, 3, "paced"),
    ],
)
def test_states_and_steps_are_those_of_a_sequential_search(tmp_path, problem, ranks, compute):
    done, record = alone("modelcheck", problem, tmp_path, ranks=ranks, compute=compute)
    assert record is not None, done.stderr
    answer = record["answer"]
    assert {name: answer[name] for name in answer["expected"]} == answer["expected"]
    assert answer["cycle"] == 0
    assert record["correct"] is True
    assert counts_agree(record)
    names = {phase["name"] for phase in record["phases"]}
    assert names == {"generate", "propagate"}
    for rank in record["ranks"]:
        assert set(rank["mpi"]) == {"send", "receive", "probe_failed", "probe_found"}
        assert rank["mpi"]["receive"]["calls"] == rank["received_messages"]


def test_a_naive_controller_lets_a_person_wait_for_ever(tmp_path):
    problem = {"floors": 4, "persons": 2, "controller": "naive"}
    done, record = alone("modelcheck", problem, tmp_path, compute="busy")
    assert record is not None, done.stderr
    assert record["answer"]["cycle"] == 1
    assert record["correct"] is True


@pytest.fixture(scope="module")
def measured(namespaces, tmp_path_factory, measurement):
    """Without and with a limit on partly filled messages."""
    return measurement(
        lambda: [
            captured(
                "modelcheck",
                {**PROBLEM, "flush_rate_limit": limit},
                tmp_path_factory.mktemp("modelcheck"),
            )
            for limit in (0, 50)
        ]
    )


@pytest.fixture
def runs(measured):
    return measured.value


def sent(run, host: str) -> pl.DataFrame:
    """Returns the segments with payload that a host sent."""
    flows = run.table(host, "flows", "--packets").filter(pl.col("src_ip") == HOSTS[host])
    flows = flows.select("connection", "direction", "dst_ip")
    packets = run.table(host, "packets", "--packets").filter(pl.col("payload_bytes") > 0)
    return packets.join(flows, on=["connection", "direction"])


def test_every_host_sends_about_as_much_to_every_other(runs):
    assert runs[0].application["correct"] is True
    pairs = [
        size
        for host in HOSTS
        for size in sent(runs[0], host)
        .group_by("dst_ip")
        .agg(pl.col("payload_bytes").sum())["payload_bytes"]
    ]
    assert len(pairs) == 12
    assert max(pairs) <= 1.3 * min(pairs)


def waves(run) -> list[pl.DataFrame]:
    """Returns the segments that pc1 sent in each phase of the search, by the times of its rank 0.

    All messages of a phase have arrived before the phase ends.
    """
    seconds, fraction = run.application["start"].removesuffix("Z").split(".")
    whole = dt.datetime.fromisoformat(f"{seconds}+00:00").timestamp()
    start = int(whole) * 10**9 + int(fraction)
    segments = sent(run, "pc1").sort("time").with_columns(pl.col("time").dt.epoch("ns"))
    return [
        segments.filter(
            pl.col("time").is_between(
                start + round(phase["start_s"] * 1e9), start + round(phase["end_s"] * 1e9)
            )
        )
        for phase in run.application["phases"]
        if phase["rank"] == 0
    ]


def test_traffic_comes_in_waves_and_the_first_is_the_longest(measured):
    """Maassen, figure 3: a wave for each phase; all states are generated in the first.

    Compares the bytes of a wave, which are the same on every machine, unlike its duration.
    """
    measured.holds(check_waves)


def check_waves(runs) -> None:
    found = waves(runs[0])
    sizes = [wave["payload_bytes"].sum() for wave in found]
    # Here 2.28 MB, then 0.61, 0.56, 0.49, 0.40, 0.30, 0.19, 0.08 MB, and a little more.
    assert sizes[0] > 2 * max(sizes[1:]), sizes
    assert sizes[1:8] == sorted(sizes[1:8], reverse=True), sizes
    assert sizes[6] > 100_000, sizes
    for wave in found[:7]:
        sizes = wave["payload_bytes"].to_list()
        full = [place for place, size in enumerate(sizes) if size == FULL_BYTES]
        # A wave begins with full messages and ends with those that detect the end of the phase.
        assert full[0] < len(sizes) / 4, sizes
        assert max(sizes[-2:]) <= 2 * ROUND_BYTES, sizes[-20:]


def test_full_messages_are_of_8_kib(runs):
    """A full message is five segments of 1448 bytes and one of 974.

    The number of small messages depends on which rank waits for which.
    """
    sizes = sent(runs[0], "pc1")["payload_bytes"]
    most = sizes.filter(sizes > FULL_BYTES // 4).value_counts(sort=True)["payload_bytes"]
    assert most.head(2).to_list() == [FULL_BYTES, TAIL_BYTES]


def test_a_limit_on_flushing_makes_messages_fewer_and_larger(measured):
    """Maassen, figure 4."""

    def check(runs):
        free, limited = (pl.concat([sent(run, host) for host in HOSTS]) for run in runs)
        # Longer than synchronisation, shorter than the last segment of a full message.
        part = pl.col("payload_bytes").is_between(ROUND_BYTES + 1, TAIL_BYTES - 1)
        small = [segments.filter(part).height for segments in (free, limited)]
        assert small[1] < 0.8 * small[0], small
        assert limited["payload_bytes"].mean() > free["payload_bytes"].mean()

    measured.holds(check)
