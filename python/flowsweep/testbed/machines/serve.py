"""Runs servers on real machines, each in its own session, which the keeper ends at the latest."""

from __future__ import annotations

import itertools
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep.testbed.servers import SOCKETS, Servers

if TYPE_CHECKING:
    from flowsweep.testbed.machines.machine import Machine
    from flowsweep.testbed.machines.spec import MachinesSpec
    from flowsweep.testbed.spec import ServerSpec

# The shell remains the leader of its group: the keeper recognises it by its command line.
SCRIPT = """#!/bin/sh
echo $$ >>{folder}/program.pid
echo $$ >>{folder}/serve.pid
cd {folder} || exit 2
{exports}
sh -c {command}
exit $?
"""
#: Variables that are only valid on the machine where flowsweep was started.
HERE = ("PATH", "FLOWSWEEP_OUTPUT")
# Kills only processes that we started: a process ID may have been reused.
END = (
    "cd {folder} && for leader in $(cat serve.pid 2>/dev/null); do "
    "grep -qsF {folder} /proc/$leader/cmdline && kill -TERM -$leader; done; true"
)


def on_machines(
    spec: MachinesSpec, machines: list[Machine], environment: Mapping[str, str], folder: Path
) -> Servers:
    """Returns the servers of a run; `folder` is the working directory of processes here."""
    by_name = {machine.name: machine for machine in machines}
    numbers = itertools.count()

    def start(server: ServerSpec, host: str) -> tuple[list[str], dict[str, str]]:
        machine = by_name[host]
        name = f"prog-serve-{next(numbers)}.sh"
        own = {name: value for name, value in environment.items() if name not in HERE}
        script = SCRIPT.format(
            folder=shlex.quote(machine.folder),
            exports=exports({**own, "FLOWSWEEP_HOST": host}),
            command=shlex.quote(server.command),
        )
        machine.put(name, script.encode(), mode="700")
        words = f"setsid --wait {shlex.quote(machine.folder)}/{name}"
        return machine.words(words), {}

    def sockets(host: str) -> str:
        files = " ".join(f"/proc/{name}" for name in SOCKETS)
        return by_name[host].run(f"cat {files} 2>/dev/null; true").decode()

    return Servers(spec, {**os.environ, **environment}, folder, start, sockets)


def exports(environment: Mapping[str, str]) -> str:
    """Returns shell lines that set an environment."""
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in environment.items())


def end(spec: MachinesSpec, machines: list[Machine], serving: Servers) -> None:
    """Ends all servers, there and here."""
    for host in {host for server in spec.servers for host in server.hosts}:
        machine = next(machine for machine in machines if machine.name == host)
        machine.run(END.format(folder=shlex.quote(machine.folder)))
    serving.end()
