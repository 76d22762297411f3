"""Checks whether this machine can run experiments, and what to change if it cannot."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flowsweep import content
from flowsweep.errors import FlowsweepError
from flowsweep.files import file_sets
from flowsweep.testbed import launch, lock
from flowsweep.testbed.checks import permission
from flowsweep.testbed.checks.finding import Finding
from flowsweep.testbed.namespaces import isolation
from flowsweep.testbed.spec import HostSpec, LimitsSpec, LinkSpec, Spec

RTT_NS = 2_000_000
RATE_BIT_S = 100e6
FEW_CORES = 4


def check(say: Callable[[str], None]) -> list[Finding]:
    """Tries everything that a run needs; always returns the same lines in the same order."""
    made = permission.namespaces()
    if made.level == "bad":
        return [made, *_list_untested("not tested: it needs namespaces")]
    try:
        program = ["hostname"] if launch.program_path("mpirun") else []
    except FlowsweepError:
        program = []
    try:
        with (
            lock.exclusive("a testbed check", say) as held,
            file_sets.scratch_folder() as folder,
        ):
            _, facts = isolation.run(_bed(program, folder), "check", held, say)
    except FlowsweepError as error:
        # This command as its own remedy would not help.
        remedy = None if error.remedy == "flowsweep testbed check" else error.remedy
        cannot = "they can be made, but no testbed in them"
        broken = Finding("bad", made.name, f"{cannot}: {error.what}: {error.found}", remedy)
        return [broken, *_list_untested("not tested: it needs a network")]
    return [
        made,
        _capture(facts),
        _emulator(facts),
        _priority(facts),
        _cores(),
        _mpi(facts),
    ]


def _list_untested(why: str) -> list[Finding]:
    """Returns the lines after the first, by checks of files alone."""
    return [
        _check_installed("capture", "flowsweep-capture", why),
        _check_installed("link emulator", "flowsweep-wan", why),
        Finding("note", "real-time priority", why),
        _cores(),
        _check_installed("MPI", "mpirun", why),
    ]


def _bed(program: list[str], folder: Path) -> Spec:
    hosts = [
        HostSpec("a", "here", "10.77.1.1", "10.99.0.2", "02:77:00:00:01:01"),
        HostSpec("b", "there", "10.77.2.1", "10.99.0.3", "02:77:00:00:02:01"),
    ]
    return Spec(
        hosts=hosts,
        links=[LinkSpec("here", "there", RTT_NS, RATE_BIT_S, 262_144)],
        folder=str(folder),
        timeout_s=20.0,
        ranks=[host.name for host in hosts],
        program=program,
    )


def _check_installed(name: str, program: str, why: str) -> Finding:
    try:
        launch.program_path(program)
    except FlowsweepError as error:
        return Finding("bad", name, error.what, error.remedy)
    return Finding("note", name, why)


def _capture(facts: dict[str, Any]) -> Finding:
    name = "capture"
    if "emulator_error" in facts:
        return Finding("note", name, "not tested: it needs the link emulator")
    if "capture_error" in facts:
        return Finding("bad", name, facts["capture_error"].splitlines()[0], content.build_remedy())
    manifest = facts["capture"]
    lost = int(manifest["dropped_kernel"]) + int(manifest["dropped_interface"])
    written, frames = int(manifest["packets_written"]), int(facts["frames"])
    if lost or written != frames:
        text = f"{written} of {frames} packets, {lost} reported as lost"
        return Finding("bad", name, text, "stop other programs, and check again")
    libpcap = str(manifest.get("libpcap", "libpcap")).removeprefix("libpcap version ")
    return Finding("ok", name, f"libpcap {libpcap}, all of {frames} packets")


def _emulator(facts: dict[str, Any]) -> Finding:
    name = "link emulator"
    if "emulator_error" in facts:
        return Finding("bad", name, facts["emulator_error"].splitlines()[0], content.build_remedy())
    late_ns = int(facts["emulator"]["lateness_ns"]["p99"])
    limit_ns = LimitsSpec().latest_ns(RTT_NS)
    rtt_ns = facts["paths"][0]["rtt_ns"]
    if rtt_ns is None:
        return Finding("bad", name, "no probe came through it", "stop other programs")
    netem = "netem for plain links; " if facts["netem"] else "no netem; "
    text = (
        f"{netem}flowsweep-wan is late by {late_ns / 1e3:.0f} µs at p99; "
        f"{RTT_NS / 1e6:g} ms asked, {rtt_ns / 1e6:.2f} ms measured"
    )
    if late_ns > limit_ns:
        granted = facts["emulator"]["scheduling"] == "fifo"
        remedy = "stop other programs" + ("" if granted else ", or permit real-time priority")
        return Finding("bad", name, f"{text} (limit {limit_ns / 1e3:.0f} µs)", remedy)
    return Finding("ok", name, text)


def _priority(facts: dict[str, Any]) -> Finding:
    name = "real-time priority"
    if "emulator_error" in facts:
        return Finding("note", name, "not tested: it needs the link emulator")
    if facts["emulator"]["scheduling"] == "fifo":
        return Finding("ok", name, "permitted")
    remedy = "ulimit -r 50 in the login shell (rtprio in limits.conf), or --cap-add SYS_NICE"
    text = "not permitted; runs become invalid when other programs use the cores"
    return Finding("note", name, text, remedy)


def _cores() -> Finding:
    count = len(os.sched_getaffinity(0))
    if count < FEW_CORES:
        text = f"{count}; for {FEW_CORES} busy hosts use `compute: paced`"
        return Finding("note", "cores", text)
    return Finding("ok", "cores", str(count))


def _mpi(facts: dict[str, Any]) -> Finding:
    if "emulator_error" in facts:
        return Finding("note", "MPI", "not tested: it needs the link emulator")
    if facts["mpi_error"] is not None:
        return Finding("bad", "MPI", str(facts["mpi_error"]), content.build_remedy())
    from importlib import metadata

    try:
        version = f"Open MPI {metadata.version('openmpi')}"
    except metadata.PackageNotFoundError:
        version = "mpirun"
    return Finding("ok", "MPI", f"{version} starts on two hosts")
