"""The description of a testbed of real machines at one point."""

from __future__ import annotations

from dataclasses import dataclass, field

from flowsweep.testbed.spec import Spec


@dataclass(frozen=True)
class MachineSpec:
    """A host that is a real machine.

    `login`: by what name it is reached. No interface: the one that has the address. `overlay`:
    lines for its keeper that make the interface.
    """

    name: str
    login: str
    address: str
    interface: str | None
    folder: str
    overlay: tuple[str, ...] = ()


@dataclass(frozen=True)
class MachinesSpec(Spec):
    """A description with the machines, and how they are changed."""

    machines: list[MachineSpec] = field(default_factory=list)
    sudo: bool = False
    change_hosts: bool = True
    mpirun_options: list[str] = field(default_factory=list)
