"""Finds the program of a run's workload, and the hosts of its ranks."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from flowsweep import content
from flowsweep.errors import FlowsweepError
from flowsweep.testbed import kinds
from flowsweep.testbed.rank_script import rank_program
from flowsweep.testbed.spec import BESIDE_OUTPUT, BesideSpec, ServerSpec

if TYPE_CHECKING:
    from flowsweep.experiment import Run, Workload
    from flowsweep.testbed.spec import Spec

DESCRIPTION = "launch.yaml"
KEYS = {"master": bool}


@dataclass(frozen=True)
class Program:
    """An MPI program of capture/workloads, or a command.

    `has_master`: one more rank, on the first host, hands out the work.
    """

    path: Path | None
    has_master: bool

    def on(self, spec: Spec, run: Run, output: Path) -> Spec:
        """Returns the testbed with this program on it, and with the program beside it.

        `output` is the path for its app.json.
        """
        if run.beside is not None:
            spec = replace(spec, beside=_beside_spec(spec, run.beside))
        workload = run.workload
        _check_hosts(run)
        workers = [host for host, count in run.workers.items() for _ in range(count)]
        first = run.first_host
        if self.path is None:
            starts = {"hub": "hub", "mpi": "mpirun"}
            start = starts.get(str(workload.where), "hosts")
            ranks = _ranks(workload.where, first, workers)
            command = workload.command or ""
            program = (
                rank_program(command, ranks, run.problem, str(output))
                if start == "mpirun"
                else ["/bin/sh", "-c", command]
            )
        else:
            start = "mpirun"
            ranks = [first, *workers] if self.has_master else workers
            arguments = ["--problem", run.problem, "--compute", workload.compute]
            python = kinds.find(run).python_on_host(run, self.path)
            program = [*python, *arguments, "--output", str(output)]
        return replace(
            spec,
            start=start,
            ranks=ranks,
            program=program,
            problem=run.problem,
            output=str(output),
            servers=[
                ServerSpec(server.command, server.hosts, server.port, server.waits_ns)
                for server in workload.serve
            ],
        )


def _beside_spec(spec: Spec, run: Run) -> BesideSpec:
    made = find(run.workload).on(spec, run, BESIDE_OUTPUT)
    return BesideSpec(run.app, made.start, made.ranks, made.program, made.problem)


def _ranks(where: str | list[str], first: str, workers: list[str]) -> list[str]:
    """Returns the host of each process of a command."""
    if isinstance(where, list):
        return [host for host in workers if host in where]
    return {"hub": [], "first": [first], "hosts": workers, "mpi": workers}[where]


def _check_hosts(run: Run) -> None:
    """Checks that hosts named by the workload take part: `hosts` may leave some out."""
    there = [host.name for host in run.hosts]
    for name in run.workload.named_hosts:
        if name not in there:
            raise FlowsweepError(
                f"{run.experiment.path}: host {name} takes no part in {run.id}",
                found=f"`serve` or `where` names it; the hosts are {', '.join(there)}",
                expected="a point with this host",
                remedy="more hosts per site, or another host",
            )


def find(workload: Workload) -> Program:
    """Finds a command, or an app's program capture/workloads/<app>/<app>.py with its launch.yaml.

    Raises:
        FlowsweepError: There is no such app; the message names those that exist.
    """
    if workload.app is None:
        return Program(None, has_master=False)
    app = workload.app
    folder = content.folder("capture/workloads")
    path = folder / app / f"{app}.py"
    if not path.is_file():
        known = sorted(
            entry.parent.name for entry in folder.glob("*/*.py") if entry.stem == entry.parent.name
        )
        near = difflib.get_close_matches(app, known, n=1)
        raise FlowsweepError(
            f'workload: no app is called "{app}"',
            found=f"no file {path}",
            expected=f"one of {', '.join(known)}" if known else "a folder of workloads",
            remedy=f"write app: {near[0]}" if near else "set FLOWSWEEP_WORKLOADS to the folder",
        )
    described = _read_launch(path.parent / DESCRIPTION)
    return Program(path, described.get("master", False))


def _read_launch(path: Path) -> dict[str, Any]:
    """Reads from launch.yaml how an app is started; {} if there is none."""
    if not path.exists():
        return {}
    try:
        data = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise FlowsweepError(f"{path}: cannot be read", found=str(error)) from None
    data = {} if data is None else data
    for key, value in data.items() if isinstance(data, dict) else [("", data)]:
        if not isinstance(value, KEYS.get(key, ())):
            raise FlowsweepError(
                f"{path}: how the app is started is not clear",
                found=json.dumps({key: value} if key else value),
                expected=", ".join(f"{name}: {kind.__name__}" for name, kind in KEYS.items()),
            )
    return dict(data)
