"""Finds faults of a run in the manifest of a capture."""

from __future__ import annotations

from typing import Any

from flowsweep.units import counted


def link_fault(host: str, manifest: dict[str, Any]) -> str | None:
    """Returns the fault of a link that was down during the capture; None if it was up."""
    link = manifest.get("link")
    if link is None:
        return None
    if not link["up_at_start"] and not link["changes"]:
        return f"the link of {host} was down all the time"
    lost = f", lost {counted(link['downs'], 'time')}" if link["downs"] else ""
    return f"the link of {host} was down for {link['down_s']:.1f} s{lost}"


def early_end_fault(host: str, manifest: dict[str, Any]) -> str | None:
    """Returns the fault of a capture that ended too early; None if it did not."""
    if manifest.get("status", "complete") == "complete":
        return None
    lost = int(manifest.get("lost_writing") or 0)
    missing = f", {counted(lost, 'packet')} not written" if lost else ""
    return f"capture on {host} is incomplete: {manifest.get('stop_reason')}{missing}"
