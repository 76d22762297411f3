"""Makes flowsweep-wan's configuration from a testbed's links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowsweep.runs import link_balance
from flowsweep.units import counted

if TYPE_CHECKING:
    from flowsweep.testbed.spec import LinkSpec, Spec, UplinkSpec

# What Ethernet adds to a captured frame: preamble 8, FCS 4, gap 12 bytes; and the smallest frame
# without FCS (IEEE 802.3, clauses 3 and 4).
ETHERNET_OVERHEAD_BYTES = 24
ETHERNET_LEAST_FRAME_BYTES = 60

# Share of stolen time above which a message on lateness mentions it.
TELLING_STOLEN = 0.001

# The fields of a link that determine each key of the configuration.
DECIDED_BY = {
    "delay_ns": ("rtt_ns",),
    "rate_bit_s": ("rate_bit_s",),
    "queue": ("queue_bytes", "queue_packets", "codel_ns"),
    "jitter": ("jitter_ns", "jitter_law"),
    "reorder": ("reorder",),
    "loss": ("loss", "loss_burst"),
    "duplicate": ("duplicate",),
    "parallel": ("links",),
    "hash": ("hash",),
}
# Keys that would disturb the measurement of the idle path.
DISTURBING = ("jitter", "loss", "duplicate", "reorder")
OFF: dict[str, Any] = {
    "jitter": None,
    "reorder": False,
    "loss": None,
    "duplicate": 0.0,
    "parallel": 1,
    "hash": "layer3+4",
}


def config(spec: Spec, *, undisturbed: bool = False) -> dict[str, Any]:
    """Returns flowsweep-wan's configuration: a port for each site, a link for each pair.

    undisturbed: without loss, jitter, duplicates and reordering, and without scheduled changes.
    """
    found: dict[str, Any] = {
        "seed": spec.seed,
        "overhead_bytes": ETHERNET_OVERHEAD_BYTES if spec.overhead else 0,
        "ports": [_port(site, spec.uplinks.get(site)) for site in spec.sites],
        "links": [_link(link, DISTURBING if undisturbed else ()) for link in spec.links],
    }
    if spec.overhead:
        found["least_frame_bytes"] = ETHERNET_LEAST_FRAME_BYTES
    if spec.schedule and not undisturbed:
        found["schedule"] = [
            {
                "at_ns": change.at_ns,
                "a": change.link.a,
                "b": change.link.b,
                **_select(_keys(change.link), change.changed),
            }
            for change in spec.schedule
        ]
        found["schedule_waits"] = True
    return found


def with_links(spec: Spec, record: dict[str, Any]) -> dict[str, Any]:
    """Adds the new state of the link to each scheduled change in the emulator's record."""
    changes = []
    for change in record.get("changes", []):
        link = spec.schedule[int(change["change"].removeprefix("schedule[").removesuffix("]"))].link
        changes.append(
            {
                **change,
                "between": [link.a, link.b],
                "rtt_ns": link.rtt_ns,
                "rate_bit_s": link.rate_bit_s,
                "links": link.links,
            }
        )
    return {**record, "changes": changes}


def _port(site: str, uplink: UplinkSpec | None) -> dict[str, Any]:
    port: dict[str, Any] = {"name": site, "interface": f"wan-{site}"}
    if uplink is not None:
        port["uplink"] = {
            "rate_bit_s": round(uplink.rate_bit_s),
            "queue_bytes": uplink.queue_bytes,
            "parallel": uplink.links,
        }
    return port


def _link(link: LinkSpec, without: tuple[str, ...]) -> dict[str, Any]:
    """Returns only the keys that have an effect, so that the file reads like the experiment."""
    there = {name: value for name, value in _keys(link).items() if name not in without}
    found = {name: value for name, value in there.items() if OFF.get(name, ...) != value}
    both = {"a": link.a, "b": link.b, **_short_queue(found)}
    if link.back is not None:
        back = {name: value for name, value in _keys(link.back).items() if name not in without}
        differs = {name: value for name, value in back.items() if there[name] != value}
        both["b_to_a"] = _short_queue(differs)
    return both


