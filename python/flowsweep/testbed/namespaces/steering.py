"""Chooses the core of the emulator, and the cores that receive for the emulated hosts.

What the emulator sends to a host, the kernel receives within the emulator's own call, through the
bridge and the TCP of that host, unless it is steered to other cores
(Documentation/networking/scaling.rst). At 1 Gbit/s that made frames 15 ms late at p99 on two cores.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowsweep.testbed.spec import Spec

# The cores that receive for interfaces made from now on; a sysctl of the network namespace, which
# needs no root.
DEFAULT_MASK = Path("/proc/sys/net/core/rps_default_mask")
FAST_BIT_S = 500e6


@dataclass(frozen=True)
class Steering:
    """Core numbers: where the emulator runs, and where hosts receive."""

    emulator: int
    receive: frozenset[int]

    @classmethod
    def from_spec(cls, spec: Spec) -> Steering | None:
        """Steering for a testbed, by its fastest path; see `at`."""
        ways = [ends for link in spec.links for ends in ((link.a, link.b), (link.b, link.a))]
        return cls.at(max(spec.path_rate_bit_s(*ends) or 0.0 for ends in ways))

    @classmethod
    def at(cls, rate_bit_s: float) -> Steering | None:
        """None for slow paths; where there is one core, no such sysctl, no real-time priority.

        Slower paths do not need it, and each hop to another core adds some 20 us to a round trip.
        """
        if rate_bit_s < FAST_BIT_S:
            return None
        cores = os.sched_getaffinity(0)
        if len(cores) < 2 or not DEFAULT_MASK.exists() or not _may_be_real_time():
            return None
        return cls(max(cores), frozenset(cores - {max(cores)}))

    @property
    def mask(self) -> str:
        """The receiving cores as the kernel reads them: hexadecimal, commas between 32 bits."""
        bits = sum(1 << core for core in self.receive)
        words = []
        while bits:
            words.append(f"{bits & 0xFFFFFFFF:08x}")
            bits >>= 32
        return ",".join(reversed(words))

    def record(self) -> dict[str, object]:
        """For run.json."""
        return {"emulator_core": self.emulator, "receiving_cores": sorted(self.receive)}

    def place(self, emulator: int) -> None:
        """Binds the process to its core.

        One that was only moved there, and had real-time priority already, was found on a receiving
        core after 10 of 15 runs of iperf3 on a busy machine: there it receives for all again.
        """
        os.sched_setaffinity(emulator, {self.emulator})

    def prepare(self) -> None:
        """Interfaces that are made in this network namespace from now on are steered."""
        DEFAULT_MASK.write_text(self.mask)


def _may_be_real_time() -> bool:
    """Tries it: root may lack the right, and a user may have it (RLIMIT_RTPRIO)."""
    policy, parameter = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, policy, parameter)
    return True
