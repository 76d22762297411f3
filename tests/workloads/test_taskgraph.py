"""Task graphs: the format is read, the last output is right, a connection for every transfer."""

from __future__ import annotations

import common
import graph
import polars as pl
import pytest

from .launch import WORKLOADS, alone, captured, counts_agree

PROBLEM = {"tasks": 80, "unit_ms": 10, "most_bytes": 500_000}
REQUEST_BYTES = 4


@pytest.mark.parametrize("compute", ["busy", "paced"])
def test_last_output_is_that_of_one_process(tmp_path, compute):
    problem = {"tasks": 40, "unit_ms": 2, "unit_rounds": 50}
    done, record = alone("taskgraph", problem, tmp_path, compute=compute)
    assert record is not None, done.stderr
    assert record["correct"] is True
    assert counts_agree(record)
    tasks = {task["task"]: task for task in record["phases"] if task["name"] == "task"}
    assert len(tasks) == 42
    # No task began before its inputs were done; each rank has its own clock.
    for task in graph.generate(40, 1):
        for before in task.inputs:
            first, then = tasks[before], tasks[task.number]
            assert first["rank"] != then["rank"] or first["end_s"] <= then["start_s"]


def test_a_file_of_the_format_is_read_and_run(tmp_path):
    done, record = alone("taskgraph", {"graph": "example.stg", "unit_ms": 2}, tmp_path)
    assert record is not None, done.stderr
    assert record["correct"] is True
    tasks = graph.read(WORKLOADS / "taskgraph" / "example.stg")
    assert len(tasks) == 12
    assert tasks[4] == graph.Task(4, 5, (1, 2))
    # 2, 4, 7, 10: the critical path.
    assert record["answer"]["longest_way_units"] == 7 + 5 + 8 + 3
    assert graph.priorities(tasks)[7] == 8 + 3


@pytest.mark.parametrize("seeds", [range(1, 11), range(11, 21)])
def test_the_longest_way_does_not_grow_with_the_tasks_where_the_reach_does(seeds):
    """Kitatsuji, table 1: 300 tasks take 131.83 s, 500 take 132.52."""

    def longest(count, reach):
        ways = [graph.priorities(graph.generate(count, seed, reach))[0] for seed in seeds]
        return sum(ways) / len(ways)

    assert longest(500, 50) < 1.2 * longest(300, 30)
    assert longest(500, 30) > 1.4 * longest(300, 30)


def test_a_task_has_its_inputs_from_within_its_reach():
    for task in graph.generate(200, 3, 7)[1:-1]:
        assert all(task.number - 7 <= before < task.number for before in task.inputs)


def test_paced_work_takes_the_longest_way_at_least(tmp_path, measurement):
    def seconds():
        done, record = alone("taskgraph", {"graph": "example.stg", "unit_ms": 20}, tmp_path)
        assert record is not None, done.stderr
        return record["completion_s"]

    def check(seconds):
        assert 0.46 <= seconds <= 3

    measurement(seconds).holds(check)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: the end, expected the number of tasks"),
        ("2\n0 0 0\n1 3 1 0\n", "line 3: the end, expected 4 tasks"),
        ("1\n0 0 0\n1 3 2 0\n2 0 1 1\n", "line 3: [1, 3, 2, 0], expected 1, its time"),
        ("1\n0 0 0\n1 3 1 9\n2 0 1 1\n", "expected predecessors below 3"),
        ("1\n0 0 0\n1 x 1 0\n2 0 1 1\n", "expected whole numbers"),
        ("2\n0 0 0\n1 3 1 2\n2 3 1 1\n3 0 1 1\n", "expected a graph without circles"),
    ],
)
def test_what_is_no_task_graph_is_reported_with_its_line(tmp_path, text, message):
    path = tmp_path / "bad.stg"
    path.write_text(text)
    with pytest.raises(common.BadProblemError) as caught:
        graph.read(path)
    assert message in str(caught.value).replace("'", "")


@pytest.fixture(scope="module")
def measured(namespaces, tmp_path_factory, measurement):
    """A short run with captures."""
    return measurement(
        lambda: captured(
            "taskgraph", PROBLEM, tmp_path_factory.mktemp("taskgraph"), "buffer=256KiB"
        )
    )


def transfers_over_network(run, rank: int, end: str) -> list[int]:
    """Returns the sizes of a rank's transfers from (end: to) or to (from) other hosts."""
    hosts = run.record["ranks"]
    return [
        span["bytes"]
        for span in run.application["transfers"]
        if span[end] == rank and hosts[span["from"]] != hosts[span["to"]]
    ]


def test_every_transfer_is_a_connection_of_its_own(measured):
    # Idle ranks get tasks first, so the assignment varies.
    measured.holds(check_transfers)


def check_transfers(run) -> None:
    assert run.application["correct"] is True
    rank = run.record["ranks"].index("pc3")
    fetched = transfers_over_network(run, rank, "to")
    given = transfers_over_network(run, rank, "from")
    assert len(fetched) + len(given) >= 40
    # The response to a request of 4 bytes, from the side that accepted the connection.
    flows = run.table("pc3", "flows").filter(pl.col("protocol") == "tcp")
    asked = flows.filter(
        (pl.col("direction") == "forward") & (pl.col("payload_bytes") == REQUEST_BYTES)
    )
    answers = flows.filter(pl.col("direction") == "backward").join(
        asked.select("connection"), "connection"
    )
    assert sorted(answers["payload_bytes"] - answers["retransmitted_bytes"]) == sorted(
        fetched + given
    )


def test_flows_are_many_and_of_all_sizes_and_durations(measured):
    """Kitatsuji, figure 4 (b)."""
    measured.holds(check_flows)


def check_flows(run) -> None:
    flows = run.table("pc3", "flows").filter(pl.col("direction") == "backward")
    sizes = flows["payload_bytes"].filter(flows["payload_bytes"] > 0)
    assert len(sizes) >= 40
    decades = {len(str(size)) for size in sizes}
    assert {3, 4, 5, 6} <= decades
    assert flows["duration_ns"].max() > 100 * flows["duration_ns"].min()
