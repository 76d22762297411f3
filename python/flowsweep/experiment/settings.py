"""The common base of the settings of all kinds of testbed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from flowsweep.experiment.quantities import Model


class Settings(Model):
    """The part `testbed` of an experiment file; each kind of testbed has a class of its own."""

    #: Whether the testbed emulates the experiment's links; otherwise it only measures them.
    shapes_links: ClassVar[bool]
    #: Whether this machine makes only one run at a time, across all experiments.
    one_at_a_time: ClassVar[bool]

    kind: str

    def address_of(self, host: str) -> str | None:
        """Returns a host's address; None if it gets one in the experiment's own network."""
        del host
        return None

    def check(self, hosts: Iterable[str], axes: Mapping[str, Iterable[str]]) -> None:
        """Raises the error of `refused` if hosts or axes are impossible on this testbed.

        Args:
            hosts: Names of all hosts of the experiment.
            axes: Names of the swept axes by workload.
        """
        del hosts, axes

    def recorded(self) -> dict[str, Any] | None:
        """Returns the settings for run.json, which are part of a run's hash; None for none."""
        return self.model_dump(mode="json")
