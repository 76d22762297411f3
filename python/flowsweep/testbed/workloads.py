"""The name of an app to its program and the hosts of its ranks."""

from __future__ import annotations

import difflib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flowsweep.errors import FlowsweepError


@dataclass(frozen=True)
class Program:
    """An MPI program of capture/workloads.

    `has_master`: one more rank, on the first host, hands out the work.
    """

    path: Path
    has_master: bool

    def ranks(self, hosts: list[str], ranks_per_host: int) -> list[str]:
        """The host of each rank, in the order of ranks."""
        workers = [host for host in hosts for _ in range(ranks_per_host)]
        return [hosts[0], *workers] if self.has_master else workers

    def command(self, problem: dict[str, Any], compute: str, output: Path) -> list[str]:
        """What each rank executes."""
        arguments = ["--problem", json.dumps(problem), "--compute", compute]
        return [sys.executable, str(self.path), *arguments, "--output", str(output)]


# Apps with a master rank beside the workers.
WITH_MASTER = frozenset({"nqueens"})


def folder() -> Path:
    """capture/workloads of this checkout, or FLOWSWEEP_WORKLOADS."""
    given = os.environ.get("FLOWSWEEP_WORKLOADS")
    return Path(given) if given else Path(__file__).parents[3] / "capture" / "workloads"


def find(app: str) -> Program:
    """The program of an app: capture/workloads/<app>/<app>.py.

    Raises:
        FlowsweepError: With the apps that there are.
    """
    path = folder() / app / f"{app}.py"
    if not path.is_file():
        known = sorted(entry.parent.name for entry in folder().glob("*/*.py"))
        near = difflib.get_close_matches(app, known, n=1)
        raise FlowsweepError(
            f'workload: no app is called "{app}"',
            found=f"no file {path}",
            expected=f"one of {', '.join(known)}" if known else "a folder of workloads",
            remedy=f"write app: {near[0]}" if near else "set FLOWSWEEP_WORKLOADS to the folder",
        )
    return Program(path, app in WITH_MASTER)
