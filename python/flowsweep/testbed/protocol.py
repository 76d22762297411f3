"""Makes one captured run, in steps whose order all kinds of testbed share."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from flowsweep.testbed.result import RunResult

if TYPE_CHECKING:
    from flowsweep.testbed.result import Observations
    from flowsweep.testbed.servers import Servers


class Execution(NamedTuple):
    """The program from its start to its end: the first four fields of `RunResult`."""

    start_ns: int
    end_ns: int
    failure: str | None
    spoiled: str | None


class Bed(Protocol):
    """Hosts, links and captures of one run. `run` calls each method once, in this order."""

    def set_up(self) -> str | None:
        """Builds the testbed, starts links and captures, and observes everything while it is idle.

        Returns:
            Why the program cannot be started here, or None.
        """

    def begin_beside(self) -> str | None:
        """Starts the program beside the run's own, if any; returns why that failed, or None."""

    def servers(self) -> Servers:
        """Returns the servers of the program, not yet started."""

    def begin_watch(self) -> None:
        """Begins to watch how much of the machines the program gets."""

    def run_program(self, servers: Servers) -> tuple[str | None, str | None]:
        """Runs the program to its end; returns why it failed, and what spoiled the run."""

    def end_others(self, servers: Servers) -> None:
        """Ends the watch, the servers, and the program beside the run's own."""

    def collect(self, execution: Execution) -> Observations:
        """Observes everything again, and stops captures and links."""


def run(bed: Bed, started: Callable[[], None] = lambda: None) -> RunResult:
    """Makes one captured run.

    Args:
        bed: Where the program runs. The caller takes it down, however this ends.
        started: Called when the testbed is up and only probes have been sent.
    """
    begin = time.monotonic()
    lacking = bed.set_up()
    ready = time.monotonic()
    started()
    execution = _execute(bed, lacking)
    done = time.monotonic()
    observations = bed.collect(execution)
    cost_s = {
        "set_up": round(ready - begin, 4),
        "program": round(done - ready, 4),
        "take_down": round(time.monotonic() - done, 4),
    }
    return RunResult(**execution._asdict(), **vars(observations), cost_s=cost_s)


def _execute(bed: Bed, lacking: str | None) -> Execution:
    """Runs the program with its servers and the program beside it, unless something is lacking."""
    failure = lacking
    spoiled = bed.begin_beside() if failure is None else None
    servers = bed.servers()
    if failure is None and spoiled is None:
        failure = servers.start()
    bed.begin_watch()
    start_ns = time.time_ns()
    if failure is None and spoiled is None:
        failure, spoiled = bed.run_program(servers)
    end_ns = time.time_ns()
    # A server that failed is the cause of what its clients report.
    failure = servers.failure() or failure
    bed.end_others(servers)
    return Execution(start_ns, end_ns, failure, spoiled)
