"""Decides by the counters of a run whether it is valid.

For each site, these counts must be equal: frames that hosts sent or received at their
interfaces = frames in their captures; frames that left through the uplink = frames that the
emulator received; frames that came in through it = frames that the emulator delivered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowsweep.testbed import emulation
from flowsweep.testbed import spec as specs
from flowsweep.testbed.manifests import link_fault
from flowsweep.units import counted

if TYPE_CHECKING:
    from flowsweep.testbed.namespaces.counters import Frames, NetworkBytes
    from flowsweep.testbed.spec import Spec


# MPI's daemons exchange less than this at the start and end of a program.
LEAST_BYPASS_BYTES, BYPASS_SHARE = 1_000_000, 0.1
IDLE_FLOOR_NS = 1_000_000
IDLE_SHARE = 0.1
NONE_IDLE = 0.03  # a smaller idle share means that no core was idle, apart from switches
LEAST_WATCHED_S = 0.25  # the kernel counts CPU time in steps of milliseconds


@dataclass(frozen=True)
class Evidence:
    """All counts between the start and the end of the captures."""

    frames: Frames
    received: NetworkBytes  # by all hosts
    emulator_before: dict[str, Any]
    emulator: dict[str, Any]
    manifests: dict[str, dict[str, Any]]
    quiet: bool
    machine: dict[str, Any]  # see `watch.Watch.record`
    rtt_before_ns: list[int | None]  # of each idle link; None if no probe arrived
    rtt_after_ns: list[int | None]


def faults(spec: Spec, evidence: Evidence) -> list[str]:
    """Returns why the run must not be used; empty if nothing is wrong."""
    return [
        *_capture_faults(spec, evidence),
        *_path_faults(spec, evidence),
        *_bypass_faults(spec, evidence),
        *_emulator_faults(spec, evidence),
        *_machine_faults(spec, evidence),
        *_setting_faults(spec, evidence),
        *_idle_faults(spec, evidence),
    ]


def _capture_faults(spec: Spec, evidence: Evidence) -> list[str]:
    found = []
    for host, manifest in evidence.manifests.items():
        fault = link_fault(host, manifest)
        if fault is not None:
            found.append(fault)
        lost = int(manifest["dropped_kernel"] or 0) + int(manifest["dropped_interface"] or 0)
        if lost:
            found.append(f"capture on {host} lost {counted(lost, 'packet')}")
            continue
        expected = sum(evidence.frames[host])
        written = int(manifest["packets_written"])
        if not spec.capture_filter and written != expected:
            found.append(
                f"capture on {host} has {counted(written, 'packet')}, its interface {expected}"
            )
    return found


def _path_faults(spec: Spec, evidence: Evidence) -> list[str]:
    if not evidence.quiet:
        return ["packets were still on their way at the end"]
    found = []
    for site in spec.sites:
        hosts_received = sum(evidence.frames[host.name][0] for host in spec.at(site))
        hosts_sent = sum(evidence.frames[host.name][1] for host in spec.at(site))
        inbound, outbound = evidence.frames[f"up-{site}"]
        if evidence.emulator.get("drops_before_uplink"):
            outbound += _growth(evidence, "from", site, "dropped_queue")
        if hosts_sent + inbound != hosts_received + outbound:
            found.append(
                f"bridge of {site}: {counted(hosts_sent + inbound, 'frame')} in, "
                f"{hosts_received + outbound} out"
            )
        received = _growth(evidence, "from", site, "received")
        delivered = _growth(evidence, "to", site, "delivered")
        if received != outbound:
            found.append(
                f"{site} sent {counted(outbound, 'frame')}, the emulator received {received}"
            )
        if delivered != inbound:
            found.append(
                f"the emulator delivered {counted(delivered, 'frame')}, {site} received {inbound}"
            )
    # No frame is in flight any more: frames that the emulator still counts so are lost, too.
    return [*found, *emulation.balance_faults(evidence.emulator, is_quiet=True)]


def _bypass_faults(spec: Spec, evidence: Evidence) -> list[str]:
    """Returns a fault if the program used the management network, which is not emulated."""
    # If we start mpirun, its options keep messages off that network, and the output of ranks
    # does cross it.
    if spec.start == "mpirun" or spec.beside is not None:
        return []
    links, beside = evidence.received
    if beside <= max(LEAST_BYPASS_BYTES, BYPASS_SHARE * links):
        return []
    fault = (
        f"{beside / 1e6:.1f} MB went over the management network {specs.MANAGEMENT_NETWORK}, which"
        f" is not emulated, beside {links / 1e6:.1f} MB over the experiment network"
        f" {specs.EXPERIMENT_NETWORK}; for MPI say `where: mpi`"
    )
    return [fault]


def _growth(evidence: Evidence, end: str, site: str, counter: str) -> int:
    """Returns how much a counter grew, over all links from or to a site."""

    def total(stats: dict[str, Any]) -> int:
        return sum(int(link[counter]) for link in stats["links"] if link[end] == site)

    return total(evidence.emulator) - total(evidence.emulator_before)


def since(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Returns the final emulator record, with link counters only of the time after `before`."""
    links = []
    for old, new in zip(before["links"], after["links"], strict=True):
        counted = ("received", "delivered", "dropped", "duplicated", "jitter_", "order_")
        links.append(
            {
                key: value - old[key] if key.startswith(counted) else value
                for key, value in new.items()
            }
        )
    return {**after, "links": links}


