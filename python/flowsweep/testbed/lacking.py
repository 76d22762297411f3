"""The error for a congestion control that a point requests and a kernel lacks."""

from __future__ import annotations

from flowsweep.errors import FlowsweepError


class LackingError(FlowsweepError):
    """A kernel lacks the congestion control: a fault of the point, not of the testbed."""

    def __init__(self, name: str, there: list[str], kernel: str = "this kernel") -> None:
        super().__init__(
            f"tcp.congestion_control: {kernel} cannot use {name}",
            found=f"available: {' '.join(there)}",
            expected=name,
            remedy=f"modprobe tcp_{name} as root, or choose one of those available",
        )

    @property
    def line(self) -> str:
        """The error in one line, as the reason of a failed run."""
        return f"{self.what} ({self.found}); {self.remedy}, and remove this run"
