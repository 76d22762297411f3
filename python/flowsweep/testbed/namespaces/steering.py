"""Chooses the core of the emulator, and the cores that receive frames of the emulated hosts.

When the emulator sends a frame to a host, the kernel does all receive work, through the bridge and
the TCP of that host, within the emulator's own system call, unless it is steered to other cores
(Documentation/networking/scaling.rst). At 1 Gbit/s that made frames 15 ms late at p99 on two cores.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowsweep.testbed.spec import Spec

# The receiving cores of interfaces created from now on; a sysctl of the network namespace that
# does not need root.
DEFAULT_MASK = Path("/proc/sys/net/core/rps_default_mask")
FAST_BIT_S = 500e6


@dataclass(frozen=True)
class Steering:
    """The core on which the emulator runs, and the cores on which hosts receive."""

    emulator: int
    receive: frozenset[int]

    @classmethod
    def from_spec(cls, spec: Spec) -> Steering | None:
        """Chooses the steering of a testbed by its fastest path; see `at`."""
        ways = [ends for link in spec.links for ends in ((link.a, link.b), (link.b, link.a))]
        return cls.at(max(spec.path_rate_bit_s(*ends) or 0.0 for ends in ways))

    @classmethod
    def at(cls, rate_bit_s: float) -> Steering | None:
        """Returns None for a slow path, one core, or without the sysctl or real-time priority.

        Slow paths do not need it, and each hop to another core adds some 20 us to an RTT.
        """
        if rate_bit_s < FAST_BIT_S:
            return None
        cores = os.sched_getaffinity(0)
        if len(cores) < 2 or not DEFAULT_MASK.exists() or not _may_be_real_time():
            return None
        return cls(max(cores), frozenset(cores - {max(cores)}))

    @property
    def mask(self) -> str:
        """The receiving cores in the kernel's format: hexadecimal, commas between 32 bits."""
        bits = sum(1 << core for core in self.receive)
        words = []
        while bits:
            words.append(f"{bits & 0xFFFFFFFF:08x}")
            bits >>= 32
        return ",".join(reversed(words))

    def record(self) -> dict[str, object]:
        """Returns the cores for run.json."""
        return {"emulator_core": self.emulator, "receiving_cores": sorted(self.receive)}

    def place(self, emulator: int) -> None:
        """Binds the emulator to its core.

        An emulator that was only moved there, and already had real-time priority, was on a
        receiving core after 10 of 15 runs of iperf3 on a busy machine, and did its work again.
        """
        os.sched_setaffinity(emulator, {self.emulator})

    def prepare(self) -> None:
        """Makes the kernel steer interfaces that are created in this namespace from now on."""
        DEFAULT_MASK.write_text(self.mask)


def _may_be_real_time() -> bool:
    """Tries it out: root may lack the right, and a user may have it (RLIMIT_RTPRIO)."""
    policy, parameter = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, policy, parameter)
    return True
