"""Makes a run on real machines, and puts them back as they were."""

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
    """One captured run.

    Args:
        spec: The machines, and what is run on them.
        reach_from: How they are reached, given a folder of ours for the time of the run.
        links_between: Links that are made between them; None: they are what they are.
    """
    with tempfile.TemporaryDirectory(prefix="flowsweep-") as text:
        folder = Path(text)
        reach = reach_from(folder)
        machines = [Machine(machine, reach, sudo=spec.sudo) for machine in spec.machines]
        links = links_between(machines) if links_between is not None else AsTheyAre()
        bed = Bed(spec, reach, links, machines, folder)
        with signals.cleaning(bed.leave):
            return protocol.run(bed)
