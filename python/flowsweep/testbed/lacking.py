"""A congestion control that a point asks for and a kernel has not."""

from __future__ import annotations

from flowsweep.errors import FlowsweepError


class LackingError(FlowsweepError):
    """A kernel has no such congestion control: a fault of the point, not of the testbed."""

    def __init__(self, name: str, there: list[str], kernel: str = "this kernel") -> None:
        super().__init__(
            f"tcp.congestion_control: {kernel} cannot use {name}",
            found=f"available: {' '.join(there)}",
            expected=name,
            remedy=f"modprobe tcp_{name} as root, or choose one of those available",
        )

    @property
    def line(self) -> str:
        """In one line, as the reason of a failed run."""
        return f"{self.what} ({self.found}); {self.remedy}, and remove this run"
