"""The description of machines behind ssh."""

from __future__ import annotations

from dataclasses import dataclass, field

from flowsweep.testbed.machines.spec import MachinesSpec


@dataclass(frozen=True)
class SshSpec(MachinesSpec):
    """With how ssh is started."""

    ssh_options: list[str] = field(default_factory=list)
