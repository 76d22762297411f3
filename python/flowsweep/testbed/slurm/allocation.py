"""Finds the nodes of the current Slurm job, and runs commands on them by `srun`."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flowsweep.errors import FlowsweepError
from flowsweep.testbed import kernel, launch

if TYPE_CHECKING:
    from flowsweep.testbed.machines.spec import MachineSpec

ANSWER_LIMIT_S = 20.0
ASK_LIMIT_S = 60.0  # the controller may be busy
SLOTS = 1024  # more ranks than any node gets: flowsweep limits the number, not Slurm
KEPT = ("SLURM_JOB_ID", "SLURM_CONF")
PORTS = re.compile(r"^(?:SlurmdPort|SlurmctldPort|SrunPortRange) *= *([0-9-]+)$", re.MULTILINE)
ADDRESS = re.compile(r"^[0-9]+: (\S+) +inet ([0-9.]+/[0-9]+) ", re.MULTILINE)


@dataclass(frozen=True)
class Node:
    """A node that answers, and its IPv4 addresses with prefix length, from `ip`."""

    name: str
    addresses: list[ipaddress.IPv4Interface]

    def address_in(self, network: str | None) -> str:
        """Returns its address on a network; for None, the address of its name.

        Raises:
            FlowsweepError: It has no address there.
        """
        if network is None:
            return _resolve_address(self.name)
        inside = ipaddress.ip_network(network, strict=False)
        for address in self.addresses:
            if address.ip in inside:
                return str(address.ip)
        listed = ", ".join(str(address) for address in self.addresses)
        raise FlowsweepError(
            f"testbed: node {self.name} has no address in {network}",
            found=listed or "no IPv4 address",
            expected="testbed.network: a network that all nodes are in",
            remedy=f"srun -w {self.name} ip -4 addr shows them",
        )

    def own_network(self) -> str | None:
        """Returns the network of its name's address; None if no interface has that address."""
        own = _resolve_address(self.name)
        return next((str(one.network) for one in self.addresses if str(one.ip) == own), None)


