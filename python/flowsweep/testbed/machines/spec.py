"""The description of a testbed of real machines at one point."""

from __future__ import annotations

from dataclasses import dataclass, field

from flowsweep.testbed.spec import Spec


@dataclass(frozen=True)
class MachineSpec:
    """A host that is a real machine.

    `login`: the name to connect to. No interface: the one that has the address. `overlay`: lines
    for its keeper that create the interface.
    """

    name: str
    login: str
    address: str
    interface: str | None
    folder: str
    overlay: tuple[str, ...] = ()


@dataclass(frozen=True)
class MachinesSpec(Spec):
    """A description with the machines, and how to change them."""

    machines: list[MachineSpec] = field(default_factory=list)
    sudo: bool = False
    change_hosts: bool = True
    mpirun_options: list[str] = field(default_factory=list)
