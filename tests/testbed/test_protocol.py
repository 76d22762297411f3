"""The steps of a run have one order, and everything that was started is ended."""

from __future__ import annotations

import pytest

from flowsweep.testbed import protocol
from flowsweep.testbed.result import Observations

WHOLE = [
    "set_up", "started", "begin_beside", "servers", "start servers", "begin_watch", "run_program",
    "end_others", "collect",
]  # fmt: skip


class Servers:
    """Servers that record their start; `fails_at`: "start" or "end"."""

    def __init__(self, steps: list[str], fails_at: str | None) -> None:
        self._steps, self._fails_at = steps, fails_at

    def start(self) -> str | None:
        self._steps.append("start servers")
        return "the server failed to start" if self._fails_at == "start" else None

    def failure(self) -> str | None:
        return "the server failed" if self._fails_at == "end" else None


class Bed:
    """A testbed that records its steps, one of which may fail."""

    def __init__(
        self,
        *,
        lacking: str | None = None,
        beside: str | None = None,
        server: str | None = None,
        program: tuple[str | None, str | None] = (None, None),
    ) -> None:
        self.steps: list[str] = []
        self._lacking, self._beside, self._program = lacking, beside, program
        self._servers = Servers(self.steps, server)

    def set_up(self) -> str | None:
        self.steps.append("set_up")
        return self._lacking

    def begin_beside(self) -> str | None:
        self.steps.append("begin_beside")
        return self._beside

    def servers(self) -> Servers:
        self.steps.append("servers")
        return self._servers

    def begin_watch(self) -> None:
        self.steps.append("begin_watch")

    def run_program(self, servers: Servers) -> tuple[str | None, str | None]:
        assert servers is self._servers
        self.steps.append("run_program")
        return self._program

    def end_others(self, servers: Servers) -> None:
        assert servers is self._servers
        self.steps.append("end_others")

    def collect(self, execution: protocol.Execution) -> Observations:
        self.steps.append("collect")
        assert execution.start_ns <= execution.end_ns
        return Observations(faults=[], tcp={}, emulator={}, machine={}, frames={}, paths=[])


def steps_and_ending(bed: Bed) -> tuple[list[str], str | None, str | None]:
    result = protocol.run(bed, lambda: bed.steps.append("started"))
    assert all(seconds >= 0 for seconds in result.cost_s.values())
    return bed.steps, result.failure, result.spoiled


def without(*steps: str) -> list[str]:
    return [step for step in WHOLE if step not in steps]


def test_a_run_takes_all_steps_in_order() -> None:
    assert steps_and_ending(Bed()) == (WHOLE, None, None)


def test_nothing_is_started_where_the_program_cannot_be() -> None:
    """The run is collected like any other."""
    steps, failure, _ = steps_and_ending(Bed(lacking="no bbr"))
    assert steps == without("begin_beside", "start servers", "run_program")
    assert failure == "no bbr"


def test_the_program_waits_for_what_runs_beside_it() -> None:
    steps, failure, spoiled = steps_and_ending(Bed(beside="bulk sent no packet"))
    assert steps == without("start servers", "run_program")
    assert (failure, spoiled) == (None, "bulk sent no packet")


def test_the_program_waits_for_its_servers() -> None:
    steps, failure, _ = steps_and_ending(Bed(server="start"))
    assert steps == without("run_program")
    assert failure == "the server failed to start"


@pytest.mark.parametrize("program", [(None, None), ("exit code 1", None)])
def test_a_server_that_failed_is_the_reason(program: tuple[str | None, str | None]) -> None:
    assert steps_and_ending(Bed(server="end", program=program)) == (
        WHOLE,
        "the server failed",
        None,
    )


def test_the_ending_of_the_program_is_that_of_the_run() -> None:
    bed = Bed(program=("exit code 1", "mpirun was killed"))
    assert steps_and_ending(bed) == (WHOLE, "exit code 1", "mpirun was killed")
