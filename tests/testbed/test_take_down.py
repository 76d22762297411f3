"""After any kill, no process, network or half-written run is left."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from flowsweep.testbed.program import Ended

from .conftest import (
    FLOWSWEEP,
    LIMIT_S,
    SLOW_EXPERIMENT,
    descendants,
    hub_of,
    named,
    network_namespaces,
    wait_gone,
    wait_running,
)


@pytest.fixture
def running(experiment, tmp_path):
    """A run in the middle of its program, with all its processes."""
    experiment.write_text(SLOW_EXPERIMENT)
    output = tmp_path / "runs" / "one"
    process = subprocess.Popen(
        [*FLOWSWEEP, "run", str(experiment), "-o", str(output)],
        stderr=subprocess.PIPE,
        text=True,
        # Ctrl-C in a terminal reaches a whole process group; here only this one.
        start_new_session=True,
    )
    yield process, wait_running(process), output, experiment
    if process.poll() is None:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGKILL, -9)],
)
def test_nothing_is_left_when_the_command_is_stopped(running, number, code):
    process, tree, output, _ = running
    networks = network_namespaces(tree)
    assert len(networks) == 5  # hub, wan and three hosts
    process.send_signal(number)
    assert process.wait(LIMIT_S) == code
    assert wait_gone(tree) == {}
    names = [path.name for path in Path("/proc").iterdir()]
    everything = {int(name): "" for name in names if name.isdigit()}
    assert not networks & network_namespaces(everything)
    assert not output.exists()
    if number != signal.SIGKILL:
        assert list(output.parent.iterdir()) == []


@pytest.mark.parametrize("victim", ["unshare", "hub", "flowsweep-wan", "flowsweep-captu"])
def test_run_fails_with_a_message_when_a_part_is_killed(running, victim):
    process, tree, output, _ = running
    pid = hub_of(tree) if victim == "hub" else named(tree, victim)
    os.kill(pid, signal.SIGKILL)
    _, errors = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 2
    # The command may have waited for another run on this machine first.
    assert errors[errors.index("error:") :].startswith("error: testbed:"), errors
    assert "remedy" in errors
    assert wait_gone(tree) == {}
    assert list(output.parent.iterdir()) == []


def test_next_run_works_after_a_killed_one(running, flowsweep):
    process, tree, output, experiment = running
    process.kill()
    process.wait()
    experiment.write_text(experiment.read_text().replace("node_ns: 500000", "node_ns: 1000"))
    done = flowsweep("run", experiment, "-o", output)
    assert done.returncode == 0, done.stderr
    assert wait_gone(tree) == {}
    assert json.loads((output / "run.json").read_text())["application"]["correct"] is True
    assert [path.name for path in output.parent.iterdir()] == ["one"]


def test_a_second_run_waits_for_the_first(running, experiment):
    process, *_ = running
    second = subprocess.Popen(
        [*FLOWSWEEP, "testbed", "shell", str(experiment), "--", "true"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert second.stderr is not None
    line = second.stderr.readline()
    assert line.startswith("waiting: the testbed of this machine is used by run nqueens"), line
    assert second.poll() is None
    process.terminate()
    assert second.wait(LIMIT_S) == 0


@pytest.mark.parametrize(
    ("victim", "status", "reason"),
    [
        ("mpirun", "invalid", "mpirun was killed by SIGKILL"),
        ("daemon", "invalid", "mpirun lost its daemon on pc"),
        # Another rank may report it before mpirun does.
        (
            "rank",
            "failed",
            "killed by SIGKILL|lost its connection to another one",
        ),
    ],
)
def test_a_killed_part_of_the_program_is_reported_and_leaves_nothing(
    running, victim, status, reason
):
    process, tree, output, _ = running
    launchers = [pid for pid, name in tree.items() if name.startswith(("prte", "mpirun"))]
    rank = max(descendants(launchers[-1]).keys() - {launchers[-1]})
    pid = {"mpirun": launchers[0], "daemon": launchers[-1], "rank": rank}[victim]
    os.kill(pid, signal.SIGKILL)
    _, errors = process.communicate(timeout=LIMIT_S)
    # 1 if the program failed; 0 if another fault made the run invalid.
    assert process.returncode == int(status == "failed"), errors
    record = json.loads((output / "run.json").read_text())
    assert record["status"] == status
    assert re.search(reason, record["reason"])
    assert record["completion_s"] is None
    assert wait_gone(tree) == {}


@pytest.mark.parametrize(
    ("where", "what", "expected"),
    [
        (
            "Socket closed",
            "on a NULL communicator\n[pc1:00000] *** Unknown error",
            "rank 1 lost its connection to another one, which was killed, or crashed",
        ),
        (
            "MPI_Recv",
            "on communicator MPI_COMM_WORLD\n[pc1:00000] *** MPI_ERR_TRUNCATE: message truncated",
            "rank 1: MPI_Recv: MPI_ERR_TRUNCATE: message truncated",
        ),
    ],
)
def test_the_message_of_a_rank_about_mpi_is_the_reason(
    where: str, what: str, expected: str
) -> None:
    stderr = (
        f"[pc1:00000] *** An error occurred in {where}\n"
        f"[pc1:00000] *** reported by process [1147076609,1]\n"
        f"[pc1:00000] *** {what}\n"
        "[pc1:00000] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,\n"
    )
    assert Ended(14, stderr, "", 1.0).failure == f"exit code 14: {expected}"
    stderr += (
        "prterun noticed that process rank 0 with PID 8 on node pc1 exited on\nsignal 9 (Killed).\n"
    )
    failure = Ended(137, stderr, "", 1.0).failure
    assert failure is not None
    assert "killed by SIGKILL" in failure
    assert "rank 0" in failure


def test_a_child_of_the_shell_before_it_is_not_waited_for(experiment, tmp_path):
    """A `tee` for standard error, for example, ends only with the command."""
    words = [*FLOWSWEEP, "run", str(experiment), "-o", str(tmp_path / "one")]
    done = subprocess.run(
        ["bash", "-c", 'exec "$@" 2> >(cat >&2)', "bash", *words],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stderr
    assert "left processes" not in done.stderr
