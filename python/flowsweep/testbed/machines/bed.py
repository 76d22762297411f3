"""What is up during a run on real machines: the machines, their links, a folder of ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from flowsweep.testbed.machines.machine import Machine
    from flowsweep.testbed.machines.reach import Links, Reach


class AsTheyAre:
    """Links that are left as they are."""

    def start(self) -> None:
        """Does nothing: there are no links to make."""

    def check_alive(self) -> None:
        """Does nothing: the links are the network as it is."""

    def stop(self) -> dict[str, Any]:
        """What stands in run.json."""
        return {"backend": "none", "backend_reason": "real machines", "links": []}

    def leave(self) -> None:
        """Does nothing: there are no links to make."""


@dataclass(frozen=True)
class Bed:
    """What is up during a run.

    Attributes:
        reach: How the machines are reached.
        links: The links between them.
        machines: All machines of the run.
        folder: A folder of ours on this machine, for the time of the run.
    """

    reach: Reach
    links: Links
    machines: list[Machine]
    folder: Path

    def leave(self) -> None:
        """Puts each machine back, and closes all connections."""
        self.links.leave()
        for machine in self.machines:
            machine.leave()
        self.reach.leave([machine.described for machine in self.machines])
