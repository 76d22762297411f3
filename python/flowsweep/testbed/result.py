"""The result of one run, as a kind of testbed returns it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Observations:
    """What a testbed observed of a run; its captures and manifests are in the run's folder.

    Attributes:
        faults: Reasons for which the run does not count.
        tcp: Settings of TCP on a host, by name.
        emulator: `backend`, `backend_reason`, and counters of each of the `links`.
        machine: What the machines gave the program, and what others took of them.
        frames: `received` and `sent` by host.
        paths: Of each pair of sites `between`, `rtt_ns` before and `rtt_after_ns` after the run
            while idle, and `rate_bit_s`; each None where it was not measured.
        program_s: Seconds of the program by the clocks of its hosts; None where `start_ns` and
            `end_ns` say it as well.
        beside: What was seen of the program that ran beside it, where one did.
    """

    faults: list[str]
    tcp: dict[str, Any]
    emulator: dict[str, Any]
    machine: dict[str, Any]
    frames: dict[str, dict[str, int]]
    paths: list[dict[str, Any]]
    program_s: float | None = None
    beside: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class RunResult(Observations):
    """One captured run.

    Attributes:
        start_ns: When the program was started, ns since the epoch.
        end_ns: When its last process had ended, ns since the epoch.
        failure: Why the program failed, or None.
        spoiled: What the testbed did to the program, so that the run says nothing of it, or None.
        cost_s: Seconds of `set_up`, `program` and `take_down`.
    """

    start_ns: int
    end_ns: int
    failure: str | None
    spoiled: str | None
    cost_s: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """The object that `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> RunResult:
        """A result from the object of `to_json`."""
        return cls(**data)
