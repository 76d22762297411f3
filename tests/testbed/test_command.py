"""Any program as the workload: where it runs, what it is told, how it is timed, how it fails."""

from __future__ import annotations

import itertools
import json

import pytest

EXPERIMENT = """\
sites: {west: [pc1, pc2], east: [pc3]}
link: {rtt: 10ms, rate: 100Mbit/s}
workload:
  command: COMMAND
  where: WHERE
  problem: {size: 3}
repetitions: 1
warmup: 0
timeout: 200s
limits: {other_programs: 100%, cpu_pressure: 100%, lateness: 100ms}
"""


@pytest.fixture
def make(tmp_path, namespaces, flowsweep):
    runs = itertools.count()

    def run(command: str, where: str = "hosts", **replaced: str):
        text = EXPERIMENT.replace("COMMAND", json.dumps(command)).replace("WHERE", where)
        for old, new in replaced.items():
            text = text.replace(old, new)
        (tmp_path / "own.yaml").write_text(text)
        output = tmp_path / f"run{next(runs)}"
        done = flowsweep("run", tmp_path / "own.yaml", "-o", output)
        record = json.loads((output / "run.json").read_text())
        assert done.returncode == (record["status"] == "failed"), done.stderr
        return record, (output / "program.log").read_text().splitlines()

    return run


def test_it_runs_on_every_host_and_knows_the_others(make):
    record, said = make(
        "echo $FLOWSWEEP_RANK $FLOWSWEEP_RANKS $FLOWSWEEP_HOST $(hostname) $FLOWSWEEP_PROBLEM "
        "$FLOWSWEEP_HOSTS $FLOWSWEEP_SITES"
    )
    addresses = "pc1=10.77.1.1,pc2=10.77.1.2,pc3=10.77.2.1 pc1=west,pc2=west,pc3=east"
    assert sorted(said) == [
        f'{rank} 3 {host} {host} {{"size": 3}} {addresses}'
        for rank, host in enumerate(["pc1", "pc2", "pc3"])
    ]
    assert record["status"] == "valid", record["reason"]


@pytest.mark.parametrize(("where", "host"), [("first", "pc1"), ("hub", "hub")])
def test_it_runs_where_it_is_told(make, where, host):
    _, said = make("hostname", where)
    assert said == [host]


def test_its_time_is_from_its_start_to_the_end_of_the_last_process(make, measurement):
    def check(record):
        # Starting a process on a host takes some milliseconds, more on busy cores.
        assert 0.5 <= record["completion_s"] <= 1.0
        assert record["application"]["timed"] == "by the testbed"

    measurement(lambda: make("sleep 0.$((FLOWSWEEP_RANK + 3))")[0]).holds(check)


def test_it_may_time_itself(make):
    record, _ = make("""echo '{"completion_s": 1.5, "answer": 42}' > $FLOWSWEEP_OUTPUT""", "first")
    assert record["completion_s"] == 1.5
    assert record["application"]["answer"] == 42


def test_one_that_fails_ends_the_others_and_is_told(make):
    record, _ = make('test $FLOWSWEEP_HOST != pc2 && exec sleep 99; echo "error: disk" >&2; exit 3')
    assert record["status"] == "failed"
    assert record["reason"] == "exit code 3: disk"
    assert record["cost_s"]["program"] < 60


def test_one_that_does_not_end_is_ended(make):
    record, _ = make("sleep 99 & sleep 99", **{"200s": "1s"})
    assert record["reason"].startswith("not finished after 1 s")
    assert "serve" not in record["reason"]


def test_a_server_that_is_no_server_to_us_is_told_where_it_belongs(make):
    record, _ = make("test $FLOWSWEEP_HOST != pc3 || exec sleep 99", **{"200s": "1s"})
    expected = "not finished after 1 s on pc3, where others were; a server belongs under `serve`"
    assert record["reason"] == expected


def test_what_a_killed_program_had_not_finished_is_no_part_of_the_run(make, tmp_path):
    record, _ = make('touch "${FLOWSWEEP_OUTPUT%/*}/.app.json.part"; kill -9 $$', "first")
    assert record["status"] == "failed"
    assert not list(tmp_path.rglob(".*"))
