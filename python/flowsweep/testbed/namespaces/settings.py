"""The settings of an experiment file for emulated hosts on this machine: none but the kind."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from flowsweep.experiment import settings


class Settings(settings.Settings):
    """Namespaces with emulated links."""

    shapes_links: ClassVar[bool] = True
    one_at_a_time: ClassVar[bool] = True  # concurrent runs would compete for cores

    kind: Literal["namespaces"] = "namespaces"

    def recorded(self) -> dict[str, Any] | None:
        """Returns None: run.json already has the links."""
        return None
