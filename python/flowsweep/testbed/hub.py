"""Process 1 of the private namespaces: builds the testbed, runs one thing on it, reports.

Started by `enclosure`; the description comes through one file descriptor, results leave
through another, one JSON object per line. When this process ends, however it ends, the
kernel ends every other process in here and removes the network.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from flowsweep.errors import FlowsweepError
from flowsweep.testbed import bed as beds
from flowsweep.testbed import counters, kernel, launch, probe, topology, validity
from flowsweep.testbed.agents import Agent, Capture, Emulator
from flowsweep.testbed.bed import Bed

# Where the emulator has no real-time priority, ranks give way to it and to the capture agents.
RANK_PRIORITY = ["chrt", "--idle", "0"]
CHECK_S = 0.5
SETTLE_S = 0.005
TERMINATE_LIMIT_S = 5.0
WATCH_S = 0.2  # how often agents are looked at while the program runs
REASON_LINES = 4


def main(spec_fd: int, events_fd: int, mode: str) -> int:
    """Reads the description, does what `mode` names, reports; the exit code."""
    with os.fdopen(spec_fd) as spec:
        bed = Bed.from_json(spec.read())
    with os.fdopen(events_fd, "w") as events:
        os.set_inheritable(events_fd, False)
        try:
            code, result = MODES[mode](bed)
        except FlowsweepError as error:
            names = ("what", "found", "expected", "remedy")
            result = {"event": "error", **{name: getattr(error, name) for name in names}}
            code = 2
        print(json.dumps(result), file=events)
    return code


def run(bed: Bed) -> tuple[int, dict[str, Any]]:
    """One captured run of the program; 0 and everything that is known about it."""
    begin = time.monotonic()
    topology.build(bed)
    paths = _measure_idle(bed)
    emulator = Emulator(bed)
    emulator.wait_ready()
    real_time = emulator.stats()["scheduling"] == "fifo"
    environment = launch.write_scripts(bed, [] if real_time else RANK_PRIORITY)
    probe.announce(bed)
    emulator.wait_quiet(SETTLE_S, _quiet_limit_s(bed))
    captures = [Capture(bed, host) for host in bed.hosts]
    for capture in captures:
        capture.wait_ready()
    frames_before, emulator_before = counters.read(bed), emulator.stats()
    ready = time.monotonic()
    start = time.time_ns()
    failure = _program(bed, environment, [emulator, *captures])
    end = time.time_ns()
    done = time.monotonic()
    quiet = emulator.wait_quiet(1.5e-9 * bed.rtt_ns + 0.02, _quiet_limit_s(bed))
    for capture in captures:
        capture.ask_to_stop()
    for capture in captures:
        capture.wait_stopped()
    frames = counters.since(frames_before, counters.read(bed))
    stats = emulator.final_stats()
    evidence = validity.Evidence(
        frames=frames,
        emulator_before=emulator_before,
        emulator=stats,
        manifests={capture.host.name: capture.manifest() for capture in captures},
        quiet=quiet,
    )
    return 0, {
        "event": "result",
        "start_ns": start,
        "end_ns": end,
        "failure": failure,
        "tcp": topology.tcp_settings(bed, bed.hosts[0]),
        "faults": validity.faults(bed, evidence),
        "emulator": validity.since(emulator_before, stats),
        "frames": {name: {"received": r, "sent": s} for name, (r, s) in frames.items()},
        "paths": [
            {"between": path.between, "rtt_ns": path.rtt_ns, "rate_bit_s": path.rate_bit_s}
            for path in paths
        ],
        "cost_s": {
            "set_up": round(ready - begin, 4),
            "program": round(done - ready, 4),
            "take_down": round(time.monotonic() - done, 4),
        },
    }


def _measure_idle(bed: Bed) -> list[probe.Path]:
    """The idle path, by an emulator of its own: the run's lateness and drops are its own too."""
    emulator = Emulator(bed)
    emulator.wait_ready()
    probe.announce(bed)
    paths = probe.measure(bed)
    emulator.final_stats()
    return paths