class Allocation:
    """The job `number`, and its nodes in the order of Slurm's list.

    `control`: the network that mpirun's daemons use; None: mpirun chooses.
    """

    expected = "a node that `srun` reaches"
    answer_limit_s = ANSWER_LIMIT_S

    def __init__(self, number: str, nodes: list[str]) -> None:
        self.number = number
        self.nodes = nodes
        self.control: str | None = None

    @classmethod
    def current(cls) -> Allocation:
        """Returns the current job.

        Raises:
            FlowsweepError: There is no job, or it has ended.
        """
        number = os.environ.get("SLURM_JOB_ID", "")
        if not number.isdigit():
            raise FlowsweepError(
                "testbed: not in a Slurm job",
                found="no SLURM_JOB_ID in the environment",
                expected="an allocation with a node for each host",
                remedy="sbatch -N NODES --exclusive workflows/profiles/slurm/sweep.sbatch FILE, "
                "or the same command within salloc",
            )
        listed = _run_slurm(["squeue", "-h", "-j", number, "-o", "%N"])
        return cls(number, _run_slurm(["scontrol", "show", "hostnames", listed]).split())

    def srun(self, node: str, words: list[str]) -> list[str]:
        """Returns the words that start a command on a node, concurrently with other steps.

        srun would take variables of the surrounding job step as options, so they are unset.
        """
        stale = [name for name in os.environ if name.startswith("SLURM_") and name not in KEPT]
        return [
            *("env", *(f"--unset={name}" for name in stale)),
            *("srun", "--quiet", f"--jobid={self.number}", "--overlap", "--mpi=none", "--mem=0"),
            *("--nodes=1", "--ntasks=1", f"--nodelist={node}", *words),
        ]

    def answering(self) -> list[Node]:
        """Returns the nodes that answer."""
        found = list(ThreadPoolExecutor(len(self.nodes)).map(self._ask, self.nodes))
        return [node for node in found if node is not None]

    def _ask(self, name: str) -> Node | None:
        words = self.srun(name, ["ip", "-o", "-4", "addr", "show", "up"])
        try:
            done = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=ANSWER_LIMIT_S,
            )
        except subprocess.TimeoutExpired:
            return None
        if done.returncode != 0:
            return None
        printed = ADDRESS.findall(done.stdout)
        return Node(name, [ipaddress.IPv4Interface(one) for where, one in printed if where != "lo"])

    # How machines are reached: see `machines.reach`.

    def words(self, machine: MachineSpec, command: str) -> list[str]:
        """See `Reach`."""
        return self.srun(machine.login, ["sh", "-c", command])

    def unseen(self, machine: MachineSpec) -> str:
        """Returns a filter that leaves out the ports of Slurm's own messages."""
        if machine.overlay:
            return ""
        printed = _run_slurm(["scontrol", "show", "config"])
        ports = PORTS.findall(printed)
        words = [f"port{'range' if '-' in one else ''} {one}" for one in ports if one != "0-0"]
        return f"not ({' or '.join(words)})" if words else ""

    def remedy(self, machine: MachineSpec) -> str:
        """Says where Slurm explains the failure, and how the sweep goes on."""
        return (
            f"scontrol show node {machine.login} shows why; submit the sweep again, "
            f"with --exclude={machine.login} if it stays so: finished runs are kept"
        )

    def mpirun(self, words: list[str]) -> list[str]:
        """Adds the job's variables as in a batch script, so that daemons start by `srun`."""
        count = len(self.nodes)
        listed = ",".join(self.nodes)
        exported = {
            "SLURM_JOBID": self.number,
            "SLURM_NODELIST": listed,
            "SLURM_JOB_NODELIST": listed,
            "SLURM_TASKS_PER_NODE": f"{SLOTS}(x{count})" if count > 1 else str(SLOTS),
            "SLURM_NNODES": str(count),
            "SLURM_JOB_NUM_NODES": str(count),
            "SLURM_NTASKS": str(count),
            "PRTE_MCA_plm": "slurm",
            "PRTE_MCA_plm_slurm_args": "--overlap --mem=0 --mpi=none",
        }
        stale = [name for name in os.environ if name.startswith("SLURM_") and name not in KEPT]
        # Messages between daemons are not part of the experiment.
        apart = [("--prtemca", "prte_if_include", self.control)] if self.control else []
        return [
            *("env", *(f"--unset={name}" for name in stale)),
            *(f"{name}={value}" for name, value in {**exported, **launch.as_root()}.items()),
            *(words[0], *(word for option in apart for word in option), *words[1:]),
        ]

    def leave(self, machines: list[MachineSpec]) -> None:
        """Does nothing: each command is a step of the job and ends with it."""
        del machines


def _run_slurm(words: list[str]) -> str:
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            check=False,
            timeout=ASK_LIMIT_S,
            preexec_fn=kernel.die_with_parent,
        )
        exported, code = done.stderr.strip() or done.stdout.strip(), done.returncode
    except FileNotFoundError:
        exported, code = f"no {words[0]} in PATH", 2
    except subprocess.TimeoutExpired:
        exported, code = f"no answer for {ASK_LIMIT_S:g} s", 2
    if code != 0 or not done.stdout.strip():
        raise FlowsweepError(
            f"testbed: {' '.join(words[:3])} failed",
            found=exported or "no answer",
            expected="the job that SLURM_JOB_ID names, running, and its controller",
            remedy="sinfo and squeue show whether Slurm works here",
        )
    return done.stdout.strip()


def _resolve_address(name: str) -> str:
    try:
        return socket.gethostbyname(name)
    except OSError as error:
        raise FlowsweepError(
            f"testbed: node {name} has no address",
            found=str(error),
            expected="a name that leads to an IPv4 address",
            remedy="testbed.network: the network to use",
        ) from None
