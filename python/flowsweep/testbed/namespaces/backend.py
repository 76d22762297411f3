"""Chooses and starts the backend of a testbed's links: flowsweep-wan or netem."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from flowsweep.errors import FlowsweepError
from flowsweep.testbed import netem
from flowsweep.testbed.namespaces import netem as kernel_links
from flowsweep.testbed.namespaces import probe
from flowsweep.testbed.namespaces.agents import Emulator

if TYPE_CHECKING:
    from flowsweep.testbed.spec import Spec

WAN, NETEM = "flowsweep-wan", "netem"


class Backend(Protocol):
    """Running links: `agents.Emulator` or `netem.Netem`, which document these methods."""

    def check_alive(self) -> None: ...  # noqa: D102
    def start_schedule(self) -> None: ...  # noqa: D102
    def stats(self) -> dict[str, Any]: ...  # noqa: D102
    def final_stats(self) -> dict[str, Any]: ...  # noqa: D102


@dataclass(frozen=True)
class Choice:
    """A backend, the reason for the choice, and its measured idle paths."""

    name: str
    reason: str
    paths: list[probe.Path]


def choose(spec: Spec) -> Choice:
    """Chooses the backend. The namespaces must exist.

    netem differs between kernels: it is rejected if the idle path is not as requested, unless the
    experiment demands netem.

    Raises:
        FlowsweepError: netem is demanded and is not available, or does not make the links.
    """
    name, reason = _choose_by_kernel(spec)
    if name == WAN:
        return Choice(name, reason, _measure_idle(spec, name))
    try:
        kernel_links.Netem.join_sites(spec)
        paths = _measure_idle(spec, name)
        fault = probe.find_implausible(spec, paths)
    except FlowsweepError as error:
        paths, fault = [], f"{error.what}: {error.found}"
    if fault is None:
        return Choice(name, reason, paths)
    if spec.backend == NETEM:
        raise FlowsweepError(
            "emulation.backend: netem does not make the links that are asked for",
            found=fault,
            expected="idle paths as in the experiment",
            remedy="backend: flowsweep-wan",
        )
    kernel_links.Netem.part_sites(spec)
    return Choice(WAN, f"netem was tried: {fault}", _measure_idle(spec, WAN))


def _choose_by_kernel(spec: Spec) -> tuple[str, str]:
    """Returns the backend that suits this kernel, and why."""
    if spec.backend == WAN:
        return WAN, "as demanded"
    unable = netem.find_unable(spec)
    lacking = None if unable else kernel_links.missing(spec)
    if unable is None and lacking is None:
        return NETEM, "this kernel has it"
    why = f"netem cannot do {unable}" if unable else f"this kernel has {lacking}"
    if spec.backend == NETEM:
        raise FlowsweepError(
            "emulation.backend: netem cannot be used",
            found=why,
            expected="a kernel with sch_netem, and links that it can make",
            remedy="backend: flowsweep-wan",
        )
    return WAN, why


def _measure_idle(spec: Spec, name: str) -> list[probe.Path]:
    """Measures the idle path over separate links, so that the run's counters do not include it."""
    links = start(name, spec, undisturbed=True)
    probe.announce(spec)
    paths = probe.measure(spec)
    links.final_stats()
    return paths


def start(name: str, spec: Spec, *, undisturbed: bool = False) -> Backend:
    """Starts the links and waits until they work."""
    if name == NETEM:
        return kernel_links.Netem(spec, undisturbed=undisturbed)
    emulator = Emulator(spec, undisturbed=undisturbed)
    emulator.wait_ready()
    return emulator


def wait_quiet(links: Backend, quiet_s: float, limit_s: float) -> bool:
    """Waits until no frame is in flight and none has arrived for `quiet_s`; False at the limit."""
    end = time.monotonic() + limit_s
    last, since = -1, time.monotonic()
    while time.monotonic() < end:
        found = links.stats()["links"]
        received = sum(link["received"] for link in found)
        moving = any(link["in_flight"] for link in found)
        if received != last or moving:
            last, since = received, time.monotonic()
        elif time.monotonic() - since >= quiet_s:
            return True
        time.sleep(min(0.01, quiet_s / 4))
    return False
