"""Process 1 of the private namespaces: builds the testbed, runs one thing on it, reports.

Started by `isolation`; the description comes through one file descriptor, results leave
through another, one JSON object per line. When this process ends, however it ends, the
kernel ends every other process in here and removes the network.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flowsweep.errors import FlowsweepError
from flowsweep.testbed import emulation, launch, program, servers, transient
from flowsweep.testbed.lacking import LackingError
from flowsweep.testbed.namespaces import (
    backend,
    congestion,
    counters,
    netem,
    probe,
    topology,
    validity,
    watch,
)
from flowsweep.testbed.namespaces.agents import Capture, Emulator
from flowsweep.testbed.namespaces.beside import Beside
from flowsweep.testbed.namespaces.steering import Steering
from flowsweep.testbed.result import RunResult
from flowsweep.testbed.spec import Spec

# Where the emulator has no real-time priority, ranks give way to it and to the capture agents.
RANK_PRIORITY = ["chrt", "--idle", "0"]
CHECK_S = 0.5
SETTLE_S = 0.005


def main(spec_fd: int, events_fd: int, mode: str) -> int:
    """Reads the description, does what `mode` names, reports; the exit code."""
    with os.fdopen(spec_fd) as source:
        spec = Spec.from_json(source.read())
    with os.fdopen(events_fd, "w") as events:
        os.set_inheritable(events_fd, False)

        def tell(event: dict[str, Any]) -> None:
            print(json.dumps(event), file=events, flush=True)

        try:
            code, result = MODES[mode](spec, lambda: tell({"event": "started"}))
        except FlowsweepError as error:
            code, result = 2, transient.to_event(error)
        except Exception as error:  # noqa: BLE001 - reported with its place
            code, result = 2, transient.to_event(transient.unexpected(error))
        tell(result)
    return code


@dataclass(frozen=True)
class _Bed:
    """The testbed when it is up and nothing but probes was sent; counters as they are then.

    `lacking`: why the program cannot be started, or None. `paths`: the idle paths.
    """

    spec: Spec
    links: backend.Backend
    captures: list[Capture]
    environment: dict[str, str]
    priority: list[str]
    lacking: str | None
    backend: str
    backend_reason: str
    paths: list[probe.Path]
    frames: counters.Frames
    emulator: dict[str, Any]
    received: counters.NetworkBytes


@dataclass(frozen=True)
class _Execution:
    """What became of the program, of what ran beside it, and what both got of the machine."""

    start_ns: int
    end_ns: int
    failure: str | None
    spoiled: str | None
    machine: dict[str, Any]
    beside: Beside


def run(spec: Spec, started: Callable[[], None]) -> tuple[int, dict[str, Any]]:
    """One captured run of the program; 0 and everything that is known about it.

    `started` is called when the program is.
    """
    begin = time.monotonic()
    bed = _set_up(spec)
    ready = time.monotonic()
    started()
    execution = _execute(bed)
    done = time.monotonic()
    evidence = _collect_evidence(bed, execution.machine)
    steering = Steering.from_spec(spec)
    result = RunResult(
        start_ns=execution.start_ns,
        end_ns=execution.end_ns,
        failure=execution.failure,
        spoiled=execution.spoiled,
        tcp=topology.tcp_settings(spec, spec.hosts[0], by_route=bed.lacking is None),
        faults=[*execution.beside.faults, *validity.faults(spec, evidence)],
        emulator={
            "backend": bed.backend,
            "backend_reason": bed.backend_reason,
            "steering": steering.record() if steering is not None else None,
            **emulation.with_links(spec, validity.since(bed.emulator, evidence.emulator)),
        },
        machine=execution.machine,
        frames={name: {"received": r, "sent": s} for name, (r, s) in evidence.frames.items()},
        paths=[
            {
                "between": path.between,
                "rtt_ns": path.rtt_ns,
                "rtt_after_ns": rtt_after_ns,
                "rate_bit_s": path.rate_bit_s,
            }
            for path, rtt_after_ns in zip(bed.paths, evidence.rtt_after_ns, strict=True)
        ],
        cost_s={
            "set_up": round(ready - begin, 4),
            "program": round(done - ready, 4),
            "take_down": round(time.monotonic() - done, 4),
        },
        beside=execution.beside.record(),
    )
    return 0, {"event": "result", "run": result.to_json()}


def _set_up(spec: Spec) -> _Bed:
    """Builds hosts and links, and starts the capture agents."""
    topology.build(spec)
    lacking = _use_congestion_control(spec)
    name, why, paths = _choose(spec)
    links = backend.start(name, spec)
    is_real_time = links.stats()["scheduling"] == "fifo"
    priority = [] if is_real_time else RANK_PRIORITY
    environment = launch.write_scripts(spec, priority)
    probe.announce(spec)
    backend.wait_quiet(links, SETTLE_S, _quiet_limit_s(spec))
    captures = [Capture(spec, host) for host in spec.hosts]
    for capture in captures:
        capture.wait_ready()
    return _Bed(
        spec,
        links,
        captures,
        environment,
        priority,
        lacking,
        name,
        why,
        paths,
        frames=counters.read(spec),
        emulator=links.stats(),
        received=counters.bytes_by_network(spec),
    )


def _execute(bed: _Bed) -> _Execution:
    """Runs the program with its servers and what runs beside it, to their end."""
    spec = bed.spec
    other = Beside(spec, bed.environment, bed.priority)
    failure, spoiled = bed.lacking, None if bed.lacking else other.begin()
    serving = servers.in_namespaces(spec, bed.environment, bed.priority)
    if failure is None and spoiled is None:
        failure = serving.start()
    watcher = watch.Watch(spec)
    start_ns = time.time_ns()
    if spec.schedule:
        bed.links.start_schedule()

    def look() -> None:
        bed.links.check_alive()
        for capture in bed.captures:
            capture.check_alive()
        watcher.look()
        serving.check()

    if failure is None and spoiled is None:
        failure, spoiled = program.run(spec, bed.environment, look, bed.priority)
    end_ns = time.time_ns()
    failure = serving.failure() or failure
    machine = watcher.record()
    serving.end()
    other.end()
    return _Execution(start_ns, end_ns, failure, spoiled, machine, other)


def _collect_evidence(bed: _Bed, machine: dict[str, Any]) -> validity.Evidence:
    """Ends the captures and the links, and collects what they counted."""
    spec, links, captures = bed.spec, bed.links, bed.captures
    quiet = backend.wait_quiet(links, 1.5e-9 * spec.longest_rtt_ns + 0.02, _quiet_limit_s(spec))
    for capture in captures:
        capture.ask_to_stop()
    for capture in captures:
        capture.wait_closed()
    frames = counters.since(bed.frames, counters.read(spec))
    emulator = links.stats()
    # While the agents write what they have, the path is measured again.
    rtt_after_ns = probe.round_trips(spec)
    links.final_stats()
    for capture in captures:
        capture.wait_stopped()
    return validity.Evidence(
        frames=frames,
        received=counters.bytes_by_network(spec).since(bed.received),
        emulator_before=bed.emulator,
        emulator=emulator,
        manifests={capture.host.name: capture.manifest() for capture in captures},
        quiet=quiet,
        machine=machine,
        rtt_before_ns=[path.rtt_ns for path in bed.paths],
        rtt_after_ns=rtt_after_ns,
    )


def _use_congestion_control(spec: Spec) -> str | None:
    """The reason why the program cannot be started, or None.

    The rest is done all the same: the run is a row like any other, and the sweep goes on.
    """
    try:
        congestion.use(spec)
    except LackingError as error:
        return error.line
    return None


def _choose(spec: Spec) -> tuple[str, str, list[probe.Path]]:
    """The backend, why it is this one, and the idle paths that it makes.

    Kernels differ in what their netem does: unless it was demanded, it is given up if the idle
    path is not as asked.
    """
    name, why = backend.choose(spec)
    if name == backend.WAN:
        return name, why, _measure_idle(spec, name)
    try:
        netem.Netem.join_sites(spec)
        paths = _measure_idle(spec, name)
        fault = probe.find_implausible(spec, paths)
    except FlowsweepError as error:
        paths, fault = [], f"{error.what}: {error.found}"
    if fault is None:
        return name, why, paths
    if spec.backend == backend.NETEM:
        raise FlowsweepError(
            "emulation.backend: netem does not make the links that are asked for",
            found=fault,
            expected="idle paths as in the experiment",
            remedy="backend: flowsweep-wan",
        )
    netem.Netem.part_sites(spec)
    return backend.WAN, f"netem was tried: {fault}", _measure_idle(spec, backend.WAN)


def _measure_idle(spec: Spec, name: str) -> list[probe.Path]:
    """Measures the idle path over separate links, so that the run's counters do not include it."""
    links = backend.start(name, spec, undisturbed=True)
    probe.announce(spec)
    paths = probe.measure(spec)
    links.final_stats()
    return paths


