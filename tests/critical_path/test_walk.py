"""The critical path of programs whose length is known."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import (
    MS,
    SERIALISATION,
    Program,
    ahead,
    fork_join,
    ping_pong,
    pipeline,
    ring,
)

from flowsweep.critical_path.parts import Journey, Part, divide
from flowsweep.critical_path.walk import Step, find


def sums(program: Program, end: int) -> Counter[Part]:
    """Returns the nanoseconds of each part; the path has no gaps from 0 to the end."""
    steps = find(program.hosts(), 0, end, program.rates())
    check_whole(steps, 0, end)
    counted: Counter[Part] = Counter()
    for step in steps:
        counted[step.part] += step.duration_ns
    return counted


def check_whole(steps: list[Step], start: int, end: int) -> None:
    at = start
    for step in steps:
        assert step.begin_ns == at
        assert step.duration_ns > 0
        at += step.duration_ns
    assert at == end


@pytest.mark.parametrize("delay", [MS // 10, 8 * MS])
def test_a_ping_pong_is_its_exchanges(delay: int) -> None:
    assert sums(*ping_pong(delay, 20, 3 * MS)) == {
        Part.COMPUTING: 40 * 3 * MS,
        Part.SERIALISATION: 40 * SERIALISATION,
        Part.PROPAGATION: 40 * delay,
    }


def test_a_ring_is_its_steps() -> None:
    assert sums(*ring(5 * MS, 5, 7, 2 * MS)) == {
        Part.COMPUTING: 35 * 2 * MS,
        Part.SERIALISATION: 35 * SERIALISATION,
        Part.PROPAGATION: 35 * 5 * MS,
    }


def test_a_fork_waits_for_its_slowest_worker() -> None:
    program = Program(2 * MS)
    end = fork_join(program, [3 * MS, 9 * MS, 5 * MS], rounds=4)
    assert sums(program, end) == {
        Part.COMPUTING: 4 * 9 * MS,
        Part.SERIALISATION: 8 * SERIALISATION,
        Part.PROPAGATION: 8 * 2 * MS,
    }


def test_a_link_that_is_slowed_takes_the_path_to_its_worker() -> None:
    slow = {("m", "w0"): 20 * MS, ("w0", "m"): 20 * MS}
    program = Program(2 * MS, slow)
    end = fork_join(program, [3 * MS, 9 * MS, 5 * MS], rounds=4)
    found = sums(program, end)
    assert found[Part.COMPUTING] == 4 * 3 * MS
    assert found[Part.PROPAGATION] == 8 * 20 * MS
    steps = find(program.hosts(), 0, end, program.rates())
    assert {step.host for step in steps} == {"m", "w0"}


def test_a_pipeline_that_is_never_behind_is_its_last_item() -> None:
    """If the first stage is the slowest, no item waits for the previous one."""
    program, end = pipeline(4 * MS, [10 * MS, 3 * MS, 2 * MS], items=6)
    assert end == 6 * 10 * MS + 3 * MS + 2 * MS + 2 * (SERIALISATION + 4 * MS)
    found = sums(program, end)
    assert found[Part.COMPUTING] == 65 * MS
    assert found[Part.PROPAGATION] == 2 * 4 * MS


def test_a_pipeline_that_falls_behind_is_its_slowest_stage() -> None:
    program, end = pipeline(4 * MS, [2 * MS, 10 * MS, 3 * MS], items=6)
    assert end == 2 * MS + 6 * 10 * MS + 3 * MS + 2 * (SERIALISATION + 4 * MS)
    found = sums(program, end)
    assert found[Part.COMPUTING] == 65 * MS
    assert found[Part.PROPAGATION] == 2 * 4 * MS


def shares(tmp_path: Path, make: object, delays: tuple[int, int]) -> dict[str, dict[str, float]]:
    """Returns the rows of `time_shares` of a program at two delays; the first is the baseline."""
    import tiny

    from flowsweep.analysis.adds_up import contradictions
    from flowsweep.warehouse import Warehouse

    rows = []
    for name, delay in zip(("near", "far"), delays, strict=True):
        program, end = make(delay)  # type: ignore[operator]
        rtt = {"rtt_asked_ns": 2 * delay, "rtt_measured_ns": 2 * delay}
        rows.append(tiny.run(name, baseline=name == "near", completion_s=end / 1e9, **rtt))
        steps = [
            {
                "step": number, "host": step.host, "part": str(step.part),
                "duration_ns": step.duration_ns, "receiver": step.peer,
            }
            for number, step in enumerate(find(program.hosts(), 0, end, program.rates()))
        ]  # fmt: skip
        for (host,), own in pl.DataFrame(steps).partition_by("host", as_dict=True).items():
            tiny.table(tmp_path, "critical_path", name, host, own.drop("host").to_dicts())
    warehouse = Warehouse(tiny.runs(tmp_path, rows))
    assert contradictions(warehouse, ["time_path", "time_shares"]) == []
    found = warehouse.rows("time_shares").to_dicts()
    return dict(zip(("near", "far"), found, strict=True))


def test_what_the_network_did_beside_computing_is_not_explained(tmp_path: Path) -> None:
    """A worker computes on earlier data: the path takes the job that arrived meanwhile."""
    found = shares(tmp_path, lambda delay: ahead(delay, 20, 30 * MS), (MS // 10, 8 * MS))
    near, far = found["near"], found["far"]
    assert near["not_explained_s"] == 0
    network = sum(far[f"{part}_s"] for part in ("serialisation", "propagation"))
    near_network = sum(near[f"{part}_s"] for part in ("serialisation", "propagation"))
    # The path counts these round trips as waits, although a job was computed meanwhile.
    assert far["not_explained_s"] == pytest.approx(19 * 2 * 7.9e-3, rel=0.01)
    assert far["computing_s"] + far["not_explained_s"] == pytest.approx(near["computing_s"])
    # Exactly the time that the distance costs.
    assert network - near_network == pytest.approx(far["path_s"] - near["path_s"])


def test_propagation_in_proportion_to_the_round_trip_is_the_growth(tmp_path: Path) -> None:
    found = shares(tmp_path, lambda delay: ping_pong(delay, 30, 2 * MS), (MS, 16 * MS))
    near, far = found["near"], found["far"]
    assert far["propagation_s"] == pytest.approx(16 * near["propagation_s"])
    growth = far["path_s"] - near["path_s"]
    assert far["propagation_s"] - near["propagation_s"] == pytest.approx(growth)
    assert far["not_explained_s"] == pytest.approx(0, abs=1e-12)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"), st.sampled_from("abc"), st.integers(0, 90), st.integers(0, 20)
        ).filter(lambda one: one[0] != one[1]),
        min_size=1,
        max_size=30,
    ),
    st.integers(1, 100),
)
def test_any_messages_give_a_path_without_gaps(
    messages: list[tuple[str, str, int, int]], end: int
) -> None:
    program = Program(0)
    for sender, receiver, at, delay in messages:
        program.delays[sender, receiver] = delay * MS
        program.send(sender, receiver, at * MS)
    steps = find(program.hosts(), 0, end * MS, program.rates())
    arrived = [row for row in program.rows if int(str(row["arrival"])) <= end * MS]
    assert bool(steps) == bool(arrived)
    if steps:
        check_whole(steps, 0, end * MS)


def test_parts_of_a_journey_that_was_lost_once() -> None:
    journey = Journey("a", "b", "b", 0, 3 * MS, 9 * MS, 17 * MS, 5 * MS, 2 * 1_486, 2 * MS)
    assert divide(journey, 12e6) == [
        (Part.STALL, 1 * MS),
        (Part.SERIALISATION, 2 * MS),
        (Part.QUEUEING, 3 * MS),
        (Part.RECOVERY, 6 * MS),
        (Part.PROPAGATION, 5 * MS),
    ]


def test_without_a_rate_serialisation_is_queueing() -> None:
    journey = Journey("a", "b", "b", 0, 0, 0, 7 * MS, 5 * MS, 1_486, 2 * MS)
    assert divide(journey, None) == [(Part.QUEUEING, 2 * MS), (Part.PROPAGATION, 5 * MS)]
