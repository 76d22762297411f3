"""The testbed of one run on real machines: see `testbed.protocol`."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from flowsweep.testbed import emulation, launch
from flowsweep.testbed.lacking import LackingError
from flowsweep.testbed.machines import capturing, idle, observation, program, serve
from flowsweep.testbed.machines.observation import Observation
from flowsweep.testbed.result import Observations

if TYPE_CHECKING:
    from pathlib import Path

    from flowsweep.testbed.machines.machine import Machine
    from flowsweep.testbed.machines.reach import Links, Reach
    from flowsweep.testbed.machines.spec import MachinesSpec
    from flowsweep.testbed.protocol import Execution
    from flowsweep.testbed.servers import Servers

T = TypeVar("T")


class Bed:
    """Machines, and the links between them.

    Args:
        spec: The run.
        reach: Runs commands on the machines.
        links: The links between the machines.
        machines: All machines of the run.
        folder: A temporary folder on this machine, for the duration of the run.
    """

    def __init__(
        self,
        spec: MachinesSpec,
        reach: Reach,
        links: Links,
        machines: list[Machine],
        folder: Path,
    ) -> None:
        self._reach, self._links, self._machines, self._folder = reach, links, machines, folder
        self._spec = spec

    def set_up(self) -> str | None:
        """Starts a keeper on each machine, which captures, and then the links between machines."""
        spec = self._spec
        agent = launch.program_path("flowsweep-capture")
        self._do_at_once(
            lambda machine: machine.prepare(
                agent, capturing.write_settings(spec, self._reach, machine)
            )
        )
        for machine in self._machines:
            machine.keep()
        for machine in self._machines:
            machine.wait_ready()
        self._links.start()
        self._before = Observation.make(spec, self._machines)
        self._environment = program.environment(spec, self._machines, self._folder)
        self._lacking = self._find_lacking()
        return self._lacking

    def begin_beside(self) -> str | None:
        """Starts nothing: a second program needs emulated hosts."""
        return None

    def servers(self) -> Servers:
        """Returns the servers, each on its machine."""
        return serve.on_machines(self._spec, self._machines, self._environment, self._folder)

    def begin_watch(self) -> None:
        """Does nothing: `collect` compares counters before and after."""

    def run_program(self, serving: Servers) -> tuple[str | None, str | None]:
        """Runs the program from here, or starts it on each machine."""

        def look() -> None:
            for machine in self._machines:
                machine.check_alive()
            self._links.check_alive()
            serving.check()

        return program.run(
            self._spec,
            self._reach,
            self._machines,
            environment=self._environment,
            folder=self._folder,
            look=look,
        )

    def end_others(self, serving: Servers) -> None:
        """Ends the servers."""
        serve.end(self._spec, self._machines, serving)

    def collect(self, execution: Execution) -> Observations:
        """Judges the run by RTTs, counters and manifests; copies the captures to this machine."""
        spec, before = self._spec, self._before
        after = Observation.make(spec, self._machines)
        tcp = self._read_tcp()
        emulator = self._links.stop()
        manifests = self._collect_captures()
        pressure = observation.compute_pressure(before, after)
        return Observations(
            faults=[
                *idle.faults(spec, manifests, before.rtts_ns, after.rtts_ns, pressure),
                *emulation.loss_faults(emulator),
                *emulation.balance_faults(emulator, is_quiet=False),
                *emulation.lateness_faults(spec, emulator),
            ],
            tcp=tcp,
            emulator=emulator,
            machine={"cpu_pressure": max(pressure.values(), default=None), "by_host": pressure},
            frames=observation.count_frames(before, after),
            paths=observation.describe_paths(before, after),
            program_s=None if execution.failure else self._longest_program_s(),
        )

    def leave(self) -> None:
        """Restores each machine, and closes all connections."""
        self._links.leave()
        for machine in self._machines:
            machine.leave()
        self._reach.leave([machine.described for machine in self._machines])

    def _find_lacking(self) -> str | None:
        """Returns the reason why the program cannot be started, or None."""
        congestion = self._spec.congestion
        for machine in self._machines:
            if congestion is not None and machine.lacking is not None:
                where = f"the kernel of {machine.name}"
                return LackingError(congestion, machine.lacking, where).line
        return None

    def _read_tcp(self) -> dict[str, str]:
        """Returns the TCP settings of the first machine."""
        tcp = self._machines[0].tcp()
        if self._spec.congestion is not None and self._lacking is None:
            tcp["congestion_control"] = self._spec.congestion  # set by route, not by sysctl
        return tcp

    def _collect_captures(self) -> dict[str, dict[str, Any]]:
        """Ends the captures and copies them here; returns the manifests by machine."""
        for machine in self._machines:
            machine.ask_to_stop()
        for machine in self._machines:
            machine.wait_stopped()
        return dict(self._do_at_once(lambda machine: capturing.fetch(self._spec, machine)))

    def _do_at_once(self, work: Callable[[Machine], T]) -> list[T]:
        """Calls `work` for all machines, each in a thread; returns the results in order."""
        return list(ThreadPoolExecutor(len(self._machines)).map(work, self._machines))

    def _longest_program_s(self) -> float | None:
        """Returns the longest time of a program in seconds; None if none recorded its times."""
        return max((span for one in self._machines for span in _program_spans(one)), default=None)


def _program_spans(machine: Machine) -> list[float]:
    """Returns each program's seconds by the clock of its machine, without the time of ssh."""
    folder = shlex.quote(machine.folder)
    printed = machine.run(f"cd {folder} && cat prog-*.time 2>/dev/null; rm -f prog-*.time; true")
    times = [[int(word) for word in line.split()] for line in printed.decode().splitlines()]
    return [(end - begin) / 1e9 for begin, end in times]
