"""The result of one run, which each kind of testbed returns."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Observations:
    """What a testbed observed of a run; captures and manifests are in the run's folder.

    Attributes:
        faults: Reasons why the run is invalid.
        tcp: TCP settings of a host, by name.
        emulator: `backend`, `backend_reason`, and counters of each of the `links`.
        machine: How much of the machines the program got, and how much others took.
        frames: `received` and `sent` by host.
        paths: For each pair of sites `between`, the idle `rtt_ns` before and `rtt_after_ns` after
            the run, and `rate_bit_s`; each None if not measured.
        program_s: Seconds that the program took by its hosts' clocks; None if `start_ns` and
            `end_ns` state it as well.
        beside: What was observed of the program that ran beside it, if any.
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
        start_ns: When the program started, ns since the epoch.
        end_ns: When its last process had ended, ns since the epoch.
        failure: Why the program failed, or None.
        spoiled: What the testbed did to the program that makes the run useless, or None.
        cost_s: Seconds of `set_up`, `program` and `take_down`.
    """

    start_ns: int
    end_ns: int
    failure: str | None
    spoiled: str | None
    cost_s: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """Returns the object that `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> RunResult:
        """Makes a result from the object of `to_json`."""
        return cls(**data)
