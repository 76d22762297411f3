"""An experiment of two sites, the `flowsweep` of this environment, and process trees."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMIT_S = 300  # only a hang takes longer
FLOWSWEEP = [sys.executable, "-m", "flowsweep"]

EXPERIMENT = """\
sites:
  west: [pc1, pc2]
  east: [pc3]
link: {rtt: 1ms, rate: 100Mbit/s}
tcp: {congestion_control: reno}
workload:
  app: nqueens
  problem: {board: 10, node_ns: 5000}
axes: {rtt: [16ms]}
repetitions: 1
warmup: 0
timeout: 200s
limits: {other_programs: 100%, cpu_pressure: 100%}
"""
# Half a minute of work on a quiet machine, so that it is killed before it ends. No retries, because
# an invalid run would take that long again.
SLOW_EXPERIMENT = (
    EXPERIMENT.replace("board: 10, node_ns: 5000", "board: 11, node_ns: 500000") + "retries: 0\n"
)


@pytest.fixture
def experiment(tmp_path: Path, namespaces: None) -> Path:
    """An experiment file that runs about 1 s per point."""
    path = tmp_path / "small.yaml"
    path.write_text(EXPERIMENT)
    return path


@pytest.fixture
def flowsweep():
    """Runs `flowsweep` to its end."""

    def run(*arguments: object, **options) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*FLOWSWEEP, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
            **options,
        )

    return run


def descendants(pid: int) -> dict[int, str]:
    """Returns `pid` and all processes below it: process ID and name."""
    children: dict[int, list[int]] = {}
    names: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            text = (entry / "stat").read_text()
        except OSError:
            continue
        names[int(entry.name)] = text[text.index("(") + 1 : text.rindex(")")]
        parent = int(text[text.rindex(")") + 2 :].split()[1])
        children.setdefault(parent, []).append(int(entry.name))
    found, pending = {}, [pid]
    while pending:
        current = pending.pop()
        found[current] = names.get(current, "")
        pending += children.get(current, [])
    return found


def is_running(pid: int) -> bool:
    """Returns whether a process exists and is no zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text[text.rindex(")") + 2] not in "ZX"


def network_namespaces(pids: dict[int, str]) -> set[str]:
    """Returns the network namespaces of processes, except our own."""
    own = str(Path("/proc/self/ns/net").readlink())
    found = set()
    for pid in pids:
        try:
            found.add(str(Path(f"/proc/{pid}/ns/net").readlink()))
        except OSError:
            continue
    return found - {own}


def wait_running(process: subprocess.Popen[str]) -> dict[int, str]:
    """Waits until mpirun, its daemons and the ranks run; returns all processes of the run."""
    end = time.monotonic() + LIMIT_S
    tree, before = descendants(process.pid), None
    # Launchers that only start other processes are gone a moment later.
    while not (_all_run(tree) and tree == before):
        if process.poll() is not None:
            errors = process.stderr.read() if process.stderr else ""
            pytest.fail(f"it ended with {process.returncode} before its program ran: {errors}")
        assert time.monotonic() < end, f"the program did not start: {tree}"
        time.sleep(0.3 if _all_run(tree) else 0.05)
        before, tree = tree, descendants(process.pid)
    return tree


def _all_run(tree: dict[int, str]) -> bool:
    return sum(name.startswith("prte") for name in tree.values()) >= 4 and len(tree) >= 17


def wait_gone(tree: dict[int, str]) -> dict[int, str]:
    """Waits up to a minute; returns the processes that are still running."""
    end = time.monotonic() + 60
    left = dict(tree)
    while left and time.monotonic() < end:
        left = {pid: name for pid, name in left.items() if is_running(pid)}
        time.sleep(0.02)
    return left


def named(tree: dict[int, str], name: str) -> int:
    """Returns the first process of this name."""
    return next(pid for pid, found in tree.items() if found == name)


def hub_of(tree: dict[int, str]) -> int:
    """Returns the only process whose parent is `unshare`."""
    above = named(tree, "unshare")
    return min(pid for pid in descendants(above) if pid != above)
