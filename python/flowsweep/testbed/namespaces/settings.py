"""What an experiment file says of emulated hosts on this machine: nothing, all is as described."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from flowsweep.experiment import settings


class Settings(settings.Settings):
    """Namespaces with emulated links."""

    shapes_links: ClassVar[bool] = True
    one_at_a_time: ClassVar[bool] = True  # runs beside each other would take each other's cores

    kind: Literal["namespaces"] = "namespaces"

    def recorded(self) -> dict[str, Any] | None:
        """Nothing: run.json has the links."""
        return None