def _quiet_limit_s(spec: Spec) -> float:
    """The longest that what is queued and retransmitted may take to arrive."""
    return 2.0 + 4e-9 * spec.longest_rtt_ns + 2 * spec.longest_drain_s


def shell(spec: Spec, started: Callable[[], None]) -> tuple[int, dict[str, Any]]:
    """The topology with its links; a command in the hub, whose exit code is ours."""
    topology.build(spec)
    congestion.use(spec)
    environment = launch.write_scripts(spec, [])
    name, *_ = _choose(spec)
    links = backend.start(name, spec)
    probe.announce(spec)
    # Ctrl-C is for the command, not for the testbed below it. What is ignored is inherited.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if spec.schedule:
        links.start_schedule()
    started()
    process = subprocess.Popen(spec.program, env=environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    code = process.wait()
    links.check_alive()
    return code if code >= 0 else 128 - code, {
        "event": "result",
        "emulator": links.final_stats(),
    }


def check(spec: Spec, _started: Callable[[], None]) -> tuple[int, dict[str, Any]]:
    """What works here, with a little traffic: 0 and a fact for each part of the testbed."""
    topology.build(spec)
    facts: dict[str, Any] = {"event": "result", "netem": netem.missing(spec) is None}
    environment = launch.write_scripts(spec, [])
    try:
        emulator = Emulator(spec)
        emulator.wait_ready()
    except FlowsweepError as error:
        return 0, {**facts, "emulator_error": str(error)}
    probe.announce(spec)
    try:
        capture = Capture(spec, spec.hosts[0])
        capture.wait_ready()
        before = counters.read(spec)
        probe.exercise(spec, CHECK_S)
        capture.ask_to_stop()
        capture.wait_stopped()
        facts["capture"] = capture.manifest()
        facts["frames"] = sum(counters.since(before, counters.read(spec))[capture.host.name])
    except FlowsweepError as error:
        facts["capture_error"] = str(error)
    facts["paths"] = [vars(path) for path in probe.measure(spec)]
    facts["emulator"] = emulator.final_stats()
    facts["mpi_error"] = (
        program.run(spec, environment, lambda: None)[0] if spec.program else "not installed"
    )
    return 0, facts


MODES = {"run": run, "shell": shell, "check": check}

if __name__ == "__main__":
    # Without the interpreter's own clean-up: all goes with the namespaces.
    os._exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
