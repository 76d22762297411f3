"""What the settings of every kind of testbed have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from flowsweep.experiment.quantities import Model


class Settings(Model):
    """The part `testbed` of an experiment file; each kind of testbed has a class of its own."""

    #: Whether the links are made as the experiment says; otherwise they are only measured.
    shapes_links: ClassVar[bool]
    #: Whether this machine makes one run at a time, of all experiments together.
    one_at_a_time: ClassVar[bool]

    kind: str

    def address_of(self, host: str) -> str | None:
        """A host's address; None where the testbed gives it one of its own network."""
        del host
        return None

    def check(self, hosts: Iterable[str], axes: Mapping[str, Iterable[str]]) -> None:
        """Raises what `refused` returns where hosts or axes are impossible here.

        Args:
            hosts: Names of all hosts of the experiment.
            axes: Names of the swept axes by workload.
        """
        del hosts, axes

    def recorded(self) -> dict[str, Any] | None:
        """What stands in run.json, and decides whether a run is the same; None: nothing."""
        return self.model_dump(mode="json")
