"""The settings of an experiment file for machines that ssh reaches without a password."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal

from pydantic import Field

from flowsweep.experiment.quantities import Model
from flowsweep.testbed.machines import settings
from flowsweep.validation import refused


class Machine(Model):
    """A real machine that is a host of the experiment."""

    login: str | None = Field(
        None, description="What ssh connects to: user@machine, or a name of its configuration."
    )
    address: str = Field(
        description="Its IPv4 address on the network that is captured.",
        pattern=r"^[0-9]{1,3}(\.[0-9]{1,3}){3}$",
    )
    interface: str | None = Field(
        None, description="The interface to capture on. Default: the one that has the address."
    )


class Settings(settings.Settings):
    """Where the machines are, and how they are used."""

    shapes_links: ClassVar[bool] = False
    one_at_a_time: ClassVar[bool] = False  # each set of machines has its own lock

    kind: Literal["ssh"] = "ssh"
    hosts: dict[str, Machine] = Field(
        default_factory=dict, description="ssh: the machine of each host, by name."
    )
    options: list[str] = Field(
        default_factory=list, description='Options of ssh, such as ["-F", "ssh_config"].'
    )

    def address_of(self, host: str) -> str | None:
        """Returns the address of the host's machine."""
        machine = self.hosts.get(host)
        return machine.address if machine else None

    def check(self, hosts: Iterable[str], axes: Mapping[str, Iterable[str]]) -> None:
        """Raises if a host has no machine, or if an axis changes links, which are not emulated."""
        missing = [name for name in hosts if name not in self.hosts]
        if missing:
            raise refused(
                f'testbed: no machine for host "{missing[0]}"',
                f"{', '.join(self.hosts) or 'nothing'} under `hosts`",
                f"also `{missing[0]}: {{login: ..., address: ...}}`",
            )
        settings.check_axes(self.kind, axes)
