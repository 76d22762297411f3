"""Runs another program beside the run's own, repeatedly, starting before it."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep.testbed import program
from flowsweep.testbed import spec as specs
from flowsweep.testbed.namespaces import counters

if TYPE_CHECKING:
    from flowsweep.testbed.spec import Spec

#: An environment variable that marks its processes.
MARK = "FLOWSWEEP_BESIDE"
#: Below the ports that the kernel chooses (32768 and above), far above those on which the ranks of
#: the run's own program listen (from 1024): they identify the other program's TCP connections.
PORTS = (30_000, 31_999)
BEGIN_LIMIT_S = 30.0
ASK_S = 0.02
LEAST_ROUND_S = 0.1  # minimum interval between starts of a program that ends at once
KILL_LIMIT_S = 5.0


class _Stopped(Exception):  # noqa: N818 - it is not an error
    """The run's own program has ended."""


class Beside:
    """The other program, in repeated rounds; does nothing if there is none."""

    def __init__(self, spec: Spec, environment: dict[str, str], priority: Sequence[str]) -> None:
        self._bed = _spec_alone(spec)
        self._app = spec.beside.app if spec.beside is not None else ""
        self._begin_limit_s = min(BEGIN_LIMIT_S, spec.timeout_s)
        self._environment = {**environment, MARK: self._app}
        self._priority = priority
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._rounds)
        self._failure: str | None = None
        self._times_s: list[float | None] = []

    def begin(self) -> str | None:
        """Starts it and waits until a host has sent a frame; returns why that failed, or None."""
        if not self._app:
            return None
        before = self._sent()
        self._thread.start()
        end = time.monotonic() + self._begin_limit_s
        while self._failure is None and time.monotonic() < end:
            if self._sent() > before:
                return None
            time.sleep(ASK_S)
        if self._failure is None:
            self._failure = f"sent no packet within {self._begin_limit_s:g} s"
        self._stop.set()
        return self.faults[0]

    def end(self) -> None:
        """Stops it, and everything that it has started."""
        self._stop.set()
        if self._thread.ident is None:  # not started
            return
        self._thread.join()
        end = time.monotonic() + KILL_LIMIT_S
        while (left := _processes()) and time.monotonic() < end:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(ASK_S)

    @property
    def faults(self) -> list[str]:
        """Why the run is invalid."""
        if self._failure is None:
            return []
        return [f"{self._app}, which was to run beside it, {self._failure}"]

    def record(self) -> dict[str, Any] | None:
        """Returns for run.json the rounds that it finished, with its reported completion times."""
        if not self._app:
            return None
        ports = list(PORTS) if self._bed.start == "mpirun" else None
        return {"rounds": len(self._times_s), "completion_s": self._times_s, "mpi_ports": ports}

    def _sent(self) -> int:
        frames = counters.read(self._bed)
        return sum(frames[host.name][1] for host in self._bed.hosts)

    def _rounds(self) -> None:
        while not self._stop.is_set():
            specs.BESIDE_OUTPUT.unlink(missing_ok=True)
            begin = time.monotonic()
            try:
                failure, spoiled = program.run(
                    self._bed, self._environment, self._look, self._priority, "beside.out"
                )
            except _Stopped:
                return
            why = spoiled or failure
            if why is not None:
                self._failure = f"failed: {why}"
                return
            self._times_s.append(_completion_s(specs.BESIDE_OUTPUT))
            self._stop.wait(LEAST_ROUND_S - (time.monotonic() - begin))

    def _look(self) -> None:
        if self._stop.is_set():
            raise _Stopped


def _spec_alone(spec: Spec) -> Spec:
    """Returns the testbed as if the other program were the only one on it."""
    if spec.beside is None:
        return spec
    return replace(
        spec,
        start=spec.beside.start,
        ranks=spec.beside.ranks,
        program=spec.beside.program,
        problem=spec.beside.problem,
        output=str(specs.BESIDE_OUTPUT),
        servers=[],
        folder="",
        timeout_s=math.inf,
        mpi_ports=PORTS,
    )


def _completion_s(path: Path) -> float | None:
    """Returns the completion time that the program wrote for a round; None if it is unreadable."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        return float(json.loads(path.read_text())["completion_s"])
    return None


def _processes() -> list[int]:
    """Returns its live processes, all of which are in the namespaces of this run."""
    mark = f"\0{MARK}=".encode()
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            # A zombie's environment is empty.
            if entry.name.isdigit() and mark in b"\0" + (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return found
