"""Starts the program of a run on real machines, and sets the environment of its ranks."""

from __future__ import annotations

import ipaddress
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep.testbed import launch, program
from flowsweep.testbed.machines import serve
from flowsweep.testbed.servers import ServerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowsweep.testbed.machines.machine import Machine
    from flowsweep.testbed.machines.reach import Reach
    from flowsweep.testbed.machines.spec import MachinesSpec

PROGRAM = """#!/bin/sh
# Started in a session of its own; the keeper ends the whole of it.
echo $$ >>{folder}/program.pid
cd {folder} || exit 2
{exports}
begin=$(date +%s%N)
sh -c {command}
code=$?
echo $begin $(date +%s%N) >prog-{rank}.time
exit $code
"""
ON = """#!/bin/sh
# Runs a command on a machine of the experiment: on HOST COMMAND...
host=$1
shift
case $host in
{cases}
*) echo "on: no host is called $host" >&2; exit 2 ;;
esac
exec "$@"
"""


def run(
    spec: MachinesSpec,
    reach: Reach,
    machines: list[Machine],
    *,
    environment: dict[str, str],
    folder: Path,
    look: Callable[[], None],
) -> tuple[str | None, str | None]:
    """Runs the program to its end; returns why it failed, and what spoiled the run.

    Args:
        spec: The run.
        reach: Runs commands on the machines.
        machines: All machines of the run.
        environment: Environment variables of every rank.
        folder: Working directory of processes here.
        look: Called periodically; raises if a part of the testbed has ended too early.
    """
    # Processes on a machine end with its keeper at the latest.
    try:
        done = program.run_commands(
            [(words, environment) for words in _commands(spec, reach, machines, environment)],
            os.environ,
            folder,
            Path(spec.folder) / program.LOG,
            limit_s=spec.timeout_s,
            look=look,
        )
    except ServerError as error:
        return str(error), None
    return done.failure, done.spoiled if spec.start == "mpirun" else None


def _commands(
    spec: MachinesSpec, reach: Reach, machines: list[Machine], environment: dict[str, str]
) -> list[list[str]]:
    """Returns the words of each process to start here."""
    if spec.start == "hosts":
        return _start_ranks(spec, machines, environment)
    if spec.start == "mpirun":
        return [reach.mpirun(_mpirun(spec, machines))]
    return [spec.program]


def _start_ranks(
    spec: MachinesSpec, machines: list[Machine], environment: dict[str, str]
) -> list[list[str]]:
    """Copies a script for each rank to its machine; returns the words that start them there."""
    by_name = {machine.name: machine for machine in machines}
    commands = []
    for rank, host in enumerate(spec.ranks):
        machine, name = by_name[host], f"prog-{rank}.sh"
        machine.put(name, _script(spec, machine, rank, environment).encode(), mode="700")
        commands.append(machine.words(f"setsid --wait {shlex.quote(machine.folder)}/{name}"))
    return commands


def environment(spec: MachinesSpec, machines: list[Machine], folder: Path) -> dict[str, str]:
    """Returns the environment of ranks and servers; writes the command `on` into `folder`."""
    cases = "\n".join(
        # The command is the last word.
        f'{one.name}) set -- {shlex.join(one.words("")[:-1])} "$*" ;;'
        for one in machines
    )
    on = folder / "on"
    on.write_text(ON.format(cases=cases))
    on.chmod(0o755)
    sites = {host.name: host.site for host in spec.hosts}
    return {
        "PATH": f"{folder}:{os.environ.get('PATH', os.defpath)}",
        "FLOWSWEEP_HOSTS": ",".join(f"{one.name}={one.address}" for one in machines),
        "FLOWSWEEP_SITES": ",".join(f"{one.name}={sites[one.name]}" for one in machines),
        "FLOWSWEEP_MACHINES": ",".join(f"{one.own_name}={one.name}" for one in machines),
        "FLOWSWEEP_PROBLEM": spec.problem,
        "FLOWSWEEP_OUTPUT": spec.output,
    }


def _script(spec: MachinesSpec, machine: Machine, rank: int, environment: dict[str, str]) -> str:
    own = {
        **{name: value for name, value in environment.items() if name != "PATH"},
        "FLOWSWEEP_OUTPUT": f"{machine.folder}/app.json",
        "FLOWSWEEP_HOST": machine.name,
        "FLOWSWEEP_RANK": str(rank),
        "FLOWSWEEP_RANKS": str(len(spec.ranks)),
    }
    return PROGRAM.format(
        folder=shlex.quote(machine.folder),
        exports=serve.exports(own),
        command=shlex.quote(spec.program[-1]),
        rank=rank,
    )


def _mpirun(spec: MachinesSpec, machines: list[Machine]) -> list[str]:
    """Does the same as `launch.mpirun`; app.json is written on the machine of rank 0."""
    login = {machine.name: machine.login for machine in machines}
    slots: dict[str, int] = {}
    for host in spec.ranks:
        slots[login[host]] = slots.get(login[host], 0) + 1
    first = next(machine for machine in machines if machine.name == spec.ranks[0])
    words = [f"{first.folder}/app.json" if word == spec.output else word for word in spec.program]
    return [
        str(launch.program_path("mpirun")),
        *("--host", ",".join(f"{host}:{count}" for host, count in slots.items())),
        *("-np", str(len(spec.ranks))),
        *("--map-by", "slot", "--bind-to", "none"),
        *("-x", "FLOWSWEEP_HOSTS", "-x", "FLOWSWEEP_SITES", "-x", "FLOWSWEEP_MACHINES"),
        *(("-x", "PYTHONPATH") if "PYTHONPATH" in os.environ else ()),
        *("--mca", "pml", "ob1", "--mca", "btl", "self,tcp"),
        *("--mca", "btl_tcp_if_include", network(spec)),
        *("--mca", "btl_tcp_disable_family", "6"),
        *("--mca", "mpi_yield_when_idle", "1"),
        *spec.mpirun_options,
        *words,
    ]


def network(spec: MachinesSpec) -> str:
    """Returns the smallest network that contains the addresses of all machines."""
    found = ipaddress.ip_network(spec.machines[0].address)
    for machine in spec.machines:
        while ipaddress.ip_address(machine.address) not in found:
            found = found.supernet()
    return str(found)
