"""Finds clock readings in the capture agent's manifests."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import combinations
from typing import Any

#: Indexes of two hosts, a time on the second host's clock, and bounds on how far that clock is
#: ahead of the first host's, in ns.
Reading = tuple[int, int, int, tuple[int, int]]

#: Maximum time between readings of two hosts against a third that are combined, in ns. In that time
#: two clocks drift apart by at most 1 ms; the drift widens the bounds.
SAME_MOMENT = 10_000_000_000
FASTEST_DRIFT = 1e-4
#: Times and offsets beyond it are of no use, and might not fit into 64 bits with another one.
MOST_NS = 1 << 62


def kernels(manifests: Sequence[Mapping[str, Any]]) -> list[int | None]:
    """Numbers the running kernel of each manifest; None if the manifest does not state it."""
    numbers: dict[str, int] = {}
    found: list[int | None] = []
    for about in manifests:
        kernel = _part(about, "clock").get("boot_id")
        known = isinstance(kernel, str) and kernel
        found.append(numbers.setdefault(str(kernel), len(numbers)) if known else None)
    return found


def readings(hosts: Sequence[tuple[Mapping[str, Any], Sequence[str]]]) -> list[Reading]:
    """Returns the agents' readings against another captured host, or against a common third host.

    Args:
        hosts: The manifest and the addresses of each host.
    """
    owners = {address: place for place, (_, some) in enumerate(hosts) for address in some}
    found: list[Reading] = []
    others: dict[str, list[tuple[int, int, int, int]]] = {}
    for place, (about, _) in enumerate(hosts):
        clock = _part(about, "clock")
        for state in (_part(clock, "at_start"), _part(clock, "at_end")):
            peer = _part(state, "peer")
            time = nanoseconds(state.get("time"))
            ahead, trip = peer.get("offset_ns"), peer.get("round_trip_ns")
            if time is None or not isinstance(ahead, int) or not isinstance(trip, int) or trip < 0:
                continue
            # The agent records the peer's clock minus its own.
            low, high = -ahead - (trip + 1) // 2, -ahead + (trip + 1) // 2
            name = _address(str(peer.get("address")))
            owner = owners.get(name)
            if owner is None:
                others.setdefault(name, []).append((place, time, low, high))
            elif owner != place:
                found.append((owner, place, time, (low, high)))
    for some in others.values():
        for (first, one, low, high), (second, two, least, most) in combinations(some, 2):
            if first != second and abs(one - two) <= SAME_MOMENT:
                drift = round(abs(one - two) * FASTEST_DRIFT)
                found.append((first, second, two, (least - high - drift, most - low + drift)))
    return found


def _address(peer: str) -> str:
    """Returns the host of `HOST:PORT`; an IPv6 address without brackets."""
    host = peer.rpartition(":")[0].strip("[]")
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return host


def _part(about: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = about.get(name)
    return part if isinstance(part, dict) else {}


def nanoseconds(value: Any) -> int | None:
    """Returns a time such as 2026-11-21T03:20:55.809270648Z in ns since 1970, or None."""
    if not isinstance(value, str):
        return None
    whole, _, fraction = value.removesuffix("Z").partition(".")
    digits = f"{fraction:0<9}"
    try:
        seconds = datetime.fromisoformat(f"{whole}+00:00").timestamp()
    except (ValueError, OverflowError):
        return None
    found = int(seconds) * 1_000_000_000 + (int(digits) if len(digits) == 9 else 0)
    return found if abs(found) < MOST_NS else None