def _emulator_faults(spec: Spec, evidence: Evidence) -> list[str]:
    return [
        *emulation.loss_faults(evidence.emulator),
        *emulation.lateness_faults(spec, evidence.emulator, evidence.machine["stolen"]),
    ]


def _machine_faults(spec: Spec, evidence: Evidence) -> list[str]:
    """Returns faults for CPU time that others took; the program's own waits are its result."""
    if evidence.machine["watched_s"] < LEAST_WATCHED_S:
        return []
    found, limits = [], spec.limits
    others, stolen = evidence.machine["other_programs"], evidence.machine["stolen"]
    limit, setting = limits.other_programs, "limits.other_programs"
    if evidence.machine["idle"] < NONE_IDLE and others > limit / 2 and limit < 1:
        # Without an idle core, the run lost all time that other programs used.
        limit, setting = limit / 2, f"half of {setting}, as no core was idle"
    if others + stolen > limit:
        machines = f", other virtual machines {100 * stolen:.0f} %" if stolen >= 0.005 else ""
        found.append(
            f"other programs used {100 * others:.0f} % of the cores{machines} "
            f"(limit {100 * limit:g} %, {setting})"
        )
    pressure = evidence.machine["cpu_pressure"]
    if pressure is not None and limits.cpu_pressure is not None and pressure > limits.cpu_pressure:
        limit = limits.cpu_pressure
        found.append(
            f"cpu pressure {100 * pressure:.0f} % (limit {100 * limit:g} %, limits.cpu_pressure)"
        )
    return found


def _setting_faults(spec: Spec, evidence: Evidence) -> list[str]:
    """Returns faults if the connections' TCP was not as requested."""
    found = []
    for direction, sizes in evidence.machine["socket_buffers"].items():
        wrong = [size for size in sizes.values() if size != spec.buffer_bytes]
        if spec.buffer_bytes is not None and wrong:
            found.append(
                f"{direction} buffers of {wrong[0]} bytes were granted, {spec.buffer_bytes} asked"
            )
    used = [name for name in evidence.machine["congestion_controls"] if name != spec.congestion]
    if spec.congestion is not None and used:
        found.append(f"connections used {', '.join(used)}, {spec.congestion} was asked")
    return found


def _idle_faults(spec: Spec, evidence: Evidence) -> list[str]:
    """Returns faults if the idle path after the run differs from the one before."""
    if spec.schedule:
        return []
    found = []
    for link, before, after in zip(
        spec.links, evidence.rtt_before_ns, evidence.rtt_after_ns, strict=True
    ):
        if before is None or after is None:
            when = "before" if before is None else "after"
            found.append(
                f"idle path of {link.a} and {link.b}: no probe came through {when} the run"
            )
            continue
        allowed = max(IDLE_FLOOR_NS, IDLE_SHARE * before) + link.idle_scatter_ns
        if abs(after - before) > allowed:
            found.append(
                f"idle RTT of {link.a} and {link.b}: {before / 1e6:.2f} ms before, "
                f"{after / 1e6:.2f} ms after the run"
            )
    return found
