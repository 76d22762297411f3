"""Makes a testbed's links from the kernel's queueing disciplines, as the other backend.

    hosts -- br-<site> -- up-<site> ~~ wan-<site> -- core (bridge)
                              |             |
        rate and queue, by destination   delay, loss, duplicates, by origin

The links have a namespace of their own, between the hosts: on a sending host, netem would interfere
with TCP small queues, and a drop would lose a whole GSO packet. Rate and delay are two stages, so
that the queue has exactly the requested size, and netem's own limit, which includes frames in
flight, never drops a frame.

This module writes the commands for `ip`, `bridge` and `tc`, and reads their counters; the kind of
testbed runs the commands.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from flowsweep.testbed import emulation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowsweep.testbed.spec import LinkSpec, Spec

CORE = "core"
FULL_FRAME_BYTES = 1514
LEAST_FRAME_BYTES = 60
MIN_LIMIT_PACKETS = 1000  # netem's own default
# A token bucket that lasts for less than this is empty before the kernel refills it.
BURST_S = 100e-6
# With any rate, netem keeps the order of frames; this one delays a full frame by 0.12 us.
ORDERING_RATE = "100gbit"
MAX_BANDS = 16  # of prio
SQRT_3 = math.sqrt(3)


def find_unable(spec: Spec) -> str | None:
    """Returns a feature of the experiment that these disciplines do not support, or None."""
    links = spec.ways
    wanted = {
        "parallel links": any(link.links > 1 for link in links),
        "an uplink": bool(spec.uplinks),
        "a schedule": bool(spec.schedule),
        "the fate of each frame": spec.fates,
        "no rate limit": any(link.rate_bit_s is None for link in links),
        "a queue in bytes and packets": any(link.queue_packets is not None for link in links),
        f"more than {MAX_BANDS} sites": len(spec.sites) > MAX_BANDS + 1,
    }
    return next((what for what, asked in wanted.items() if asked), None)


def list_trials(spec: Spec) -> list[str]:
    """Returns the disciplines that the links need, each as arguments for a trial of `tc`."""
    kinds = ["netem delay 1ms", "htb", "bfifo limit 100000"]
    kinds += ["prio"] if len(spec.sites) > 2 else []
    kinds += ["codel"] if any(way.codel_ns is not None for way in spec.ways) else []
    return kinds


def devices(spec: Spec) -> list[str]:
    """Returns every interface that has disciplines."""
    return [f"{end}-{site}" for site in spec.sites for end in ("up", "wan")]


def bridge_commands(spec: Spec) -> tuple[list[str], list[str]]:
    """Returns lines for `ip -batch` and `bridge -batch` that join the sites."""
    ip = [f"link add {CORE} type bridge stp_state 0 mcast_snooping 0"]
    ip += [f"link set wan-{site} master {CORE} up" for site in spec.sites]
    ip += [f"link set {CORE} up"]
    fdb = [f"fdb add {host.mac} dev wan-{host.site} master static" for host in spec.hosts]
    return ip, fdb


def commands(spec: Spec, *, undisturbed: bool = False) -> list[str]:
    """Returns lines for `tc -batch`: the disciplines of every site."""
    lines = []
    for site in spec.sites:
        others = [other for other in spec.sites if other != site]
        lines += _rates(spec, site, others)
        lines += _delays(spec, site, others, undisturbed=undisturbed)
    return lines


def _network(spec: Spec, site: str) -> str:
    """Returns the network of a site: 10.77.<site>.0/24."""
    return spec.at(site)[0].address.rsplit(".", 1)[0] + ".0/24"


def _filter(device: str) -> str:
    return f"filter add {device} parent 1: protocol ip prio 1 u32"


def _rates(spec: Spec, site: str, others: list[str]) -> list[str]:
    """Returns lines for rate and queue of frames that leave a site, by destination."""
    device = f"dev up-{site}"
    lines = [f"qdisc add {device} root handle 1: htb default 1"]
    counted = ""
    if spec.overhead:
        counted = (
            f" overhead {emulation.ETHERNET_OVERHEAD_BYTES}"
            f" mpu {emulation.ETHERNET_LEAST_FRAME_BYTES + emulation.ETHERNET_OVERHEAD_BYTES}"
        )
    for band, other in enumerate(others, start=1):
        minor = f"1:{band:x}"
        link = spec.way(site, other)
        rate = round(link.rate_bit_s or 0)
        burst = max(2 * FULL_FRAME_BYTES, round(rate * BURST_S / 8))
        rates = f"rate {rate}bit ceil {rate}bit burst {burst}b cburst {burst}b"
        rates += f" quantum {FULL_FRAME_BYTES}"
        lines += [
            f"class add {device} parent 1: classid {minor} htb {rates}{counted}",
            f"qdisc add {device} parent {minor} handle {band + 0x10:x}: {_queue(link)}",
            f"{_filter(device)} match ip dst {_network(spec, other)} flowid {minor}",
        ]
    return lines


def _queue(link: LinkSpec) -> str:
    if link.codel_ns is None:
        return f"bfifo limit {link.queue_bytes}"
    target, interval = link.codel_ns
    packets = max(1, link.queue_bytes // FULL_FRAME_BYTES)
    return f"codel limit {packets} target {_us(target)} interval {_us(interval)} noecn"


def _delays(spec: Spec, site: str, others: list[str], *, undisturbed: bool) -> list[str]:
    """Returns lines for delay, loss and duplicates of frames that arrive at a site, by origin."""
    device = f"dev wan-{site}"
    if len(others) == 1:
        described = netem(spec.way(others[0], site), undisturbed=undisturbed)
        return [f"qdisc add {device} root handle 11: {described}"]
    bands = max(3, len(others))
    lines = [f"qdisc add {device} root handle 1: prio bands {bands} priomap{' 0' * 16}"]
    for band, other in enumerate(others, start=1):
        minor = f"1:{band:x}"
        described = netem(spec.way(other, site), undisturbed=undisturbed)
        lines += [
            f"qdisc add {device} parent {minor} handle {band + 0x10:x}: {described}",
            f"{_filter(device)} match ip src {_network(spec, other)} flowid {minor}",
        ]
    return lines


def netem(link: LinkSpec, *, undisturbed: bool = False) -> str:
    """Returns the arguments of `netem` for one direction of a link."""
    words = [f"netem limit {limit_packets(link)} delay {_us(link.delay_ns)}"]
    if undisturbed:
        return words[0]
    if link.jitter_ns:
        # Without a distribution, netem expects the half width of a uniform one.
        uniform = link.jitter_law == "uniform"
        words.append(_us(round(link.jitter_ns * SQRT_3) if uniform else link.jitter_ns))
        if not uniform:
            words.append(f"distribution {link.jitter_law}")
    described = emulation.loss(link.loss, link.loss_burst)
    if described is not None and "rate" in described:
        words.append(f"loss random {_percent(described['rate'])}")
    elif described is not None:
        # p, r, loss in the bad state, loss in the good state.
        words.append(f"loss gemodel {_percent(described['p'])} {_percent(described['r'])} 100% 0%")
    if link.duplicate:
        words.append(f"duplicate {_percent(link.duplicate)}")
    if link.jitter_ns and not link.reorder:
        words.append(f"rate {ORDERING_RATE}")
    return " ".join(words)


def limit_packets(link: LinkSpec) -> int:
    """Returns netem's limit in frames: twice as many minimum-size frames as can be in flight.

    Nothing may be dropped here for lack of space: the queue is the stage before.
    """
    slowest_ns = link.delay_ns + 10 * link.jitter_ns
    on_the_way = (link.rate_bit_s or 0.0) * slowest_ns / 8e9 / LEAST_FRAME_BYTES
    return max(MIN_LIMIT_PACKETS, math.ceil(2 * on_the_way))


def _us(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e3:.3f}us"


def _percent(share: float) -> str:
    return f"{100 * share:.7g}%"


def record(spec: Spec, printed: Mapping[str, str]) -> dict[str, Any]:
    """Returns delivered and dropped frames per link and direction, in flowsweep-wan's format.

    Args:
        spec: The links.
        printed: Output of `tc -s -j qdisc show`, by device.
    """
    found = {
        device: {entry["handle"]: entry for entry in json.loads(text)}
        for device, text in printed.items()
    }
    links = []
    for here in spec.sites:
        for there in [site for site in spec.sites if site != here]:
            outgoing = [site for site in spec.sites if site != here].index(there) + 0x11
            incoming = [site for site in spec.sites if site != there].index(here) + 0x11
            links.append(
                link_record(
                    here,
                    there,
                    found[f"up-{here}"][f"{outgoing:x}:"],
                    found[f"wan-{there}"][f"{incoming:x}:"],
                )
            )
    return {
        "links": links,
        "ports": [{"name": site, "kernel_dropped": 0} for site in spec.sites],
        "scheduling": "kernel",
        "drops_before_uplink": True,  # the queue is on the site's side of its uplink
        "lateness_ns": None,  # the kernel does not report it
    }


def link_record(
    here: str, there: str, queue: dict[str, Any], delay: dict[str, Any]
) -> dict[str, Any]:
    """Returns the record of one direction of a link, from the counters of its two stages."""
    passed = queue["packets"]
    in_delay = delay["packets"] + delay["drops"] + delay["qlen"]
    return {
        "from": here,
        "to": there,
        "received": passed + queue["drops"] + queue["qlen"],
        "delivered": delay["packets"],
        "duplicated": max(0, in_delay - passed),
        "dropped_queue": queue["drops"],
        "dropped_loss": delay["drops"],
        "dropped_send": 0,
        "in_flight": queue["qlen"] + delay["qlen"],
    }
