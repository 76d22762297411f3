"""A run on real machines: what `hub` does in namespaces, over ssh."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import shlex
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep import signals
from flowsweep.files import outputs
from flowsweep.testbed import launch, program
from flowsweep.testbed.lacking import LackingError
from flowsweep.testbed.result import RunResult
from flowsweep.testbed.servers import ServerError
from flowsweep.testbed.machines import idle, serve
from flowsweep.testbed.machines.machine import Machine

if TYPE_CHECKING:
    from flowsweep.testbed.servers import Servers
    from flowsweep.testbed.machines.spec import SshSpec

OFFLOADS = ("tso", "gso", "gro", "lro")

PROGRAM = """#!/bin/sh
# Started in a session of its own; the keeper ends the whole of it.
echo $$ >>{folder}/program.pid
cd {folder} || exit 2
{exports}
begin=$(date +%s%N)
sh -c {command}
code=$?
echo $begin $(date +%s%N) >prog-{rank}.time
exit $code
"""
ON = """#!/bin/sh
# Runs a command on a machine of the experiment: on HOST COMMAND...
host=$1
shift
case $host in
{cases}
*) echo "on: no host is called $host" >&2; exit 2 ;;
esac
exec {ssh} "$login" "$*"
"""


def run(spec: SshSpec) -> RunResult:
    """One captured run."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="flowsweep-") as text:
        folder = Path(text)
        machines = [
            Machine(machine, spec.ssh_options, folder, spec.sudo) for machine in spec.machines
        ]
        with signals.cleaning(lambda: _leave(machines)):
            return _run(spec, machines, folder, begin)


def _leave(machines: list[Machine]) -> None:
    """Each machine is put back, and no connection stays."""
    for machine in machines:
        machine.leave()
    for machine in machines:
        subprocess.run(
            [*machine.ssh, "-O", "exit", machine.login], capture_output=True, check=False
        )


def _run(spec: SshSpec, machines: list[Machine], folder: Path, begin: float) -> RunResult:
    agent = launch.program_path("flowsweep-capture")
    everywhere = ThreadPoolExecutor(len(machines)).map
    list(everywhere(lambda machine: machine.prepare(agent, _settings(spec, machine)), machines))
    for machine in machines:
        machine.keep()
    for machine in machines:
        machine.wait_ready()
    before = idle.round_trips(spec, machines)
    counted = {machine.name: machine.counters() for machine in machines}
    ready = time.monotonic()
    lacking = _lacking(spec, machines)
    environment = _environment(spec, machines, folder)
    serving = serve.on_machines(spec, machines, environment, folder)
    failure = lacking or serving.start()
    start = time.time_ns()
    if failure is None:
        failure = _program(spec, machines, folder, environment, serving)
    end = time.time_ns()
    failure = serving.failure() or failure
    serve.end(spec, machines, serving)
    done = time.monotonic()
    after = idle.round_trips(spec, machines)
    ended = {machine.name: machine.counters() for machine in machines}
    tcp = machines[0].tcp()
    if spec.congestion_control is not None and lacking is None:
        tcp["congestion_control"] = spec.congestion_control  # it is in the routes
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
        spoiled=None,
        faults=idle.faults(spec, manifests, before, after, pressure),
        tcp=tcp,
        emulator={"backend": "none", "backend_reason": "real machines", "links": []},
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


def _lacking(spec: SshSpec, machines: list[Machine]) -> str | None:
    """Why the program need not be started, or None: see `hub.run`."""
    for machine in machines:
        if spec.congestion_control is not None and machine.lacking is not None:
            where = f"the kernel of {machine.name}"
            return LackingError(spec.congestion_control, machine.lacking, where).line
    return None