def _short_queue(keys: dict[str, Any]) -> dict[str, Any]:
    """Replaces a queue that has only a size by its number of bytes."""
    if set(keys.get("queue", ())) != {"bytes"}:
        return keys
    short = {name: value for name, value in keys.items() if name != "queue"}
    return {**short, "queue_bytes": keys["queue"]["bytes"]}


def _select(keys: dict[str, Any], changed: list[str]) -> dict[str, Any]:
    return {name: keys[name] for name in keys if set(DECIDED_BY[name]) & set(changed)}


def _keys(link: LinkSpec) -> dict[str, Any]:
    jitter = {"std_ns": link.jitter_ns, "law": link.jitter_law} if link.jitter_ns else None
    return {
        "delay_ns": link.delay_ns,
        "rate_bit_s": None if link.rate_bit_s is None else round(link.rate_bit_s),
        "queue": _queue(link),
        "jitter": jitter,
        "reorder": link.reorder,
        "loss": loss(link.loss, link.loss_burst),
        "duplicate": link.duplicate,
        "parallel": link.links,
        "hash": link.hash,
    }


def _queue(link: LinkSpec) -> dict[str, Any]:
    queue: dict[str, Any] = {"bytes": link.queue_bytes}
    if link.queue_packets is not None:
        queue["packets"] = link.queue_packets
    if link.codel_ns is not None:
        target, interval = link.codel_ns
        queue |= {"discipline": "codel", "target_ns": target, "interval_ns": interval}
    return queue


def loss(rate: float, burst: float | None) -> dict[str, float] | None:
    """Returns independent loss, or Gilbert-Elliott loss with this rate and mean burst in frames.

    In the bad state every frame is lost, in the good one none: the mean burst is 1/r, the
    share of time in the bad state p/(p+r) (Gilbert 1960).
    """
    if not rate:
        return None
    if burst is None:
        return {"rate": rate}
    leave = 1 / burst
    return {"p": min(1.0, rate * leave / (1 - rate)), "r": leave}


def loss_faults(record: dict[str, Any]) -> list[str]:
    """Returns faults for frames that the kernel lost on either side of the emulator."""
    found = []
    dropped = sum(int(port.get("kernel_dropped") or 0) for port in record.get("ports", ()))
    if dropped:
        found.append(f"the kernel dropped {counted(dropped, 'frame')} before the emulator")
    refused = sum(int(link.get("dropped_send") or 0) for link in record.get("links", ()))
    if refused:
        found.append(f"the kernel refused {counted(refused, 'frame')} from the emulator")
    return found


def balance_faults(record: dict[str, Any], *, is_quiet: bool) -> list[str]:
    """Returns the link directions with frames that no counter explains.

    is_quiet: the record was read when no frame could be in flight.
    """
    return [
        f"emulator, {link.from_site} to {link.to_site}: {link.received} received, "
        f"{link.duplicated} duplicated, {link.delivered} delivered, {link.dropped} dropped"
        for link in link_balance.balances(record)
        if link.unexplained + (link.in_flight if is_quiet else 0)
    ]


def lateness_faults(spec: Spec, record: dict[str, Any], stolen: float = 0.0) -> list[str]:
    """Returns a fault if the emulator was late; `stolen`: stolen share of the cores' time."""
    lateness = record.get("lateness_ns")
    late = int(lateness["p99"]) if lateness is not None else 0
    limit = spec.limits.latest_ns(spec.shortest_rtt_ns)
    if late <= limit:
        return []
    fault = f"emulator late {late / 1e6:.1f} ms at p99 (limit {limit / 1e6:g} ms)"
    if stolen >= TELLING_STOLEN:
        fault += f", {100 * stolen:.1f} % of the cores went to other virtual machines"
    return [fault]
