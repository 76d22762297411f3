"""A run on real machines: what `hub` does in namespaces."""

from __future__ import annotations

import json
import shlex
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep import signals
from flowsweep.testbed import emulation, launch
from flowsweep.testbed.lacking import LackingError
from flowsweep.testbed.machines import idle, program, serve
from flowsweep.testbed.machines.bed import AsTheyAre, Bed
from flowsweep.testbed.machines.machine import Machine
from flowsweep.testbed.result import RunResult
from flowsweep.testbed.spec import ALWAYS

if TYPE_CHECKING:
    from flowsweep.testbed.machines.reach import Links, Reach
    from flowsweep.testbed.machines.spec import MachinesSpec

OFFLOADS = ("tso", "gso", "gro", "lro")


def run(
    spec: MachinesSpec,
    reach_from: Callable[[Path], Reach],
    links_between: Callable[[list[Machine]], Links] | None = None,
) -> RunResult:
    """One captured run.

    Args:
        spec: The machines, and what is run on them.
        reach_from: How they are reached, given a folder of ours for the time of the run.
        links_between: Links that are made between them; None: they are what they are.
    """
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="flowsweep-") as text:
        folder = Path(text)
        reach = reach_from(folder)
        machines = [Machine(machine, reach, sudo=spec.sudo) for machine in spec.machines]
        links = links_between(machines) if links_between is not None else AsTheyAre()
        with signals.cleaning(lambda: _leave(reach, links, machines)):
            return _run(spec, Bed(reach, links, machines, folder), begin)


def _leave(reach: Reach, links: Links, machines: list[Machine]) -> None:
    """Each machine is put back, and no connection stays."""
    links.leave()
    for machine in machines:
        machine.leave()
    reach.leave([machine.described for machine in machines])


def _run(spec: MachinesSpec, bed: Bed, begin: float) -> RunResult:
    machines, folder = bed.machines, bed.folder
    agent = launch.program_path("flowsweep-capture")
    everywhere = ThreadPoolExecutor(len(machines)).map
    list(
        everywhere(
            lambda machine: machine.prepare(agent, _settings(spec, bed.reach, machine)), machines
        )
    )
    for machine in machines:
        machine.keep()
    for machine in machines:
        machine.wait_ready()
    bed.links.start()
    before = idle.round_trips(spec, machines)
    counted = {machine.name: machine.counters() for machine in machines}
    ready = time.monotonic()
    lacking = _find_lacking(spec, machines)
    environment = program.environment(spec, machines, folder)
    serving = serve.on_machines(spec, machines, environment, folder)
    failure, spoiled = lacking or serving.start(), None
    start = time.time_ns()
    if failure is None:
        failure, spoiled = program.run(spec, bed, environment, serving)
    end = time.time_ns()
    failure = serving.failure() or failure
    serve.end(spec, machines, serving)
    done = time.monotonic()
    after = idle.round_trips(spec, machines)
    ended = {machine.name: machine.counters() for machine in machines}
    tcp = machines[0].tcp()
    if spec.congestion is not None and lacking is None:
        tcp["congestion_control"] = spec.congestion  # it is in the routes
    emulator = bed.links.stop()
    for machine in machines:
        machine.ask_to_stop()
    for machine in machines:
        machine.wait_stopped()
    manifests = dict(everywhere(lambda machine: _fetch(spec, machine), machines))
    pressure = _pressure(counted, ended)
    spans = [span for machine in machines for span in _spans(machine)] if not failure else []
    return RunResult(
        start_ns=start,
        end_ns=end,
        failure=failure,
        spoiled=spoiled,
        faults=[
            *idle.faults(spec, manifests, before, after, pressure),
            *emulation.lateness_faults(spec, emulator),
        ],
        tcp=tcp,
        emulator=emulator,
        machine={"cpu_pressure": max(pressure.values(), default=None), "by_host": pressure},
        frames={
            name: {
                "received": ended[name][0] - counted[name][0],
                "sent": ended[name][1] - counted[name][1],
            }
            for name in ended
        },
        paths=[
            {"between": pair, "rtt_ns": rtt, "rtt_after_ns": later, "rate_bit_s": None}
            for (pair, rtt), later in zip(before.items(), after.values(), strict=True)
        ],
        cost_s={
            "set_up": round(ready - begin, 4),
            "program": round(done - ready, 4),
            "take_down": round(time.monotonic() - done, 4),
        },
        program_s=max(spans, default=None),
    )


