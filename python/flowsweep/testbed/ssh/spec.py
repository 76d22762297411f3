"""The description of machines that ssh reaches."""

from __future__ import annotations

from dataclasses import dataclass, field

from flowsweep.testbed.machines.spec import MachinesSpec


@dataclass(frozen=True)
class SshSpec(MachinesSpec):
    """A description with the options of ssh."""

    ssh_options: list[str] = field(default_factory=list)