def _quiet_limit_s(bed: Bed) -> float:
    """The longest that what is queued and retransmitted may take to arrive."""
    drain = bed.queue_bytes * 8 / bed.rate_bit_s if bed.rate_bit_s else 0.0
    return 2.0 + 4e-9 * bed.rtt_ns + 2 * drain


def _program(bed: Bed, environment: dict[str, str], agents: Sequence[Agent]) -> str | None:
    """Runs the ranks; None, or why they failed. An agent that ends meanwhile is an error."""
    out, err = beds.LOGS / "program.out", beds.LOGS / "program.err"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            launch.mpirun(bed),
            env=environment,
            cwd=beds.STATE / "t",
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            process_group=0,
        )
        code = _wait(process, bed.timeout_s, agents)
        if code is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(TERMINATE_LIMIT_S)
            process.kill()
            process.wait()
    if code == 0:
        return None
    told = _reason(err.read_text(errors="replace"))
    what = f"exit code {code}" if code is not None else f"not finished after {bed.timeout_s:g} s"
    return f"{what}: {told}" if told else what


def _wait(process: subprocess.Popen[bytes], limit_s: float, agents: Sequence[Agent]) -> int | None:
    """The exit code, or None at the limit."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        try:
            return process.wait(min(WATCH_S, max(0.0, end - time.monotonic())))
        except subprocess.TimeoutExpired:
            for agent in agents:
                agent.check_alive()
    return None


def _reason(text: str) -> str:
    """What the program said last; every rank may have said the same."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return " / ".join(dict.fromkeys((told or lines)[-REASON_LINES:]))


def shell(bed: Bed) -> tuple[int, dict[str, Any]]:
    """The topology with emulator; a command in the hub, whose exit code is ours."""
    topology.build(bed)
    environment = launch.write_scripts(bed, [])
    emulator = Emulator(bed)
    emulator.wait_ready()
    probe.announce(bed)
    # Ctrl-C is for the command, not for the testbed below it. What is ignored is inherited.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(bed.program, env=environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    code = process.wait()
    emulator.check_alive()
    return code if code >= 0 else 128 - code, {
        "event": "result",
        "emulator": emulator.final_stats(),
    }


def check(bed: Bed) -> tuple[int, dict[str, Any]]:
    """What works here, with a little traffic: 0 and a fact for each part of the testbed."""
    topology.build(bed)
    facts: dict[str, Any] = {"event": "result", "netem": _has_netem()}
    environment = launch.write_scripts(bed, [])
    try:
        emulator = Emulator(bed)
        emulator.wait_ready()
    except FlowsweepError as error:
        return 0, {**facts, "emulator_error": str(error)}
    probe.announce(bed)
    try:
        capture = Capture(bed, bed.hosts[0])
        capture.wait_ready()
        before = counters.read(bed)
        probe.exercise(bed, CHECK_S)
        capture.ask_to_stop()
        capture.wait_stopped()
        facts["capture"] = capture.manifest()
        facts["frames"] = sum(counters.since(before, counters.read(bed))[capture.host.name])
    except FlowsweepError as error:
        facts["capture_error"] = str(error)
    facts["paths"] = [vars(path) for path in probe.measure(bed)]
    facts["emulator"] = emulator.final_stats()
    facts["mpi_error"] = _program(bed, environment, []) if bed.program else "not installed"
    return 0, facts


def _has_netem() -> bool:
    """Whether this kernel can delay packets by itself."""
    with kernel.network_namespace(beds.NETNS / beds.WAN):
        words = ["tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]
        try:
            return subprocess.run(words, capture_output=True, check=False).returncode == 0
        except FileNotFoundError:
            return False


MODES = {"run": run, "shell": shell, "check": check}

if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
