"""A real Slurm of four nodes, each with its own name, network and disk."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BOX = ROOT / "tests" / "cluster" / "slurm_box.sh"
FLOWSWEEP = f"'{sys.executable}' -m flowsweep"
ASKING_SNAKEMAKE = f"'{sys.executable}' '{ROOT}/tests/cluster/asking_snakemake.py'"
LIMIT_S = 600.0  # only a hang takes longer
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def slurm(namespaces: None) -> None:
    """Skips where Slurm is not installed."""
    path = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
    for program in ("slurmctld", "slurmd", "srun", "munged"):
        if shutil.which(program, path=path) is None:
            pytest.skip(f"no {program} (apt install slurm-wlm munge)")


@pytest.fixture
def box(tmp_path: Path, slurm: None) -> Run:
    """Runs a bash script on the head of a new Slurm; `flowsweep` is a command in it."""

    def run(
        script: str, nodes: int = 4, code: int = 0, folder: str = "box"
    ) -> subprocess.CompletedProcess[str]:
        whole = f'set -u\nflowsweep() {{ {FLOWSWEEP} "$@"; }}\nexport -f flowsweep\n{script}'
        words = [BOX, tmp_path / folder, nodes, "bash", "-c", whole]
        process = subprocess.Popen(
            [*map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )
        try:
            out, err = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=30)
            pytest.fail(f"not finished after {LIMIT_S:g} s: {out}{err}")
        assert process.returncode == code, f"{process.returncode}: {out}{err}"
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    return run


@pytest.fixture
def flowsweep():
    """Runs `flowsweep` to its end."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "flowsweep", *map(str, arguments)]
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=LIMIT_S)

    return run
