"""A run on real machines: what `hub` does in namespaces."""

from __future__ import annotations

import json
import shlex
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

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

T = TypeVar("T")
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
        bed = Bed(reach, links, machines, folder)
        with signals.cleaning(bed.leave):
            return _run(spec, bed, begin)


class Counters(NamedTuple):
    """The counters of a machine: packets, CPU pressure (us or -1) and its uptime (s)."""

    received: int
    sent: int
    pressure_us: int
    uptime_s: float


class Observation(NamedTuple):
    """What is seen of the machines while nothing runs: RTTs by pair, counters by machine."""

    rtts_ns: dict[idle.Pair, int]
    counters: dict[str, Counters]

    @classmethod
    def make(cls, spec: MachinesSpec, machines: list[Machine]) -> Observation:
        """Looks at all of them."""
        rtts_ns = idle.round_trips(spec, machines)
        return cls(rtts_ns, {machine.name: Counters(*machine.counters()) for machine in machines})


class Execution(NamedTuple):
    """The program from its start to its end, as `RunResult` has it."""

    start_ns: int
    end_ns: int
    failure: str | None
    spoiled: str | None


def _run(spec: MachinesSpec, bed: Bed, begin: float) -> RunResult:
    machines = bed.machines
    _set_up(spec, bed)
    before = Observation.make(spec, machines)
    ready = time.monotonic()
    execution = _execute(spec, bed)
    done = time.monotonic()
    after = Observation.make(spec, machines)
    tcp = _read_tcp(spec, machines)
    emulator = bed.links.stop()
    manifests = _collect_captures(spec, machines)
    pressure = _compute_pressure(before.counters, after.counters)
    return RunResult(
        start_ns=execution.start_ns,
        end_ns=execution.end_ns,
        failure=execution.failure,
        spoiled=execution.spoiled,
        faults=[
            *idle.faults(spec, manifests, before.rtts_ns, after.rtts_ns, pressure),
            *emulation.lateness_faults(spec, emulator),
        ],
        tcp=tcp,
        emulator=emulator,
        machine={"cpu_pressure": max(pressure.values(), default=None), "by_host": pressure},
        frames=_count_frames(before.counters, after.counters),
        paths=_describe_paths(before.rtts_ns, after.rtts_ns),
        program_s=None if execution.failure else _longest_program_s(machines),
        cost_s={
            "set_up": round(ready - begin, 4),
            "program": round(done - ready, 4),
            "take_down": round(time.monotonic() - done, 4),
        },
    )


def _set_up(spec: MachinesSpec, bed: Bed) -> None:
    """Starts a keeper on each machine, then the links between them."""
    machines = bed.machines
    agent = launch.program_path("flowsweep-capture")
    _do_at_once(
        machines, lambda machine: machine.prepare(agent, _settings(spec, bed.reach, machine))
    )
    for machine in machines:
        machine.keep()
    for machine in machines:
        machine.wait_ready()
    bed.links.start()


def _execute(spec: MachinesSpec, bed: Bed) -> Execution:
    """Runs the program between start and end of its servers."""
    machines = bed.machines
    environment = program.environment(spec, machines, bed.folder)
    serving = serve.on_machines(spec, machines, environment, bed.folder)
    failure, spoiled = _find_lacking(spec, machines) or serving.start(), None
    start_ns = time.time_ns()
    if failure is None:
        failure, spoiled = program.run(spec, bed, environment, serving)
    end_ns = time.time_ns()
    failure = serving.failure() or failure
    serve.end(spec, machines, serving)
    return Execution(start_ns, end_ns, failure, spoiled)


def _read_tcp(spec: MachinesSpec, machines: list[Machine]) -> dict[str, str]:
    """TCP's settings on the first machine."""
    tcp = machines[0].tcp()
    if spec.congestion is not None and _find_lacking(spec, machines) is None:
        tcp["congestion_control"] = spec.congestion  # it is in the routes
    return tcp


def _collect_captures(spec: MachinesSpec, machines: list[Machine]) -> dict[str, dict[str, Any]]:
    """Ends the captures and brings them here; the manifests by machine."""
    for machine in machines:
        machine.ask_to_stop()
    for machine in machines:
        machine.wait_stopped()
    return dict(_do_at_once(machines, lambda machine: _fetch(spec, machine)))


def _do_at_once(machines: list[Machine], work: Callable[[Machine], T]) -> list[T]:
    """Does the same with all machines, each in a thread; the results in their order."""
    return list(ThreadPoolExecutor(len(machines)).map(work, machines))


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
    from_them = " or ".join(f"src host {sender.address}" for sender in spec.machines)
    to_them = " or ".join(f"dst host {receiver.address}" for receiver in spec.machines)
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


def _longest_program_s(machines: list[Machine]) -> float | None:
    """Seconds of the program that took longest; None where none has noted its times."""
    return max((span for machine in machines for span in _program_spans(machine)), default=None)


def _program_spans(machine: Machine) -> list[float]:
    """Seconds that each program took there by the machine's clock, without ssh's own time."""
    folder = shlex.quote(machine.folder)
    printed = machine.run(f"cd {folder} && cat prog-*.time 2>/dev/null; rm -f prog-*.time; true")
    times = [[int(word) for word in line.split()] for line in printed.decode().splitlines()]
    return [(end - begin) / 1e9 for begin, end in times]


def _compute_pressure(before: dict[str, Counters], after: dict[str, Counters]) -> dict[str, float]:
    """The share of the program's time, by machine, in which some process waited for a core."""
    shares = {}
    for name, ended in after.items():
        span_s = ended.uptime_s - before[name].uptime_s
        if ended.pressure_us >= 0 and span_s > 0:
            waited_s = (ended.pressure_us - before[name].pressure_us) / 1e6
            # The clock of /proc/uptime has steps of 10 ms.
            shares[name] = min(1.0, round(waited_s / span_s, 4))
    return shares


def _count_frames(
    before: dict[str, Counters], after: dict[str, Counters]
) -> dict[str, dict[str, int]]:
    """The frames that each machine received and sent meanwhile."""
    return {
        name: {
            "received": ended.received - before[name].received,
            "sent": ended.sent - before[name].sent,
        }
        for name, ended in after.items()
    }


def _describe_paths(
    before: dict[idle.Pair, int], after: dict[idle.Pair, int]
) -> list[dict[str, Any]]:
    return [
        {"between": pair, "rtt_ns": rtt, "rtt_after_ns": later, "rate_bit_s": None}
        for (pair, rtt), later in zip(before.items(), after.values(), strict=True)
    ]
