"""The counters of one run to its status: valid, invalid (do not use it) or failed (the program).

The chain that must close, for each site: frames that its hosts sent or received at
their interfaces = frames in their captures; what left through the uplink = what the
emulator received; what came in through it = what the emulator delivered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flowsweep.testbed.bed import Bed
    from flowsweep.testbed.counters import Frames


LATENESS_FLOOR_NS = 1_000_000
LATENESS_SHARE = 0.05


@dataclass(frozen=True)
class Evidence:
    """Everything that was counted between the start and the end of the captures."""

    frames: Frames
    emulator_before: dict[str, Any]
    emulator: dict[str, Any]
    manifests: dict[str, dict[str, Any]]
    quiet: bool


def faults(bed: Bed, evidence: Evidence) -> list[str]:
    """Why the run must not be used; empty if nothing is wrong."""
    return [
        *_capture_faults(bed, evidence),
        *_path_faults(bed, evidence),
        *_emulator_faults(bed, evidence),
    ]


def _capture_faults(bed: Bed, evidence: Evidence) -> list[str]:
    found = []
    for host, manifest in evidence.manifests.items():
        lost = int(manifest["dropped_kernel"] or 0) + int(manifest["dropped_interface"] or 0)
        if lost:
            found.append(f"capture on {host} lost {lost} packets")
            continue
        expected = sum(evidence.frames[host])
        written = int(manifest["packets_written"])
        if not bed.capture_filter and written != expected:
            found.append(f"capture on {host} has {written} packets, its interface {expected}")
    return found


def _path_faults(bed: Bed, evidence: Evidence) -> list[str]:
    if not evidence.quiet:
        return ["packets were still on their way at the end"]
    found = []
    for site in bed.sites:
        hosts_received = sum(evidence.frames[host.name][0] for host in bed.at(site))
        hosts_sent = sum(evidence.frames[host.name][1] for host in bed.at(site))
        inbound, outbound = evidence.frames[f"up-{site}"]
        if hosts_sent + inbound != hosts_received + outbound:
            found.append(
                f"bridge of {site}: {hosts_sent + inbound} frames in, "
                f"{hosts_received + outbound} out"
            )
        received = _added(evidence, "from", site, "received")
        delivered = _added(evidence, "to", site, "delivered")
        if received != outbound:
            found.append(f"{site} sent {outbound} frames, the emulator received {received}")
        if delivered != inbound:
            found.append(f"the emulator delivered {delivered} frames, {site} received {inbound}")
    for link in evidence.emulator["links"]:
        dropped = sum(
            int(value)
            for key, value in link.items()
            if key.startswith("dropped_") and not key.endswith("_bytes")
        )
        if link["received"] != link["delivered"] + dropped:
            found.append(
                f"emulator, {link['from']} to {link['to']}: {link['received']} received, "
                f"{link['delivered']} delivered, {dropped} dropped"
            )
    return found


def _added(evidence: Evidence, end: str, site: str, counter: str) -> int:
    """How much a counter grew, over all links from or to a site."""

    def total(stats: dict[str, Any]) -> int:
        return sum(int(link[counter]) for link in stats["links"] if link[end] == site)

    return total(evidence.emulator) - total(evidence.emulator_before)


def since(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The emulator's record without what its links carried before; the rest is as at the end."""
    links = []
    for old, new in zip(before["links"], after["links"], strict=True):
        counted = ("received", "delivered", "dropped")
        links.append(
            {
                key: value - old[key] if key.startswith(counted) else value
                for key, value in new.items()
            }
        )
    return {**after, "links": links}


def _emulator_faults(bed: Bed, evidence: Evidence) -> list[str]:
    found = []
    dropped = sum(int(port["kernel_dropped"]) for port in evidence.emulator["ports"])
    if dropped:
        found.append(f"the kernel dropped {dropped} frames before the emulator")
    refused = sum(int(link["dropped_send"]) for link in evidence.emulator["links"])
    if refused:
        found.append(f"the kernel refused {refused} frames from the emulator")
    late = int(evidence.emulator["lateness_ns"]["p99"])
    limit = lateness_limit_ns(bed.rtt_ns)
    if late > limit:
        found.append(f"emulator late {late / 1e6:.1f} ms at p99 (limit {limit / 1e6:g} ms)")
    return found


def lateness_limit_ns(rtt_ns: int) -> int:
    """How late the emulator may deliver at p99 for a run to count."""
    return max(LATENESS_FLOOR_NS, round(LATENESS_SHARE * rtt_ns))
