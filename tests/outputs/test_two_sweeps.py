"""Two snakemakes on one sweep: the second is refused in one message, the first goes on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


@pytest.fixture
def sweep(root, tmp_path):
    """Starts a sweep over two runs of the demo that were captured earlier."""
    demo = root / "workflows/experiments/captured/demo/runs"
    for run in ("nqueens-baseline-r1", "nqueens-rtt_64ms-r1"):
        shutil.copytree(demo / run, tmp_path / "mine/runs" / run)
    (tmp_path / "mine/experiment.yaml").write_text("title: two at once\n")

    def start(*options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [
                Path(sys.executable).parent / "snakemake",
                *("--snakefile", root / "Snakefile"),
                *("--configfile", tmp_path / "mine/experiment.yaml"),
                *options,
            ],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )

    return start


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline, path
        time.sleep(0.01)


def test_the_second_is_refused_and_the_first_goes_on(sweep, tmp_path):
    with sweep() as first:
        wait_for(tmp_path / "results/mine/.flowsweep-sweep.lock")
        with sweep() as second:
            said = second.communicate()[0]
        assert first.poll() is None, first.communicate()
        told = first.communicate()[0]
    assert second.returncode == 1
    assert "results/mine: another sweep works here, and goes on" in said
    assert f"(process {first.pid})" in said
    assert "Traceback" not in said
    assert len(said.splitlines()) < 12, said
    assert first.returncode == 0, told
    assert "another sweep" not in told
    assert (tmp_path / "results/mine/report.html").exists()
    with sweep() as third:
        assert "Nothing to be done" in third.communicate()[0]
    assert third.returncode == 0


def test_a_killed_one_leaves_no_lock(sweep, tmp_path):
    with sweep() as first:
        wait_for(tmp_path / "results/mine/.flowsweep-sweep.lock")
        os.killpg(first.pid, signal.SIGKILL)
    with sweep("--until", "runs") as second:
        said = second.communicate()[0]
    assert second.returncode == 0, said
    assert (tmp_path / "results/mine/tables/runs.parquet").exists()
