"""Makes a run on real machines, and restores them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep import signals
from flowsweep.testbed import protocol
from flowsweep.testbed.machines.bed import Bed
from flowsweep.testbed.machines.machine import Machine
from flowsweep.testbed.machines.reach import AsTheyAre

if TYPE_CHECKING:
    from flowsweep.testbed.machines.reach import Links, Reach
    from flowsweep.testbed.machines.spec import MachinesSpec
    from flowsweep.testbed.result import RunResult


def run(
    spec: MachinesSpec,
    reach_from: Callable[[Path], Reach],
    links_between: Callable[[list[Machine]], Links] | None = None,
) -> RunResult:
    """Makes one captured run.

    Args:
        spec: The machines, and what runs on them.
        reach_from: Returns how to reach them, given a temporary folder for the run.
        links_between: Makes the links between them; None keeps the existing network.
    """
    with tempfile.TemporaryDirectory(prefix="flowsweep-") as text:
        folder = Path(text)
        reach = reach_from(folder)
        machines = [Machine(machine, reach, sudo=spec.sudo) for machine in spec.machines]
        links = links_between(machines) if links_between is not None else AsTheyAre()
        bed = Bed(spec, reach, links, machines, folder)
        with signals.cleaning(bed.leave):
            return protocol.run(bed)
