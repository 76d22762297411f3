"""A report without room for temporary files, two at once, and what another user can read."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from writing import make_run

NOBODY = 65534
FLOWSWEEP = [sys.executable, "-m", "flowsweep"]


@pytest.fixture(scope="module")
def measured(nursery, tmp_path_factory) -> Path:
    """results/NAME with one run, without a report."""
    folder = tmp_path_factory.mktemp("measured")
    make_run(folder / "runs/r1", 20)
    tables = folder / "tables"
    assert nursery.run(["ingest", folder / "runs/r1", "-o", tables]).codes == [0]
    assert nursery.run(["runs", folder / "runs", "-o", tables / "runs.parquet"]).codes == [0]
    return folder


@pytest.fixture
def experiment(measured, tmp_path) -> Path:
    folder = shutil.copytree(measured, tmp_path / "exp")
    folder.chmod(0o755)
    return folder


def test_a_full_folder_for_temporary_files_is_reported_and_the_next_report_is_whole(
    namespaces, experiment, tmp_path
):
    (tmp_path / "small").mkdir()
    script = f"""
        cd "$1" && mount -t tmpfs -o size=64k tmpfs small && head -c 60000 /dev/zero >small/mine
        report() {{ TMPDIR=$PWD/small {" ".join(FLOWSWEEP)} report exp; }}
        report 2>full; echo $? >>full
        ls -A small >left
        mount -o remount,size=200m small
        report >there 2>&1; echo $? >>there
        ls -A small >>left
    """
    spaces = ["unshare", "--user", "--map-root-user", "--mount"]
    subprocess.run([*spaces, "sh", "-c", script, "sh", tmp_path], check=True, timeout=200)
    full, there, left = ((tmp_path / name).read_text() for name in ("full", "there", "left"))
    assert "error: " in full
    assert f"{tmp_path}/small" in full
    assert "\n  remedy " in full
    assert full.endswith("\n2\n")
    assert "Traceback" not in full
    assert there.endswith("\n0\n"), there
    assert left == "mine\nmine\n"
    assert (experiment / "report.html").is_file()
    assert (experiment / "exp.duckdb").is_file()


def test_two_reports_at_once_are_both_whole(experiment):
    both = [
        subprocess.Popen(
            [*FLOWSWEEP, "report", experiment], stderr=subprocess.PIPE, text=True, cwd=experiment
        )
        for _ in range(2)
    ]
    errors = [one.communicate()[1] for one in both]
    assert [one.returncode for one in both] == [0, 0], errors
    page = (experiment / "report.html").read_bytes()
    assert sorted(path.name for path in experiment.glob(".*")) == []
    done = subprocess.run([*FLOWSWEEP, "report", experiment], check=False, cwd=experiment)
    assert done.returncode == 0
    assert (experiment / "report.html").read_bytes() == page


def without_override() -> None:
    """Makes root subject to file permissions."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def give(folder: Path, user: int) -> None:
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, user, user)


def test_another_user_reads_results_and_changes_nothing(experiment):
    """Before there are facts, which this user cannot write, and with existing ones."""
    if os.geteuid() != 0:
        pytest.skip("needs root: to give files to another user")

    def state() -> dict[str, tuple[int, int]]:
        found = [experiment, *experiment.rglob("*")]
        return {str(one): (one.stat().st_ino, one.stat().st_mtime_ns) for one in found}

    def ask(is_another: bool) -> str:
        done = subprocess.run(
            [*FLOWSWEEP, "query", "totals", experiment, "--format", "csv"],
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=without_override if is_another else None,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    give(experiment, NOBODY)
    before = state()
    without = ask(is_another=True)
    assert state() == before
    owned = ask(is_another=False)
    assert (experiment / "facts/parts.json").is_file()
    give(experiment, NOBODY)
    kept = state()
    assert ask(is_another=True) == without == owned
    assert state() == kept
