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
    """What is up during a run; `folder` is ours."""

    reach: Reach
    links: Links
    machines: list[Machine]
    folder: Path
