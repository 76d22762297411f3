"""Describes the testbed of a planned run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep.experiment.axes import AXES
from flowsweep.testbed.spec import (
    ChangeSpec,
    HostSpec,
    LimitsSpec,
    LinkSpec,
    Spec,
    UplinkSpec,
)

if TYPE_CHECKING:
    from flowsweep.experiment import Link, Run


def spec_of(run: Run, folder: Path | None = None) -> Spec:
    """Returns the testbed of a planned run; `folder` receives the captures."""
    experiment, point = run.experiment, run.point
    emulation = experiment.emulation
    return Spec(
        hosts=[
            HostSpec(host.name, host.site, host.address, host.mgmt_address, host.mac)
            for host in run.hosts
        ],
        links=[_both_ways(run, ends) for ends in run.links],
        uplinks={
            site: UplinkSpec(line.rate_bit_s, line.queue_bytes, line.links)
            for site, line in ((site, experiment.sites[site].uplink) for site in run.sites)
            if line is not None
        },
        schedule=list(_changes(run)),
        backend=emulation.backend,
        overhead=emulation.overhead == "ethernet",
        fates=emulation.fates,
        **{
            axis.field: getattr(point, axis.field)
            for axis in AXES.values()
            if axis.applies_to == "sockets"
        },
        tcp={name: str(value) for name, value in run.workload.tcp.items()},
        limits=_limits(run),
        seed=run.emulator_seed,
        snaplen=experiment.capture.snaplen,
        capture_filter=experiment.capture.filter,
        capture_buffer_bytes=experiment.capture.buffer_bytes,
        folder=str(folder.absolute()) if folder else "",
        timeout_s=experiment.timeout_s,
    )


def _limits(run: Run) -> LimitsSpec:
    limits = run.experiment.limits
    return LimitsSpec(
        other_programs=limits.other_programs,
        cpu_pressure=limits.cpu_pressure if _is_paced(run) else None,
        lateness_ns=limits.lateness_ns,
        lateness_share=limits.lateness_share,
    )


def _is_paced(run: Run) -> bool:
    """Returns whether all programs of the run wait instead of computing."""
    both = [run] if run.beside is None else [run, run.beside]
    return all(one.workload.compute == "paced" for one in both)


def _both_ways(run: Run, ends: tuple[str, str]) -> LinkSpec:
    back = run.ways_back.get(ends)
    there = _link(*ends, run.links[ends])
    return there if back is None else replace(there, back=_link(*ends, back))


def _link(a: str, b: str, link: Link) -> LinkSpec:
    """Copies the fields of the link by name, and computes the others."""
    made: dict[str, Any] = {
        "a": a,
        "b": b,
        "back": None,
        "queue_bytes": link.effective_queue_bytes,
        "codel_ns": (link.codel_target_ns, link.codel_interval_ns)
        if link.discipline == "codel"
        else None,
        "jitter_ns": link.jitter.at_delay(link.rtt_ns // 2),
    }
    names = [field.name for field in fields(LinkSpec) if field.name not in made]
    return LinkSpec(**made, **{name: getattr(link, name) for name in names})


def _changes(run: Run) -> Iterator[ChangeSpec]:
    """Yields the entries of the schedule, each with the complete link as it is from then on."""
    now = dict(run.links)
    for change in sorted(run.schedule, key=lambda change: change.at_ns):
        for (a, b), link in now.items():
            if change.between is None or set(change.between) == {a, b}:
                before = _link(a, b, link)
                now[a, b] = link.model_copy(update=change.given())
                after = _link(a, b, now[a, b])
                changed = [name for name, value in vars(after).items()
                           if value != getattr(before, name)]  # fmt: skip
                if changed:
                    yield ChangeSpec(change.at_ns, after, changed)
