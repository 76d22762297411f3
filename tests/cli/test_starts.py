"""A started program and a fork of it (`forks`) print and exit alike."""

from __future__ import annotations

import subprocess
from pathlib import Path

import forks
import pytest

from flowsweep.cli import COMMANDS

WORDS = [
    ("flowsweep",),
    ("flowsweep", "--version"),
    ("flowsweep", "nothing"),
    ("flowsweep", "query", "totals", "nowhere"),
    ("flowsweep", "columns", "flows"),
    # With an existing file it would also print who uses the testbed at the moment.
    ("flowsweep", "plan", "nowhere.yaml"),
    *[("flowsweep", command, "--help") for command in COMMANDS],
    ("snakemake", "--version"),
    ("snakemake", "--dry-run"),
]


@pytest.mark.parametrize("words", WORDS, ids=lambda words: " ".join(map(str, words)))
def test_a_start_and_a_fork_are_alike(words: tuple[object, ...], tmp_path: Path) -> None:
    program, *arguments = map(str, words)
    started = subprocess.run(
        [forks.BIN / program, *arguments],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    forked = forks.run(program, *arguments, cwd=tmp_path)
    assert started.stdout or started.stderr
    assert (forked.returncode, forked.stdout, forked.stderr) == (
        started.returncode, started.stdout, started.stderr,
    )  # fmt: skip


def test_a_fork_reads_what_it_is_given_and_is_stopped_in_time(tmp_path: Path) -> None:
    fed = forks.run("flowsweep", "show", "-", data=b"no capture")
    assert fed.returncode == 2
    assert 'text that begins with "no capture"' in fed.stderr
    (tmp_path / "ring").mkdir()
    with pytest.raises(subprocess.TimeoutExpired):
        forks.run("flowsweep", "watch", "ring", cwd=tmp_path, timeout=0.5)
    assert forks.run("flowsweep", "--version").returncode == 0


def test_what_python_reads_at_its_start_is_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONINSPECT", "")
    monkeypatch.setenv("PYTHONVERBOSE", "1")
    assert "import 'flowsweep'" in forks.run("flowsweep", "--version").stderr
