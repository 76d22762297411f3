"""The kind `slurm`: hosts are the nodes of an allocation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from flowsweep.errors import FlowsweepError
from flowsweep.testbed import lock
from flowsweep.testbed.machines import make
from flowsweep.testbed.machines.machine import LostError
from flowsweep.testbed.machines.spec import MachineSpec
from flowsweep.testbed.slurm import links
from flowsweep.testbed.slurm.allocation import Allocation, Node
from flowsweep.testbed.slurm.spec import SlurmSpec
from flowsweep.testbed.transient import TransientError

if TYPE_CHECKING:
    from flowsweep.experiment import Run
    from flowsweep.testbed.kind import Session
    from flowsweep.testbed.result import RunResult
    from flowsweep.testbed.slurm.settings import Settings
    from flowsweep.testbed.spec import Spec


class NodeLostError(TransientError):
    """A node disappeared in mid-run: the rest of the run is invalid."""

    in_program = True


@dataclass
class Together:
    """The nodes of an allocation during one run."""

    lock: int
    allocation: Allocation

    def run(self, spec: Spec, say: Callable[[str], None]) -> RunResult:
        """Makes one run by steps of the job."""
        del say
        described = cast("SlurmSpec", spec)
        made = None
        if described.emulator is not None:
            made = links.between(described, self.allocation, *described.emulator)
        self.allocation.control = described.control
        try:
            return make.run(described, lambda _: self.allocation, made)
        except LostError as error:
            raise NodeLostError(
                error.what, found=error.found, expected=error.expected, remedy=error.remedy
            ) from None


class Slurm:
    """Makes runs on nodes: see `machines`."""

    def session(self, run: Run, ahead: Session | None) -> Session:
        """Opens a session with a lock for this job alone: concurrent jobs have separate nodes."""
        del run, ahead
        allocation = Allocation.current()
        return Together(lock.open_file(f"slurm-{allocation.number}"), allocation)

    def describe(self, spec: Spec, run: Run) -> Spec:
        """Adds the nodes that answer now, in order; a spare node gets the emulator.

        Raises:
            FlowsweepError: There are too few nodes.
        """
        settings = cast("Settings", run.experiment.testbed)
        allocation = Allocation.current()
        nodes = allocation.answering()
        if len(nodes) < len(spec.hosts):
            raise _too_few(allocation, nodes, len(spec.hosts))
        under = [node.address_in(settings.network) for node in nodes]
        machines = [
            MachineSpec(
                name=host.name,
                login=node.name,
                address=address,
                interface=None,
                folder=settings.folder.rstrip("/"),
            )
            for host, node, address in zip(spec.hosts, nodes, under, strict=False)
        ]
        emulator = None
        if settings.emulate:
            free = len(machines) if len(nodes) > len(machines) else 0
            emulator = (nodes[free].name, under[free])
            machines = links.overlay(spec, machines, under[free])
        else:
            hosts = [
                replace(host, address=machine.address)
                for host, machine in zip(spec.hosts, machines, strict=True)
            ]
            spec = replace(spec, hosts=hosts)
        return SlurmSpec(
            control=nodes[0].own_network(),
            **vars(spec),
            machines=machines,
            sudo=settings.sudo,
            change_hosts=settings.change_hosts or settings.emulate,
            mpirun_options=settings.mpirun,
            emulator=emulator,
        )

    def python_on_host(self, run: Run, program: Path) -> list[str]:
        """Returns the words with the paths that the settings give for Python and workloads."""
        return cast("Settings", run.experiment.testbed).python_there(program)

    def warnings(self, runs: Sequence[Run]) -> list[str]:
        """Returns nothing: each run finds out what its nodes can do."""
        del runs
        return []

    def shell(self, run: Run, program: list[str], say: Callable[[str], None]) -> int:
        """Refuses: nodes of a cluster have no hub to run a shell in."""
        del program, say
        raise FlowsweepError(
            f"{run.experiment.path}: there is no shell on nodes of Slurm",
            found="testbed: {kind: slurm}",
            expected="an experiment in namespaces",
            remedy="srun --pty bash leads to each of them",
        )


def _too_few(allocation: Allocation, nodes: list[Node], needed: int) -> FlowsweepError:
    there = {node.name for node in nodes}
    silent = [name for name in allocation.nodes if name not in there]
    if not silent:
        return FlowsweepError(
            f"testbed: job {allocation.number} has too few nodes",
            found=f"{len(nodes)}: {', '.join(allocation.nodes)}",
            expected=f"{needed}, one for each host",
            remedy=f"sbatch -N {needed}",
        )
    named = ",".join(silent)
    return FlowsweepError(
        f"testbed: {', '.join(silent)} of job {allocation.number} cannot be used",
        found="no command can be started there by srun",
        expected=f"{needed} nodes that answer, one for each host; {len(nodes)} do",
        remedy=f"scontrol show node {named} shows why; submit the sweep again with "
        f"--exclude={named}: finished runs are kept",
    )


KIND = Slurm()
