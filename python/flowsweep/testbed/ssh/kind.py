"""The kind `ssh`: hosts are machines, links are the existing network."""

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
    """The machines of an experiment during one run."""

    lock: int

    def run(self, spec: Spec, say: Callable[[str], None]) -> RunResult:
        """Makes one run over ssh."""
        del say
        described = cast("SshSpec", spec)
        return make.run(described, lambda folder: reach.Ssh(described.ssh_options, folder))


class Ssh:
    """Makes runs on machines that ssh reaches: see `machines.make`."""

    def session(self, run: Run, ahead: Session | None) -> Session:
        """Opens a session that locks this set of machines: runs on others may be concurrent."""
        del ahead
        addresses = sorted(machine.address for machine in _settings(run).hosts.values())
        return Together(lock.open_file("-".join(addresses)))

    def describe(self, spec: Spec, run: Run) -> Spec:
        """Adds the machines, and how to reach and change them."""
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
        """Returns the words with the paths that the settings give for Python and workloads."""
        return _settings(run).python_there(program)

    def warnings(self, runs: Sequence[Run]) -> list[str]:
        """Returns nothing: each run finds out what its machines' kernels have."""
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
