"""Runs without root: by the tests' user, or by `nobody` if that is root."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import pytest

from .conftest import (
    EXPERIMENT,
    LIMIT_S,
    ROOT,
    SLOW_EXPERIMENT,
    descendants,
    hub_of,
    named,
    network_namespaces,
    wait_gone,
    wait_running,
)

NOBODY = 65534


def as_nobody() -> list[str]:
    ids = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    return ["setpriv", *ids, "--inh-caps=-all", "--bounding-set=-all"]


def python_for_nobody() -> str | None:
    """Returns a Python of our version that `nobody` may execute: ours may lie in root's home."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        # Via a shell, because setpriv itself still executes programs with root's rights.
        call = ["sh", "-c", '"$0" -c pass', python]
        works = subprocess.run([*as_nobody(), *call], capture_output=True, check=False)
        if works.returncode == 0:
            return python
    return None


@pytest.fixture
def nobody(namespaces, tmp_path_factory):
    """Starts `flowsweep` as `nobody` in a folder of that user."""
    if os.geteuid() != 0:
        pytest.skip("not root: every other test runs without root already")
    python = python_for_nobody()
    if python is None:
        pytest.skip(f"user nobody may execute neither {sys.executable} nor another such Python")
    site = sysconfig.get_paths()["purelib"]
    # Outside pytest's folder, which only root may enter.
    folder = Path(tempfile.mkdtemp(prefix="flowsweep-test-"))
    os.chown(folder, NOBODY, NOBODY)
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'python'}:{site}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(folder),
        "FLOWSWEEP_BIN_DIR": os.environ.get("FLOWSWEEP_BIN_DIR", str(Path(sys.prefix) / "bin")),
        # An ordinary user's path on Debian: without folders of system programs.
        "PATH": f"/usr/local/bin:/usr/bin:/bin:{Path(sys.prefix) / 'bin'}",
        "FLOWSWEEP_KERNELS": os.environ.get(
            "FLOWSWEEP_KERNELS",
            str(Path(sys.prefix) / "lib/flowsweep/libflowsweep_kernels.so"),
        ),
    }

    def start(*arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*as_nobody(), python, "-m", "flowsweep", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            cwd=folder,
            env=environment,
        )

    yield start, folder
    shutil.rmtree(folder)


@pytest.fixture
def nobody_runs(nobody):
    """Runs `flowsweep` as `nobody` to its end."""
    start, folder = nobody

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        with start(*arguments) as process:
            try:
                out, error = process.communicate(timeout=LIMIT_S)
            finally:
                process.kill()
        return subprocess.CompletedProcess(process.args, process.returncode, out, error)

    return run, folder


def test_an_unprivileged_user_can_make_a_run(nobody_runs):
    run, folder = nobody_runs
    (folder / "small.yaml").write_text(EXPERIMENT)
    done = run("run", "small.yaml", "--output", "one")
    assert done.returncode == 0, done.stderr
    record = json.loads((folder / "one" / "run.json").read_text())
    assert record["application"]["correct"] is True
    if record["status"] != "valid":
        # Without real-time priority, other programs on the cores make the emulator late.
        assert record["reason"].startswith(("emulator late", "idle RTT")), record["reason"]
    assert (folder / "one" / "pc1.pcap.zst").stat().st_uid == NOBODY


def test_an_unprivileged_user_can_ping_between_hosts(nobody_runs):
    run, folder = nobody_runs
    (folder / "small.yaml").write_text(EXPERIMENT)
    ping = ["on", "pc1", "ping", "-q", "-c2", "-i0.2", "10.77.2.1"]
    done = run("testbed", "shell", "small.yaml", "--", *ping)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0% packet loss" in done.stdout


def rank_of(daemon: int) -> int:
    """Waits for a rank below a daemon of mpirun, which may just be starting it."""
    end = time.monotonic() + 60
    while not (ranks := descendants(daemon).keys() - {daemon}):
        assert time.monotonic() < end, "the daemon starts no rank"
        time.sleep(0.05)
    return max(ranks)


@pytest.mark.parametrize(
    "victim",
    ["flowsweep", "unshare", "hub", "flowsweep-wan", "flowsweep-captu", "prterun", "prted", "rank"],
)
def test_nothing_is_left_when_a_process_of_an_unprivileged_user_is_killed(nobody, victim):
    start, folder = nobody
    (folder / "slow.yaml").write_text(SLOW_EXPERIMENT)
    with start("run", "slow.yaml", "--output", "runs/one") as process:
        tree = wait_running(process)
        networks = network_namespaces(tree)
        assert len(networks) == 5  # hub, wan and three hosts
        daemon = max(pid for pid, name in tree.items() if name == "prted")
        pid = {
            "flowsweep": lambda: process.pid,
            "hub": lambda: hub_of(tree),
            "rank": lambda: rank_of(daemon),
        }.get(victim, lambda: named(tree, victim))()
        os.kill(pid, signal.SIGKILL)
        process.communicate(timeout=LIMIT_S)
    assert wait_gone(tree) == {}
    left = {int(path.name): "" for path in Path("/proc").iterdir() if path.name.isdigit()}
    assert not networks & network_namespaces(left)
    # A killed command cannot tidy up; a killed part of the program gives a record with its reason.
    names = [path.name for path in (folder / "runs").iterdir()]
    expected = ["one"] if victim in ("prterun", "prted", "rank") else []
    assert names == ([".one.flowsweep-run"] if victim == "flowsweep" else expected)