def _find_lacking(spec: MachinesSpec, machines: list[Machine]) -> str | None:
    """The reason why the program cannot be started, or None: see `hub.run`."""
    for machine in machines:
        if spec.congestion is not None and machine.lacking is not None:
            where = f"the kernel of {machine.name}"
            return LackingError(spec.congestion, machine.lacking, where).line
    return None


def _settings(spec: MachinesSpec, reach: Reach, machine: Machine) -> list[str]:
    """What the keeper changes and captures."""
    # The agent's folder has no blank: see the model.
    capture = ["-w", f"{machine.folder}/{machine.name}.pcap.zst"]
    capture += ["--snaplen", str(spec.snaplen), "--buffer", str(spec.capture_buffer_bytes)]
    lines = [*machine.described.overlay, f"address {machine.address}"]
    interface = machine.described.interface
    lines += [f"interface {interface}"] if interface else []
    lines += [f"capture {' '.join(capture)}", f"filter {_filter(spec, reach, machine)}"]
    if spec.change_hosts:
        lines += [f"offload {name} off" for name in OFFLOADS]
    settings = (ALWAYS if spec.change_hosts else {}) | spec.asked_settings
    lines += [f"sysctl net.ipv4.{name} {value}" for name, value in settings.items()]
    if spec.congestion is not None:
        lines.append(f"congestion {spec.congestion}")
    return lines


def _filter(spec: MachinesSpec, reach: Reach, machine: Machine) -> str:
    """What the machines of the experiment send each other, without what reaches them."""
    if spec.capture_filter:
        return spec.capture_filter
    from_them = " or ".join(f"src host {one.address}" for one in spec.machines)
    to_them = " or ".join(f"dst host {one.address}" for one in spec.machines)
    unseen = reach.unseen(machine.described)
    return f"({from_them}) and ({to_them})" + (f" and {unseen}" if unseen else "")


def _fetch(spec: MachinesSpec, machine: Machine) -> tuple[str, dict[str, Any]]:
    """Its capture and manifest into the run directory, and app.json if it is there."""
    folder = Path(spec.folder)
    wanted = [f"{machine.name}.pcap.zst", f"{machine.name}.capture.json"]
    for name in wanted:
        if not machine.fetch(name, folder / name):
            raise machine.failure(f"has no {name}", "nothing was captured")
    # One machine writes it: with MPI that of rank 0.
    machine.fetch("app.json", Path(spec.output))
    # Only now: both are whole and safe here.
    machine.run(f"cd {shlex.quote(machine.folder)} && rm -f {' '.join(wanted)} app.json")
    manifest: dict[str, Any] = json.loads((folder / f"{machine.name}.capture.json").read_text())
    return machine.name, manifest


def _spans(machine: Machine) -> list[float]:
    """Seconds that each program took there by the machine's clock, without ssh's own time."""
    folder = shlex.quote(machine.folder)
    printed = machine.run(f"cd {folder} && cat prog-*.time 2>/dev/null; rm -f prog-*.time; true")
    times = [[int(word) for word in line.split()] for line in printed.decode().splitlines()]
    return [(end - begin) / 1e9 for begin, end in times]


def _pressure(
    before: dict[str, tuple[int, int, int, float]], after: dict[str, tuple[int, int, int, float]]
) -> dict[str, float]:
    """The share of the program's time, by machine, in which some process waited for a core."""
    found = {}
    for name, (_, _, pressure, uptime) in after.items():
        span = uptime - before[name][3]
        if pressure >= 0 and span > 0:
            # The clock of /proc/uptime has steps of 10 ms.
            found[name] = min(1.0, round((pressure - before[name][2]) / 1e6 / span, 4))
    return found
