"""Any program as the workload: its hosts, environment, timing and failures."""

from __future__ import annotations

import itertools
import json
from datetime import datetime

import polars as pl
import pytest

import flowsweep

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
    record, output = make(
        "echo $FLOWSWEEP_RANK $FLOWSWEEP_RANKS $FLOWSWEEP_HOST $(hostname) $FLOWSWEEP_PROBLEM "
        "$FLOWSWEEP_HOSTS $FLOWSWEEP_SITES"
    )
    addresses = "pc1=10.77.1.1,pc2=10.77.1.2,pc3=10.77.2.1 pc1=west,pc2=west,pc3=east"
    assert sorted(output) == [
        f'{rank} 3 {host} {host} {{"size": 3}} {addresses}'
        for rank, host in enumerate(["pc1", "pc2", "pc3"])
    ]
    assert record["status"] == "valid", record["reason"]


@pytest.mark.parametrize(("where", "host"), [("first", "pc1"), ("hub", "hub")])
def test_it_runs_on_the_named_hosts(make, where, host):
    _, output = make("hostname", where)
    assert output == [host]


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


def test_one_that_fails_ends_the_others_and_is_reported(make):
    record, _ = make('test $FLOWSWEEP_HOST != pc2 && exec sleep 99; echo "error: disk" >&2; exit 3')
    assert record["status"] == "failed"
    assert record["reason"] == "exit code 3: disk"
    assert record["cost_s"]["program"] < 60


def test_one_that_does_not_end_is_ended(make):
    record, _ = make("sleep 99 & sleep 99", **{"200s": "1s"})
    assert record["reason"].startswith("not finished after 1 s")
    assert "serve" not in record["reason"]


def test_a_server_that_is_no_server_to_us_is_reported_with_its_place(make):
    record, _ = make("test $FLOWSWEEP_HOST != pc3 || exec sleep 99", **{"200s": "1s"})
    expected = "not finished after 1 s on pc3, where others were; a server belongs under `serve`"
    assert record["reason"] == expected


def test_what_a_killed_program_had_not_finished_is_no_part_of_the_run(make, tmp_path):
    record, _ = make('touch "${FLOWSWEEP_OUTPUT%/*}/.app.json.part"; kill -9 $$', "first")
    assert record["status"] == "failed"
    assert not list(tmp_path.rglob(".*"))


HALO = """\
cat >halo-$FLOWSWEEP_RANK.py <<'END'
from mpi4py import MPI
import os
world = MPI.COMM_WORLD
right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
for _ in range(8):
    world.Sendrecv(bytes(250_000), dest=right, recvbuf=bytearray(250_000), source=left)
print(os.environ["FLOWSWEEP_RANK"], os.environ["FLOWSWEEP_HOST"], world.rank, world.size)
END
exec python3 halo-$FLOWSWEEP_RANK.py
"""


def test_an_mpi_program_is_one_world_whose_messages_cross_the_link(make, tmp_path):
    record, printed = make(HALO, "mpi")
    assert sorted(printed) == [f"{rank} pc{rank + 1} {rank} 3" for rank in range(3)]
    assert record["status"] == "valid", record["reason"]
    assert record["application"]["timed"] == "by rank 0"
    # mpirun starts before the ranks and ends after them.
    started, ended = (datetime.fromisoformat(record[name]) for name in ("start", "end"))
    assert 0 < record["completion_s"] < (ended - started).total_seconds()
    for source, target in (("pc2", "pc3"), ("pc3", "pc1")):
        addresses = {host["name"]: host["address"] for host in record["hosts"]}
        flows = pl.DataFrame(flowsweep.read_flows(tmp_path / "run0" / f"{source}.pcap.zst"))
        sent = flows.filter(src_ip=addresses[source], dst_ip=addresses[target])
        payload = sent["payload_bytes"].sum() - sent["retransmitted_bytes"].sum()
        # MPI puts a header in front of each piece of a message.
        assert 8 * 250_000 <= payload < 1.01 * 8 * 250_000


def test_an_mpi_program_that_fails_is_reported(make):
    record, _ = make('test $FLOWSWEEP_RANK != 1 || { echo "error: disk" >&2; exit 3; }', "mpi")
    assert record["status"] == "failed"
    assert "disk" in record["reason"]


def test_messages_on_the_network_that_nothing_emulates_spoil_a_run(make):
    agent = '--prtemca plm_ssh_agent "$(dirname "$(command -v on)")/agent"'
    hosts = "--host pc1:1,pc2:1,pc3:1 -np 3"
    command = HALO.replace("exec python3", f"exec mpirun {hosts} {agent} python3")
    command = command.replace('os.environ["FLOWSWEEP_HOST"], ', "")
    record, _ = make(command.replace("halo-", "$PWD/halo-"), "hub", **{"warmup: 0": "retries: 0"})
    assert record["status"] == "invalid"
    assert "MB went over the management network" in record["reason"]


def test_a_program_that_does_not_use_the_link_is_warned_of(tmp_path, namespaces, flowsweep):
    path = tmp_path / "own.yaml"
    path.write_text(EXPERIMENT.replace("COMMAND", '"true"').replace("WHERE", "hosts"))
    done = flowsweep("run", path, "-o", tmp_path / "run")
    assert "no packet crossed a link" in done.stdout + done.stderr


def test_the_example_of_an_mpi_program_runs(tmp_path, namespaces, flowsweep, root):
    file = root / "workflows/experiments/mpi.yaml"
    done = flowsweep("run", file, "--set", "rtt=10ms", "-o", tmp_path / "one")
    record = json.loads((tmp_path / "one/run.json").read_text())
    assert record["status"] != "failed", (record["reason"], done.stderr)
    # Each step waits for a message that crosses the link one way.
    assert 20 * 0.005 < record["completion_s"] < 20
