"""The description of nodes of an allocation."""

from __future__ import annotations

from dataclasses import dataclass

from flowsweep.testbed.machines.spec import MachinesSpec


@dataclass(frozen=True)
class SlurmSpec(MachinesSpec):
    """A description with fields that only Slurm has.

    `control`: see `Allocation`. `emulator`: its node, and that node's address; None: links are the
    existing network.
    """

    control: str | None = None
    emulator: tuple[str, str] | None = None
