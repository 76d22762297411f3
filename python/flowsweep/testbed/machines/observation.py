"""Observes real machines while nothing runs there: RTTs and counters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from flowsweep.testbed.machines import idle

if TYPE_CHECKING:
    from flowsweep.testbed.machines.machine import Machine
    from flowsweep.testbed.machines.spec import MachinesSpec


class Counters(NamedTuple):
    """The counters of a machine: packets, CPU pressure (us or -1) and its uptime (s)."""

    received: int
    sent: int
    pressure_us: int
    uptime_s: float


class Observation(NamedTuple):
    """RTTs by pair, counters by machine."""

    rtts_ns: dict[idle.Pair, int]
    counters: dict[str, Counters]

    @classmethod
    def make(cls, spec: MachinesSpec, machines: list[Machine]) -> Observation:
        """Observes all machines."""
        rtts_ns = idle.round_trips(spec, machines)
        return cls(rtts_ns, {machine.name: Counters(*machine.counters()) for machine in machines})


def compute_pressure(before: Observation, after: Observation) -> dict[str, float]:
    """Returns by machine the share of the program's time in which a process waited for a core."""
    shares = {}
    for name, ended in after.counters.items():
        begun = before.counters[name]
        span_s = ended.uptime_s - begun.uptime_s
        if ended.pressure_us >= 0 and span_s > 0:
            waited_s = (ended.pressure_us - begun.pressure_us) / 1e6
            # The clock of /proc/uptime has steps of 10 ms.
            shares[name] = min(1.0, round(waited_s / span_s, 4))
    return shares


def count_frames(before: Observation, after: Observation) -> dict[str, dict[str, int]]:
    """Returns the frames that each machine received and sent between two observations."""
    return {
        name: {
            "received": ended.received - before.counters[name].received,
            "sent": ended.sent - before.counters[name].sent,
        }
        for name, ended in after.counters.items()
    }


def describe_paths(before: Observation, after: Observation) -> list[dict[str, Any]]:
    """Returns the paths of the run, in the form of run.json."""
    return [
        {"between": pair, "rtt_ns": rtt, "rtt_after_ns": later, "rate_bit_s": None}
        for (pair, rtt), later in zip(before.rtts_ns.items(), after.rtts_ns.values(), strict=True)
    ]
