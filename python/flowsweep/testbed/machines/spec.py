"""The description of a testbed of real machines at one point."""

from __future__ import annotations

from dataclasses import dataclass, field

from flowsweep.testbed.spec import Spec


@dataclass(frozen=True)
class MachineSpec:
    """A host that is a real machine; no interface: the one that has the address."""

    name: str
    login: str
    address: str
    interface: str | None
    folder: str


@dataclass(frozen=True)
class SshSpec(Spec):
    """A description with the machines, and how they are reached and changed."""

    machines: list[MachineSpec] = field(default_factory=list)
    ssh_options: list[str] = field(default_factory=list)
    sudo: bool = False
    change_hosts: bool = True
    mpirun_options: list[str] = field(default_factory=list)
