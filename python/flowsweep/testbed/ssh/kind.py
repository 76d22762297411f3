"""The kind `ssh`: hosts are machines, links are what they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from flowsweep.errors import FlowsweepError
from flowsweep.testbed import lock
from flowsweep.testbed.machines import make
from flowsweep.testbed.machines.spec import MachineSpec
from flowsweep.testbed.ssh import reach
from flowsweep.testbed.ssh.spec import SshSpec

if TYPE_CHECKING:
    from flowsweep.experiment import Run
    from flowsweep.testbed.kind import Session
    from flowsweep.testbed.result import RunResult
    from flowsweep.testbed.spec import Spec
    from flowsweep.testbed.ssh.settings import Settings


def _settings(run: Run) -> Settings:
    return cast("Settings", run.experiment.testbed)


@dataclass
class Together:
    """The machines of an experiment while one run uses them."""

    lock: int

    def run(self, spec: Spec, say: Callable[[str], None]) -> RunResult:
        """One run over ssh."""
        del say
        described = cast("SshSpec", spec)
        return make.run(described, lambda folder: reach.Ssh(described.ssh_options, folder))


class Ssh:
    """Makes runs on machines that ssh reaches: see `machines.make`."""

    def session(self, run: Run, ahead: Session | None) -> Session:
        """Runs on other machines may go on at the same time: each group has a lock of its own."""
        del ahead
        addresses = sorted(machine.address for machine in _settings(run).hosts.values())
        return Together(lock.open_file("-".join(addresses)))

    def describe(self, spec: Spec, run: Run) -> Spec:
        """With the machines, and how they are reached and changed."""
        settings = _settings(run)
        return SshSpec(
            **vars(spec),
            machines=[
                MachineSpec(
                    name=host.name,
                    login=settings.hosts[host.name].login or host.name,
                    address=host.address,
                    interface=settings.hosts[host.name].interface,
                    folder=settings.folder.rstrip("/"),
                )
                for host in run.hosts
            ],
            ssh_options=settings.options,
            sudo=settings.sudo,
            change_hosts=settings.change_hosts,
            mpirun_options=settings.mpirun,
        )

    def python_on_host(self, run: Run, program: Path) -> list[str]:
        """Where the settings say that Python and the workloads are there."""
        return _settings(run).python_there(program)

    def warnings(self, runs: Sequence[Run]) -> list[str]:
        """What those kernels have is known when they are asked, in each run."""
        del runs
        return []

    def shell(self, run: Run, program: list[str], say: Callable[[str], None]) -> int:
        """Refuses: machines have no hub to run a shell in."""
        del program, say
        raise FlowsweepError(
            f"{run.experiment.path}: there is no shell on real machines",
            found="testbed: {kind: ssh}",
            expected="an experiment in namespaces",
            remedy="ssh leads to each of them",
        )


KIND = Ssh()
