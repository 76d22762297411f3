"""Watches what a running program gets from the machine: CPU time and socket buffers."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep.testbed.namespaces import sockets

if TYPE_CHECKING:
    from flowsweep.testbed.spec import Spec

PROC = Path("/proc")
PRESSURE = PROC / "pressure/cpu"
# Environment variables of watched ranks, set by mpirun, or by `program` without mpirun.
BESIDE_MARK = b"FLOWSWEEP_BESIDE"  # marks processes of the program beside the run's own
MARKS = (b"\0PMIX_RANK=", b"\0FLOWSWEEP_RANK=")


@dataclass
class _Process:
    """Counters of a rank's main thread. Times in ns; `seen_ns` is when the rank was found."""

    rank: int
    seen_ns: int
    last_ns: int = 0
    first_waited_ns: int = 0
    waited_ns: int = 0
    ran_ns: int = 0
    involuntary: int = 0
    voluntary: int = 0


@dataclass(frozen=True)
class _CpuTime:
    """Clock ticks (1/100 s) since boot, over all cores.

    `ours`: of all processes of these namespaces, including ended ones. `stolen`: wanted here, but
    given to other virtual machines by the host of this one.
    """

    whole: int
    busy: int
    ours: int
    stolen: int

    @classmethod
    def now(cls) -> _CpuTime:
        # user, nice, system, idle, iowait, irq, softirq, steal (proc(5))
        cores = [int(word) for word in (PROC / "stat").read_text().split("\n", 1)[0].split()[1:9]]
        idle, stolen = cores[3] + cores[4], cores[7]
        ours = 0
        for entry in PROC.iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    text = (entry / "stat").read_text(errors="replace")
                    # user and system time of the process and of its reaped children
                    ours += sum(map(int, text[text.rindex(")") + 2 :].split()[11:15]))
        return cls(sum(cores), sum(cores) - idle - stolen, ours, stolen)


class Watch:
    """Samples the running program; cheaply, as both share the cores."""

    def __init__(self, spec: Spec) -> None:
        self._bed = spec
        self._begin_ns = time.monotonic_ns()
        self._pressure_before = cpu_pressure_us()
        self._cpu_before = _CpuTime.now()
        self._ranks: dict[int, _Process] = {}
        self._looks = 0
        self._next_look_at_sockets = 1
        self._buffers: dict[str, list[int]] = {"receive": [], "send": []}
        self._controls: set[str] = set()

    def look(self) -> None:
        """Takes one sample; once there are connections, looks at sockets ever less often."""
        self._looks += 1
        if len(self._ranks) < len(self._bed.ranks):
            self._find_ranks()
        for pid, process in self._ranks.items():
            _sample(pid, process)
        if self._looks >= self._next_look_at_sockets:
            self._look_at_sockets()
            if self._controls:
                self._next_look_at_sockets = 2 * self._looks

    def _find_ranks(self) -> None:
        for entry in PROC.iterdir():
            if not entry.name.isdigit() or int(entry.name) in self._ranks:
                continue
            rank = _rank(entry)
            if rank is not None:
                process = _Process(rank, time.monotonic_ns())
                self._ranks[int(entry.name)] = process
                _sample(int(entry.name), process)
                process.first_waited_ns = process.waited_ns

    def _look_at_sockets(self) -> None:
        for host in self._bed.hosts:
            # The next look reads what the kernel cannot report now.
            with contextlib.suppress(OSError):
                for found in sockets.connections(host):
                    self._buffers["receive"].append(found.receive_buffer)
                    self._buffers["send"].append(found.send_buffer)
                    self._controls.add(found.congestion_control)

    def record(self) -> dict[str, Any]:
        """Returns the observations for run.json. Shares are of the time of the program."""
        now = time.monotonic_ns()
        after = cpu_pressure_us()
        cpu = _CpuTime.now()
        whole = max(1, cpu.whole - self._cpu_before.whole)
        busy = cpu.busy - self._cpu_before.busy
        others = busy - (cpu.ours - self._cpu_before.ours)
        stolen = cpu.stolen - self._cpu_before.stolen
        pressure = None
        if after is not None and self._pressure_before is not None:
            waited_ns = (after - self._pressure_before) * 1e3
            pressure = min(1.0, waited_ns / max(1, now - self._begin_ns))
        ranks = sorted(self._ranks.values(), key=lambda process: process.rank)
        return {
            "watched_s": round((now - self._begin_ns) / 1e9, 4),
            "cores": len(os.sched_getaffinity(0)),
            "cpu_pressure": None if pressure is None else round(pressure, 4),
            "other_programs": round(max(0.0, others / whole), 4),
            "stolen": round(max(0.0, stolen / whole), 4),
            "idle": round(1 - (busy + stolen) / whole, 4),
            "ranks": [
                {
                    "rank": process.rank,
                    "involuntary_switches": process.involuntary,
                    "voluntary_switches": process.voluntary,
                    "ran_s": round(process.ran_ns / 1e9, 4),
                    "waited_share": round(_waited_share(process), 4),
                }
                for process in ranks
            ],
            "socket_buffers": {
                name: {"least": min(sizes), "most": max(sizes)}
                for name, sizes in self._buffers.items()
                if sizes
            },
            "congestion_controls": sorted(self._controls),
        }


def cpu_pressure_us() -> int | None:
    """Returns the microseconds since boot in which at least one process waited for a core.

    Covers the whole machine (Documentation/accounting/psi.rst); None if the kernel has no PSI.
    """
    try:
        some = PRESSURE.read_text().splitlines()[0]
    except (OSError, IndexError):
        return None
    return int(some.rpartition("total=")[2])


def _rank(entry: Path) -> int | None:
    try:
        environment = b"\0" + (entry / "environ").read_bytes()
    except OSError:
        return None
    if b"\0" + BESIDE_MARK + b"=" in environment:
        return None
    for mark in MARKS:
        _, there, rest = environment.partition(mark)
        number = rest.split(b"\0", 1)[0]
        if there and number.isdigit():
            return int(number)
    return None


def _sample(pid: int, process: _Process) -> None:
    """Reads the current counters; those of an ended process keep their last values."""
    try:
        status = (PROC / str(pid) / "status").read_text(errors="replace")
        schedule = (PROC / str(pid) / "schedstat").read_text().split()
    except OSError:
        return
    for line in status.splitlines():
        name, _, value = line.partition(":")
        if name == "voluntary_ctxt_switches":
            process.voluntary = int(value)
        elif name == "nonvoluntary_ctxt_switches":
            process.involuntary = int(value)
    process.ran_ns, process.waited_ns = int(schedule[0]), int(schedule[1])
    process.last_ns = time.monotonic_ns()


def _waited_share(process: _Process) -> float:
    """Returns the share of a process's time in which it was runnable and had no core."""
    span = process.last_ns - process.seen_ns
    return (process.waited_ns - process.first_waited_ns) / span if span > 0 else 0.0