def _settings(spec: SshSpec, machine: Machine) -> list[str]:
    """What the keeper changes and captures."""
    # The agent's folder has no blank: see the model.
    capture = ["-w", f"{machine.folder}/{machine.name}.pcap.zst"]
    capture += ["--snaplen", str(spec.snaplen), "--buffer", str(spec.capture_buffer_bytes)]
    lines = [f"address {machine.address}"]
    interface = next(one.interface for one in spec.machines if one.name == machine.name)
    lines += [f"interface {interface}"] if interface else []
    lines += [f"capture {' '.join(capture)}", f"filter {_filter(spec, machine)}"]
    if spec.change_hosts:
        lines += [f"offload {name} off" for name in OFFLOADS]
    lines += [
        f"sysctl net.ipv4.{name} {value}"
        for name, value in (("tcp_no_metrics_save", "1"), ("tcp_slow_start_after_idle", "1"))
        if spec.change_hosts
    ]
    if spec.buffer_bytes is not None:
        size = spec.buffer_bytes
        sizes = f"{min(size, 4096)} {size} {size}"
        lines += [f"sysctl net.ipv4.{name} {sizes}" for name in ("tcp_rmem", "tcp_wmem")]
    if spec.congestion_control is not None:
        lines.append(f"congestion {spec.congestion_control}")
    return lines


def _filter(spec: SshSpec, machine: Machine) -> str:
    """What the machines of the experiment send each other, without ssh."""
    if spec.capture_filter:
        return spec.capture_filter
    told = subprocess.run(
        [*machine.ssh, "-G", machine.login], capture_output=True, text=True, check=False
    ).stdout
    port = re.search(r"^port ([0-9]+)$", told, re.MULTILINE)
    from_them = " or ".join(f"src host {one.address}" for one in spec.machines)
    to_them = " or ".join(f"dst host {one.address}" for one in spec.machines)
    return f"({from_them}) and ({to_them}) and not tcp port {port[1] if port else 22}"


def network(spec: SshSpec) -> str:
    """The least network that holds the addresses of all machines."""
    found = ipaddress.ip_network(spec.machines[0].address)
    for machine in spec.machines:
        while ipaddress.ip_address(machine.address) not in found:
            found = found.supernet()
    return str(found)


def _program(
    spec: SshSpec,
    machines: list[Machine],
    folder: Path,
    environment: dict[str, str],
    serving: Servers,
) -> str | None:
    by_name = {machine.name: machine for machine in machines}

    def look() -> None:
        for machine in machines:
            machine.check_alive()
        serving.check()

    commands = []
    if spec.start == "hosts":
        for rank, host in enumerate(spec.ranks):
            machine = by_name[host]
            name = f"prog-{rank}.sh"
            machine.put(name, _script(spec, machine, rank, environment).encode(), mode="700")
            start = f"setsid --wait {shlex.quote(machine.folder)}/{name}"
            commands.append([*machine.ssh, machine.login, start])
    elif spec.start == "mpirun":
        commands.append(_mpirun(spec, machines))
    else:
        commands.append(spec.program)
    # What was started there ends with its keeper at the latest.
    try:
        done = program.run_commands(
            [(words, environment) for words in commands],
            os.environ,
            folder,
            Path(spec.folder) / program.LOG,
            limit_s=spec.timeout_s,
            look=look,
        )
    except ServerError as error:
        return str(error)
    return done.failure


def _environment(spec: SshSpec, machines: list[Machine], folder: Path) -> dict[str, str]:
    cases = "\n".join(f"{one.name}) login={shlex.quote(one.login)} ;;" for one in machines)
    on = folder / "on"
    on.write_text(ON.format(cases=cases, ssh=shlex.join(machines[0].ssh)))
    on.chmod(0o755)
    sites = {host.name: host.site for host in spec.hosts}
    return {
        "PATH": f"{folder}:{os.environ.get('PATH', os.defpath)}",
        "FLOWSWEEP_HOSTS": ",".join(f"{one.name}={one.address}" for one in machines),
        "FLOWSWEEP_SITES": ",".join(f"{one.name}={sites[one.name]}" for one in machines),
        "FLOWSWEEP_PROBLEM": spec.problem,
        "FLOWSWEEP_OUTPUT": spec.output,
    }


