"""Whatever is killed, and however: no process, network or half-written run is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from .conftest import FLOWSWEEP, LIMIT_S, descendants, is_running, network_namespaces


@pytest.fixture
def running(experiment, tmp_path):
    """A run in the middle of its program, and all its processes."""
    # Half a minute of work on a quiet machine: it does not end before it is killed.
    slow = experiment.read_text().replace("board: 10, node_ns: 5000", "board: 11, node_ns: 500000")
    experiment.write_text(slow)
    output = tmp_path / "runs" / "one"
    process = subprocess.Popen(
        [*FLOWSWEEP, "run", str(experiment), "-o", str(output)],
        stderr=subprocess.PIPE,
        text=True,
        # A terminal's Ctrl-C reaches a whole group: this one only.
        start_new_session=True,
    )
    end = time.monotonic() + LIMIT_S
    tree, before = descendants(process.pid), None
    # What only starts others is gone a moment later.
    while not (all_run(tree) and tree == before):
        assert process.poll() is None
        assert time.monotonic() < end, f"the program did not start: {tree}"
        time.sleep(0.3)
        before, tree = tree, descendants(process.pid)
    yield process, tree, output, experiment
    if process.poll() is None:
        process.kill()
        process.wait()


def all_run(tree: dict[int, str]) -> bool:
    """Whether mpirun, its daemons, and the ranks are there."""
    return sum(name.startswith("prte") for name in tree.values()) >= 4 and len(tree) >= 17


def wait_gone(tree: dict[int, str]) -> dict[int, str]:
    """What is still running after some time."""
    end = time.monotonic() + 60
    left = dict(tree)
    while left and time.monotonic() < end:
        left = {pid: name for pid, name in left.items() if is_running(pid)}
        time.sleep(0.02)
    return left


def named(tree: dict[int, str], name: str) -> int:
    return next(pid for pid, found in tree.items() if found == name)


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
    if victim == "hub":
        # The only process whose parent is `unshare`.
        children = descendants(named(tree, "unshare"))
        pid = min(pid for pid in children if pid != named(tree, "unshare"))
    else:
        pid = named(tree, victim)
    os.kill(pid, signal.SIGKILL)
    _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 2
    # Somebody else's run on this machine may have been waited for.
    assert said[said.index("error:") :].startswith("error: testbed:"), said
    assert "remedy" in said
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


@pytest.mark.parametrize("victim", ["mpirun", "daemon", "rank"])
def test_a_killed_part_of_the_program_is_a_failed_run_that_leaves_nothing(running, victim):
    process, tree, output, _ = running
    launchers = [pid for pid, name in tree.items() if name.startswith(("prte", "mpirun"))]
    rank = max(descendants(launchers[-1]).keys() - {launchers[-1]})
    pid = {"mpirun": launchers[0], "daemon": launchers[-1], "rank": rank}[victim]
    os.kill(pid, signal.SIGKILL)
    _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, said
    record = json.loads((output / "run.json").read_text())
    assert record["status"] == "failed"
    assert record["completion_s"] is None
    assert wait_gone(tree) == {}
