"""The axis `beside`: another workload of the file runs next to that of the run."""

from __future__ import annotations

import pytest

from flowsweep import experiment
from flowsweep.errors import FlowsweepError
from flowsweep.experiment.estimate import OVERHEAD_S, estimate
from flowsweep.testbed import describe, workloads

FILE = """\
sites: {west: [pc1, pc2], east: [pc3]}
link: {rtt: 1ms, rate: 100Mbit/s}
workload:
  - app: nqueens
    problem: {board: 8}
    expect: 2s
    axes: {AXES}
  - app: jigsaw
    ranks_per_host: 2
    problem: {side: 4, colours: 9}
    expect: 3s
  - name: served
    command: "true"
    serve: {command: sleep 9, hosts: [pc1]}
    expect: 3s
repetitions: 1
warmup: 0
"""


@pytest.fixture
def load(tmp_path):
    def write(axes: str, more: str = ""):
        path = tmp_path / "two.yaml"
        path.write_text(FILE.replace("AXES", axes) + more)
        return experiment.load(path)

    return write


def ids(loaded) -> set[str]:
    return {run.id for run in loaded.plan() if run.app == "nqueens" and not run.baseline}


def test_another_workload_or_the_same_is_named_in_the_run(load):
    loaded = load("beside: [jigsaw, nqueens]")
    assert ids(loaded) == {"nqueens-beside_jigsaw-r1", "nqueens-beside_nqueens-r1"}
    run = loaded.find_run("nqueens-beside_jigsaw-r1")
    assert run.summary().endswith("beside=jigsaw")
    spec = run.spec()
    assert spec["axes"]["beside"] == {"asked": "jigsaw"}
    assert spec["beside"] == {
        "app": "jigsaw", "program": "jigsaw", "problem": {"side": 4, "colours": 9},
        "compute": "paced", "where": None, "workers": {"pc1": 2, "pc2": 2, "pc3": 2},
    }  # fmt: skip
    alone = loaded.find_run("nqueens-baseline-r1")
    assert alone.beside is None
    assert "beside" not in alone.spec()
    assert "beside" not in alone.spec()["axes"]


def test_what_runs_beside_it_decides_what_the_run_is(load):
    once = load("beside: [jigsaw]").find_run("nqueens-beside_jigsaw-r1").spec_hash()
    assert load("beside: [jigsaw]").find_run("nqueens-beside_jigsaw-r1").spec_hash() == once
    path = load("beside: [jigsaw]").path
    path.write_text(path.read_text().replace("colours: 9", "colours: 8"))
    assert experiment.load(path).find_run("nqueens-beside_jigsaw-r1").spec_hash() != once


def test_the_testbed_gets_both_programs(load, tmp_path):
    run = load("beside: [jigsaw]").run_at({"beside": "jigsaw", "hosts": "1"})
    made = workloads.find(run.workload).on(describe.spec_of(run), run, tmp_path / "app.json")
    other = made.beside
    assert other is not None
    assert (other.app, other.start) == ("jigsaw", "mpirun")
    # Its master, and two ranks on each of the remaining hosts.
    assert other.ranks == ["pc1", "pc1", "pc1", "pc3", "pc3"]
    assert any("jigsaw" in word for word in other.program)
    assert not any("jigsaw" in word for word in made.program)
    assert str(tmp_path) not in " ".join(other.program)
    assert type(made).from_json(made.to_json()) == made


def test_the_estimate_has_the_start_of_a_second_program(load, tmp_path):
    runs = [run for run in load("beside: [jigsaw]").plan() if run.app == "nqueens"]
    expected = 3 * (2 + OVERHEAD_S) + OVERHEAD_S
    assert estimate(runs, tmp_path).seconds == pytest.approx(expected)


@pytest.mark.parametrize(
    ("axes", "more", "part"),
    [
        ("beside: [lu]", "", 'beside: no workload is called "lu"'),
        ("beside: [served]", "", "beside: served needs servers"),
        ("beside: [Jigsaw]", "", "beside"),
        ("beside: [jigsaw, jigsaw]", "", "listed twice"),
        ("beside: [jigsaw]", "testbed: {kind: slurm}\n", "in network namespaces alone"),
        ("beside: [jigsaw]", "design: [[beside, rate=0Mbit/s]]\n", "not possible"),
        ("beside: [jigsaw]", "design: [[beside, rate=5]]\n", "unit"),
        ("beside: [jigsaw]", "design: [[beside, ranks=2]]\n", "no axis that may be kept"),
        ("beside: [jigsaw]", "design: [[beside, problem=2]]\n", "no axis that may be kept"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(load, axes, more, part):
    with pytest.raises(FlowsweepError) as caught:
        load(axes, more)
    assert part in str(caught.value)
    assert "line" in str(caught.value)


@pytest.mark.parametrize("name", ["lu", "served"])
def test_a_setting_that_names_no_such_workload_is_refused(load, name):
    with pytest.raises(FlowsweepError, match=f"--set beside={name}: no workload without servers"):
        load("").run_at({"beside": name})


def test_a_group_may_keep_an_axis_at_one_value(load):
    axes = "beside: [jigsaw, nqueens], rate: [50Mbit/s, 8Mbit/s]"
    loaded = load(axes, "design: [[beside, rate=8Mbit/s]]\n")
    assert ids(loaded) == {
        "nqueens-rate_50Mbit-r1", "nqueens-rate_8Mbit-r1",
        "nqueens-rate_8Mbit-beside_jigsaw-r1", "nqueens-rate_8Mbit-beside_nqueens-r1",
    }  # fmt: skip
    # The other workloads do not vary this axis, so it adds no runs of theirs.
    assert {run.id for run in loaded.plan() if run.app == "jigsaw"} == {
        "jigsaw-baseline-r1",
        "jigsaw-baseline-r2",
    }


def test_what_is_kept_need_not_be_swept_and_is_the_reference(load):
    loaded = load("beside: [jigsaw]", "design: [[beside, rate=2Mbit/s]]\n")
    assert ids(loaded) == {"nqueens-rate_2Mbit-r1", "nqueens-rate_2Mbit-beside_jigsaw-r1"}
