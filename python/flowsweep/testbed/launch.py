"""Starts ranks in the namespaces of their hosts: mpirun without sshd, and `on`.

mpirun runs in the hub. A script in place of ssh starts its daemons, which communicate
over the management network; only the messages of the program itself (the BTLs of
Open MPI) use the experiment network.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep import content
from flowsweep.errors import FlowsweepError
from flowsweep.testbed import spec as specs

if TYPE_CHECKING:
    from flowsweep.testbed.spec import Spec

ON = """#!/bin/sh
# Runs a command on an emulated host: on HOST COMMAND...
host=$1
if [ $# -lt 2 ] || [ ! -e {netns}/"$host" ]; then
    hosts=$(echo "$FLOWSWEEP_HOSTS" | sed 's/=[^,]*//g; s/,/ /g')
    echo "usage: on HOST COMMAND...  hosts: $hosts" >&2
    exit 2
fi
shift
exec ip netns exec "$host" nsenter --uts={uts}/"$host" -- "$@"
"""

# mpirun calls this as `ssh HOST COMMAND`. The ranks' scheduling class makes them yield to emulator
# and capture agents.
AGENT = """#!/bin/sh
host=$1
shift
exec ip netns exec "$host" nsenter --uts={uts}/"$host" -- {priority} /bin/sh -c "$*"
"""


def program_path(name: str) -> Path:
    """Returns a program that is installed with flowsweep, or in PATH.

    Raises:
        FlowsweepError: The program is missing; the remedy installs it.
    """
    folders = [os.environ.get("FLOWSWEEP_BIN_DIR"), str(Path(sys.prefix) / "bin")]
    for folder in folders:
        if folder and os.access(Path(folder) / name, os.X_OK):
            return Path(folder) / name
    found = shutil.which(name)
    if found is None:
        raise FlowsweepError(
            f"{name} is not there",
            found=f"not in {Path(sys.prefix) / 'bin'} and not in PATH",
            expected="an installed flowsweep",
            remedy=content.build_remedy(),
        )
    return Path(found)


def write_scripts(spec: Spec, priority: list[str]) -> dict[str, str]:
    """Writes `on` and mpirun's agent; returns the environment of all processes in the hub."""
    places = {"netns": specs.NETNS, "uts": specs.HOST_NAMES, "priority": " ".join(priority)}
    for name, text in (("on", ON), ("agent", AGENT)):
        path = specs.SCRIPTS / name
        path.write_text(text.format(**places))
        path.chmod(0o755)
    bin_folder = str(Path(sys.prefix) / "bin")
    return {
        **os.environ,
        "PATH": f"{specs.SCRIPTS}:{bin_folder}:{os.environ.get('PATH', os.defpath)}",
        "HOME": str(specs.STATE),
        "TMPDIR": str(specs.STATE / "t"),
        "FLOWSWEEP_HOSTS": ",".join(f"{host.name}={host.address}" for host in spec.hosts),
        "FLOWSWEEP_SITES": ",".join(f"{host.name}={host.site}" for host in spec.hosts),
        "PYTHONDONTWRITEBYTECODE": "1",
        **as_root(),
    }


def as_root() -> dict[str, str]:
    """Returns the variables that Open MPI demands to run as root; empty for other users.

    Root is harmless in a namespace; on the nodes of a job, root itself submitted it.
    """
    if os.geteuid() != 0:
        return {}
    names = ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT")
    return {f"{name}{end}": "1" for name in names for end in ("", "_CONFIRM")}


def mpirun(spec: Spec) -> list[str]:
    """Returns the command that starts one process per entry of `spec.ranks`, in that order.

    mpirun places ranks host by host, so entries of one host must be adjacent.
    """
    slots: dict[str, int] = {}
    for host in spec.ranks:
        slots[host] = slots.get(host, 0) + 1
    grouped = [host for host, count in slots.items() for _ in range(count)]
    if grouped != spec.ranks:
        raise FlowsweepError("ranks of one host must stand together", found=" ".join(spec.ranks))
    return [
        str(program_path("mpirun")),
        *("--host", ",".join(f"{host}:{count}" for host, count in slots.items())),
        *("-np", str(len(spec.ranks))),
        # Keeps the daemons in our session: see Agent.
        "--leave-session-attached",
        *("--map-by", "slot", "--bind-to", "none"),
        *("--prtemca", "plm_ssh_agent", str(specs.SCRIPTS / "agent")),
        *("--prtemca", "plm_ssh_no_tree_spawn", "1"),
        *("--prtemca", "prte_if_include", specs.MANAGEMENT_NETWORK),
        *("--mca", "pml", "ob1"),
        *("--mca", "btl", "self,tcp"),
        *("--mca", "btl_tcp_if_include", specs.EXPERIMENT_NETWORK),
        *("--mca", "btl_tcp_disable_family", "6"),
        *("--mca", "mpi_yield_when_idle", "1"),
        *_listening(spec.mpi_ports),
        *spec.program,
    ]


def _listening(ports: Sequence[int] | None) -> list[str]:
    """Returns options for the ports on which ranks listen; the kernel chooses connecting ports."""
    if ports is None:
        return []
    first, last = ports
    return [
        *("--mca", "btl_tcp_port_min_v4", str(first)),
        *("--mca", "btl_tcp_port_range_v4", str(last - first + 1)),
    ]
