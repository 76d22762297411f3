"""Process 1 of the private namespaces: builds the testbed, runs a program on it, reports.

`isolation` starts it, sends the description through one file descriptor, and reads the
results from another, one JSON object per line. When this process ends, for any reason,
the kernel kills every other process in the namespaces and removes the network.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from flowsweep.errors import FlowsweepError
from flowsweep.testbed import launch, program, protocol, transient
from flowsweep.testbed.namespaces import backend, congestion, counters, netem, probe, topology
from flowsweep.testbed.namespaces.agents import Capture, Emulator
from flowsweep.testbed.namespaces.bed import Bed
from flowsweep.testbed.spec import Spec

CHECK_S = 0.5


def main(spec_fd: int, events_fd: int, mode: str) -> int:
    """Reads the description, does what `mode` names, and reports; returns the exit code."""
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


def run(spec: Spec, started: Callable[[], None]) -> tuple[int, dict[str, Any]]:
    """Makes one captured run of the program; returns 0 and everything known about the run."""
    return 0, {"event": "result", "run": protocol.run(Bed(spec), started).to_json()}


def shell(spec: Spec, started: Callable[[], None]) -> tuple[int, dict[str, Any]]:
    """Builds the topology with its links; runs a command in the hub; returns its exit code."""
    topology.build(spec)
    congestion.use(spec)
    environment = launch.write_scripts(spec, [])
    links = backend.start(backend.choose(spec).name, spec)
    probe.announce(spec)
    # Ctrl-C is for the command, not for the testbed; a child would inherit an ignored signal.
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
    """Tries what works here, with a little traffic; returns 0 and a fact for each part."""
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
    # Skips the interpreter's clean-up: everything disappears with the namespaces.
    os._exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
