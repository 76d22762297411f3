"""Two snakemakes on one sweep: the second is refused with one message, the first continues."""

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
    """Starts a sweep over two captured runs of the demo."""
    demo = root / "workflows/experiments/captured/demo/runs"
    for run in ("nqueens-baseline-r1", "nqueens-rtt_64ms-r1"):
        shutil.copytree(demo / run, tmp_path / "mine/runs" / run)
    (tmp_path / "mine/experiment.yaml").write_text("title: two at once\n")

    def start(*options: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [
                Path(sys.executable).parent / "snakemake",
                *("--snakefile", root / "Snakefile"),
                *("--configfile", tmp_path / "mine/experiment.yaml"),
                *options,
            ],
            cwd=tmp_path,
            env=os.environ | environment,
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
            waiting_output = second.communicate()[0]
        assert first.poll() is None, first.communicate()
        output = first.communicate()[0]
    assert second.returncode == 1
    assert "results/mine: another sweep or report works here" in waiting_output
    assert f"(process {first.pid})" in waiting_output
    assert "Traceback" not in waiting_output
    assert len(waiting_output.splitlines()) < 12, waiting_output
    assert first.returncode == 0, output
    assert "another sweep" not in output
    assert (tmp_path / "results/mine/report.html").exists()
    with sweep() as third:
        assert "Nothing to be done" in third.communicate()[0]
    assert third.returncode == 0


def test_a_killed_one_leaves_no_lock(sweep, tmp_path):
    with sweep() as first:
        wait_for(tmp_path / "results/mine/.flowsweep-sweep.lock")
        os.killpg(first.pid, signal.SIGKILL)
    with sweep("--until", "runs") as second:
        output = second.communicate()[0]
    assert second.returncode == 0, output
    assert (tmp_path / "results/mine/tables/runs.parquet").exists()


def test_a_sweep_leaves_no_file_in_the_home_folder_nor_in_that_for_temporary_ones(sweep, tmp_path):
    places = {"HOME": tmp_path / "home", "TMPDIR": tmp_path / "temporary"}
    for folder in places.values():
        folder.mkdir()
    caches = {name: "" for name in os.environ if name.startswith("XDG_")}
    with sweep(**caches, **{name: str(folder) for name, folder in places.items()}) as process:
        output = process.communicate()[0]
    assert process.returncode == 0, output
    assert (tmp_path / "results/mine/report.html").exists()
    assert list(places["TMPDIR"].iterdir()) == []
    # Snakemake creates folders there, and flowsweep does not.
    left = [path.relative_to(places["HOME"]) for path in places["HOME"].rglob("*")]
    assert all(str(path).startswith(".cache") for path in left)
    assert not [path for path in left if (places["HOME"] / path).is_file()]