def _script(spec: SshSpec, machine: Machine, rank: int, environment: dict[str, str]) -> str:
    own = {
        **{name: value for name, value in environment.items() if name != "PATH"},
        "FLOWSWEEP_OUTPUT": f"{machine.folder}/app.json",
        "FLOWSWEEP_HOST": machine.name,
        "FLOWSWEEP_RANK": str(rank),
        "FLOWSWEEP_RANKS": str(len(spec.ranks)),
    }
    return PROGRAM.format(
        folder=shlex.quote(machine.folder),
        exports=serve.exports(own),
        command=shlex.quote(spec.program[-1]),
        rank=rank,
    )


def _mpirun(spec: SshSpec, machines: list[Machine]) -> list[str]:
    """As `launch.mpirun`, by ssh; app.json is written where rank 0 runs."""
    login = {machine.name: machine.login for machine in machines}
    slots: dict[str, int] = {}
    for host in spec.ranks:
        slots[login[host]] = slots.get(login[host], 0) + 1
    first = next(machine for machine in machines if machine.name == spec.ranks[0])
    words = [f"{first.folder}/app.json" if word == spec.output else word for word in spec.program]
    return [
        str(launch.program_path("mpirun")),
        *("--host", ",".join(f"{host}:{count}" for host, count in slots.items())),
        *("-np", str(len(spec.ranks))),
        *("--map-by", "slot", "--bind-to", "none"),
        *("-x", "FLOWSWEEP_HOSTS", "-x", "FLOWSWEEP_SITES", "-x", "PYTHONPATH"),
        *("--prtemca", "plm_ssh_agent", shlex.join(machines[0].ssh)),
        *("--mca", "pml", "ob1", "--mca", "btl", "self,tcp"),
        *("--mca", "btl_tcp_if_include", network(spec)),
        *("--mca", "btl_tcp_disable_family", "6"),
        *("--mca", "mpi_yield_when_idle", "1"),
        *spec.mpirun_options,
        *words,
    ]


def _fetch(spec: SshSpec, machine: Machine) -> tuple[str, dict[str, Any]]:
    """Its capture and manifest into the run directory, and app.json if it is there."""
    folder = Path(spec.folder)
    wanted = [f"{machine.name}.pcap.zst", f"{machine.name}.capture.json"]
    for name in wanted:
        data = machine.get(name)
        if data is None:
            raise machine.failure(f"has no {name}", "nothing was captured")
        outputs.write_file(folder / name, data, mode=0o600)
    # Of whatever machine writes one: for MPI that of rank 0.
    application = machine.get("app.json")
    if application:
        outputs.write_file(Path(spec.output), application)
    machine.run(f"cd {shlex.quote(machine.folder)} && rm -f {' '.join(wanted)} app.json")
    manifest: dict[str, Any] = json.loads((folder / f"{machine.name}.capture.json").read_text())
    return machine.name, manifest


def _spans(machine: Machine) -> list[float]:
    """Seconds from start to end of what was started there, by its own clock: without ssh's time."""
    folder = shlex.quote(machine.folder)
    said = machine.run(f"cd {folder} && cat prog-*.time 2>/dev/null; rm -f prog-*.time; true")
    times = [[int(word) for word in line.split()] for line in said.decode().splitlines()]
    return [(end - begin) / 1e9 for begin, end in times]


def _pressure(
    before: dict[str, tuple[int, int, int, float]], after: dict[str, tuple[int, int, int, float]]
) -> dict[str, float]:
    """The share of the program's time in which something waited for a core, by machine."""
    found = {}
    for name, (_, _, pressure, uptime) in after.items():
        span = uptime - before[name][3]
        if pressure >= 0 and span > 0:
            found[name] = round((pressure - before[name][2]) / 1e6 / span, 4)
    return found
