"""The settings of an experiment file for the nodes of a Slurm allocation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal

from pydantic import Field

from flowsweep.testbed.machines import settings


class Settings(settings.Settings):
    """Which of their networks is captured, and whether links are made between them."""

    one_at_a_time: ClassVar[bool] = False  # each allocation has its own lock

    kind: Literal["slurm"] = "slurm"
    network: str | None = Field(
        None,
        description="slurm: the IPv4 network of the nodes that is used, such as 10.78.0.0/16. "
        "Default: that of the addresses of their names.",
        pattern=r"^[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}$",
    )
    emulate: bool = Field(
        False,
        description="slurm: make the links that the experiment describes, by netem or "
        "flowsweep-wan on a node, on top of the nodes' network. Needs root on the nodes, and "
        "VXLAN. Else the network is what it is.",
    )

    @property
    def shapes_links(self) -> bool:  # type: ignore[override] # a constant in all other kinds
        """Whether links are emulated, which is a setting."""
        return self.emulate

    def check(self, hosts: Iterable[str], axes: Mapping[str, Iterable[str]]) -> None:
        """Raises if an axis changes links that are not emulated."""
        del hosts
        if not self.emulate:
            settings.check_axes(self.kind, axes, "; or `emulate: true`, with root on the nodes")
