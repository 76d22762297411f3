"""Measures RTTs between real machines, and decides whether a run is valid."""

from __future__ import annotations

import re
import statistics
from typing import TYPE_CHECKING, Any

from flowsweep.testbed.manifests import early_end_fault, link_fault
from flowsweep.units import counted

if TYPE_CHECKING:
    from flowsweep.testbed.machines.machine import Machine
    from flowsweep.testbed.machines.spec import MachinesSpec

PINGS = 5
FLOOR_NS = 1_000_000
SHARE = 0.2
Pair = tuple[str, str]


def round_trips(spec: MachinesSpec, machines: list[Machine]) -> dict[Pair, int]:
    """Returns the median RTT in ns, by `ping`, between the first machines of each pair of sites."""
    first = {site: spec.at(site)[0].name for site in spec.sites}
    by_name = {machine.name: machine for machine in machines}
    found = {}
    for index, near in enumerate(spec.sites):
        for far in spec.sites[index + 1 :]:
            here, there = by_name[first[near]], by_name[first[far]]
            line = here.run(f"ping -c {PINGS} -i 0.2 -W 2 {there.address} || true").decode()
            times = [float(text) for text in re.findall(r"time=([0-9.]+) ms", line)]
            if not times:
                raise here.failure(
                    f"does not reach {there.name}", f"no answer to ping from {there.address}"
                )
            found[here.name, there.name] = round(statistics.median(times) * 1e6)
    return found


def faults(
    spec: MachinesSpec,
    manifests: dict[str, dict[str, Any]],
    before: dict[Pair, int],
    after: dict[Pair, int],
    pressure: dict[str, float],
) -> list[str]:
    """Returns why the run must not be used; empty if nothing is wrong."""
    found = []
    for host, manifest in manifests.items():
        reasons = (link_fault(host, manifest), early_end_fault(host, manifest))
        found += [fault for fault in reasons if fault is not None]
        lost = int(manifest["dropped_kernel"] or 0) + int(manifest["dropped_interface"] or 0)
        if lost:
            found.append(f"capture on {host} lost {counted(lost, 'packet')}")
    site = {host.name: host.site for host in spec.hosts}
    for (near, far), rtt in before.items():
        later = after[near, far]
        scatter = spec.link(site[near], site[far]).idle_scatter_ns
        if abs(later - rtt) > max(FLOOR_NS, SHARE * rtt) + scatter:
            found.append(
                f"idle RTT of {near} and {far}: {rtt / 1e6:.2f} ms before, "
                f"{later / 1e6:.2f} ms after the run"
            )
    limit = spec.limits.cpu_pressure
    found += [
        f"cpu pressure {100 * share:.0f} % on {host} (limit {100 * limit:g} %, limits.cpu_pressure)"
        for host, share in pressure.items()
        if limit is not None and share > limit
    ]
    return found
