"""An experiment of two sites, `flowsweep` as it is started here, and process trees."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMIT_S = 300  # only what hangs takes longer
FLOWSWEEP = [sys.executable, "-c", "from flowsweep.cli import main; main()"]

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
    """Every process below `pid`, itself included: its number and name."""
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
    """Whether a process is there and no zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text[text.rindex(")") + 2] not in "ZX"


def network_namespaces(pids: dict[int, str]) -> set[str]:
    """The network namespaces of processes, other than our own."""
    own = str(Path("/proc/self/ns/net").readlink())
    found = set()
    for pid in pids:
        try:
            found.add(str(Path(f"/proc/{pid}/ns/net").readlink()))
        except OSError:
            continue
    return found - {own}
