"""What network does my distributed application need? Measured from packet captures of a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowsweep.captures import (
        DamagedCaptureWarning,
        read_captures,
        read_flows,
        read_intervals,
        read_messages,
        read_packets,
        read_throughput,
    )

__all__ = [
    "DamagedCaptureWarning",
    "read_captures",
    "read_flows",
    "read_intervals",
    "read_messages",
    "read_packets",
    "read_throughput",
]


def __getattr__(name: str) -> object:
    """Loads the readers when they are first used, so that importing the package stays quick."""
    if name in __all__:
        from flowsweep import captures

        return getattr(captures, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
