"""The testbed of one run in private namespaces: see `testbed.protocol`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowsweep.testbed import emulation, launch, program
from flowsweep.testbed.lacking import LackingError
from flowsweep.testbed.namespaces import (
    backend,
    congestion,
    counters,
    probe,
    topology,
    validity,
    watch,
)
from flowsweep.testbed.namespaces.agents import Capture
from flowsweep.testbed.namespaces.beside import Beside
from flowsweep.testbed.namespaces.steering import Steering
from flowsweep.testbed.result import Observations
from flowsweep.testbed.servers import Servers, in_namespaces

if TYPE_CHECKING:
    from flowsweep.testbed.protocol import Execution
    from flowsweep.testbed.spec import Spec

#: If the emulator has no real-time priority, ranks yield to it and to the capture agents.
RANK_PRIORITY = ["chrt", "--idle", "0"]
SETTLE_S = 0.005


@dataclass(frozen=True)
class _Idle:
    """Counters when all is running and only probes have been sent."""

    frames: counters.Frames
    emulator: dict[str, Any]
    received: counters.NetworkBytes


class Bed:
    """Hosts in network namespaces, with emulated links between their sites."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec

    def set_up(self) -> str | None:
        """Builds hosts and links, and starts the capture agents."""
        spec = self._spec
        topology.build(spec)
        self._lacking = _use_congestion_control(spec)
        self._backend = backend.choose(spec)
        self._links = backend.start(self._backend.name, spec)
        is_real_time = self._links.stats()["scheduling"] == "fifo"
        self._priority = [] if is_real_time else RANK_PRIORITY
        self._environment = launch.write_scripts(spec, self._priority)
        probe.announce(spec)
        backend.wait_quiet(self._links, SETTLE_S, self._quiet_limit_s())
        self._captures = [Capture(spec, host) for host in spec.hosts]
        for capture in self._captures:
            capture.wait_ready()
        self._before = _Idle(
            counters.read(spec), self._links.stats(), counters.bytes_by_network(spec)
        )
        self._beside = Beside(spec, self._environment, self._priority)
        return self._lacking

    def begin_beside(self) -> str | None:
        """Starts the other program, and waits until it has sent a frame."""
        return self._beside.begin()

    def servers(self) -> Servers:
        """Returns the servers, each on its host."""
        return in_namespaces(self._spec, self._environment, self._priority)

    def begin_watch(self) -> None:
        """Begins to watch cores and socket buffers."""
        self._watch = watch.Watch(self._spec)

    def run_program(self, serving: Servers) -> tuple[str | None, str | None]:
        """Runs the program; the schedule of link changes starts with it."""
        if self._spec.schedule:
            self._links.start_schedule()

        def look() -> None:
            self._links.check_alive()
            for capture in self._captures:
                capture.check_alive()
            self._watch.look()
            serving.check()

        return program.run(self._spec, self._environment, look, self._priority)

    def end_others(self, serving: Servers) -> None:
        """Ends the watch, then the servers and the other program."""
        self._machine = self._watch.record()
        serving.end()
        self._beside.end()

    def collect(self, _execution: Execution) -> Observations:
        """Judges the run by what captures, links and hosts counted."""
        spec = self._spec
        evidence = self._collect_evidence()
        steering = Steering.from_spec(spec)
        links = validity.since(self._before.emulator, evidence.emulator)
        return Observations(
            faults=[*self._beside.faults, *validity.faults(spec, evidence)],
            tcp=topology.tcp_settings(spec, spec.hosts[0], by_route=self._lacking is None),
            emulator={
                "backend": self._backend.name,
                "backend_reason": self._backend.reason,
                "steering": steering.record() if steering is not None else None,
                **emulation.with_links(spec, links),
            },
            machine=self._machine,
            frames={name: {"received": r, "sent": s} for name, (r, s) in evidence.frames.items()},
            paths=[
                {
                    "between": path.between,
                    "rtt_ns": path.rtt_ns,
                    "rtt_after_ns": rtt_after_ns,
                    "rate_bit_s": path.rate_bit_s,
                }
                for path, rtt_after_ns in zip(
                    self._backend.paths, evidence.rtt_after_ns, strict=True
                )
            ],
            beside=self._beside.record(),
        )

    def _collect_evidence(self) -> validity.Evidence:
        """Ends the captures and the links, and collects what they counted."""
        spec, links = self._spec, self._links
        longest_quiet_s = 1.5e-9 * spec.longest_rtt_ns + 0.02
        quiet = backend.wait_quiet(links, longest_quiet_s, self._quiet_limit_s())
        for capture in self._captures:
            capture.ask_to_stop()
        for capture in self._captures:
            capture.wait_closed()
        frames = counters.since(self._before.frames, counters.read(spec))
        emulator = links.stats()
        # Measures the path again while the agents write the rest of their captures.
        rtt_after_ns = probe.round_trips(spec)
        links.final_stats()
        for capture in self._captures:
            capture.wait_stopped()
        return validity.Evidence(
            frames=frames,
            received=counters.bytes_by_network(spec).since(self._before.received),
            emulator_before=self._before.emulator,
            emulator=emulator,
            manifests={one.host.name: one.manifest() for one in self._captures},
            quiet=quiet,
            machine=self._machine,
            rtt_before_ns=[path.rtt_ns for path in self._backend.paths],
            rtt_after_ns=rtt_after_ns,
        )

    def _quiet_limit_s(self) -> float:
        """Returns how long queued and retransmitted packets may take to arrive at most."""
        return 2.0 + 4e-9 * self._spec.longest_rtt_ns + 2 * self._spec.longest_drain_s


def _use_congestion_control(spec: Spec) -> str | None:
    """Sets the congestion control; returns the reason why the program cannot be started, or None.

    The other steps still take place: the run becomes a row like any other, and the sweep goes on.
    """
    try:
        congestion.use(spec)
    except LackingError as error:
        return error.line
    return None
