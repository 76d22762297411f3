"""The Slurm of the other tests: its nodes are isolated, and nothing is left of it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from .conftest import BOX


def left(folder: Path) -> list[str]:
    """Returns names of processes that see a box's configuration instead of the machine's."""
    found = []
    for path in Path("/proc").glob("[0-9]*/mountinfo"):
        try:
            if f"{folder}/box/etc /etc/slurm " in path.read_text():
                found.append((path.parent / "comm").read_text().strip())
        except OSError:
            continue
    return found


def gone(folder: Path) -> bool:
    until = time.monotonic() + 10
    while left(folder):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def test_four_nodes_are_apart_and_all_is_gone_at_the_end(box, tmp_path: Path) -> None:
    script = """
timeout 20 srun -N4 sh -c 'echo $(hostname) $(readlink /proc/self/ns/net)' | sort
timeout 20 srun -w n2 touch /run/local/mark
timeout 20 srun -N4 sh -c 'test ! -e /run/local/mark || hostname'
timeout 20 srun -w n1 ping -qc1 -W2 10.78.0.14 >/dev/null && echo reached
"""
    lines = box(script).stdout.splitlines()
    nodes = [line.split() for line in lines[:4]]
    assert [name for name, _ in nodes] == ["n1", "n2", "n3", "n4"]
    assert len({network for _, network in nodes}) == 4
    assert lines[4:] == ["n2", "reached"]
    assert gone(tmp_path)


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_box_leaves_no_process(slurm: None, tmp_path: Path, by: signal.Signals) -> None:
    words = [BOX, tmp_path / "box", "2", "sh", "-c", f"touch {tmp_path}/up; sleep 60"]
    process = subprocess.Popen([*map(str, words)], stderr=subprocess.DEVNULL)
    until = time.monotonic() + 40
    while not (tmp_path / "up").exists():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.05)
    assert {"munged", "slurmctld", "slurmd"} <= set(left(tmp_path))
    os.kill(process.pid, by)
    process.wait(10)
    assert gone(tmp_path)


def test_the_exit_code_is_that_of_the_command(box) -> None:
    box("exit 7", nodes=1, code=7)
