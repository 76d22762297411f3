"""Checks names of TCP congestion controls: those of Linux, and others that this kernel has."""

from __future__ import annotations

import difflib
from pathlib import Path

from flowsweep.errors import FlowsweepError

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
#: Of Linux 6 (net/ipv4/tcp_*.c, bpf_*.c), and versions of BBR that distributions ship.
LINUX_NAMES = (
    "bbr", "bbr1", "bbr2", "bbr3", "bic", "bpf_cubic", "bpf_dctcp", "cdg", "cubic", "dctcp",
    "dctcp-reno", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "reno", "scalable", "vegas",
    "veno", "westwood", "yeah",
)  # fmt: skip


def available() -> list[str]:
    """Returns the congestion controls that this kernel can use without loading a module."""
    try:
        return AVAILABLE.read_text().split()
    except OSError:
        return []


def check(name: str, place: Path) -> None:
    """Raises if neither Linux nor this kernel has a congestion control of this name."""
    known = sorted({*LINUX_NAMES, *available()})
    if name in known:
        return
    near = difflib.get_close_matches(name, known, n=1)
    raise FlowsweepError(
        f"{place}: no congestion control is called {name}",
        found=f'"{name}"',
        expected=f"one of {', '.join(known)}",
        remedy=f"write {near[0]}" if near else f"modprobe tcp_{name}, if it is a module of yours",
    )
