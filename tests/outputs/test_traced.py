"""A whole `flowsweep parse`, killed by the kernel at a system call, including the parser's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from writing import hidden_of, in_place

from flowsweep.files.file_sets import reading

#: test_killed.py counts those of Python one by one; all of them if there is time.
CALLS = (
    ("rename", "unlink", "rmdir", "mkdir", "fsync", "fdatasync", "flock", "openat")
    if "FLOWSWEEP_TRACED" in os.environ
    else ("fdatasync",)
)


def traced(call: str, number: int, *command: object) -> int:
    """Runs a command that is killed at its `number`-th call of this kind."""
    inject = f"inject={call}:signal=KILL:when={number}"
    words = ["strace", "-f", "-qq", "-o", os.devnull, "-e", f"trace={call}", "-e", inject]
    return subprocess.run(
        [*words, *map(str, command)], stderr=subprocess.DEVNULL, check=False
    ).returncode


@pytest.fixture(scope="module")
def strace() -> None:
    if shutil.which("strace") is None or traced("openat", 9999, "true") != 0:
        pytest.skip("no strace here, or it may not trace")


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("is_new", [True, False])
def test_parse(strace, nursery, captures, tmp_path, call, is_new):
    whole = []
    for number, path in enumerate(captures):
        out = tmp_path / f"whole{number}"
        assert nursery.run(["parse", path, "-o", out]).codes == [0]
        whole.append(in_place(out))
    if is_new:
        whole[0] = {}
    module = [sys.executable, "-m", "flowsweep"]
    # The interpreter itself opens most files.
    step = 7 if call == "openat" else 1
    for number in range(1, 2000, step):
        out = tmp_path / f"out{number}"
        if not is_new:
            shutil.copytree(tmp_path / "whole0", out)
        code = traced(call, number, *module, "parse", captures[1], "-o", out)
        if code == 0:
            break
        assert code in (-9, 137)
        found = in_place(out)
        assert any(found.items() <= writing.items() for writing in whole)
        with reading(Path(out)):
            assert in_place(out) in whole
        assert hidden_of(tmp_path) == []
    assert number > step
