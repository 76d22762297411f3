"""The common parts of workloads: parameters, paced work, failure.

A workload is a program that each rank runs as
    PROGRAM --problem '{"board": 13}' --compute paced --output app.json
Rank 0 writes the ground truth for tests of packet analysis (record.py).
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

MOST_LATE_NS = 5_000_000  # longest delay that `Pace` makes up for
CHUNK_BYTES = 1 << 20  # of generated content


class BadProblemError(Exception):
    """An invalid parameter: name, found, expected."""

    def __init__(self, name: str, found: object, expected: str) -> None:
        super().__init__(f"problem: {name}: found {found!r}, expected {expected}")


def sleep_until(deadline_ns: int) -> None:
    """Waits without computing until `time.monotonic_ns()` is `deadline_ns`."""
    while (left := deadline_ns - time.monotonic_ns()) > 0:
        time.sleep(left / 1e9)


class Pace:
    """Makes work take as long as on a slower core; `unit_ns` None: takes its real time."""

    def __init__(self, unit_ns: float | None) -> None:
        self._unit_ns = unit_ns
        self._late_ns = 0
        self.computing_ns = 0

    def work(self, begin_ns: int, units: int) -> None:
        """Waits for the rest of the time of work that began at `begin_ns`, of `monotonic_ns`."""
        if self._unit_ns is not None:
            # A late wake-up shortens the next wait.
            deadline = begin_ns - self._late_ns + round(units * self._unit_ns)
            sleep_until(deadline)
            self._late_ns = min(time.monotonic_ns() - deadline, MOST_LATE_NS)
        self.computing_ns += time.monotonic_ns() - begin_ns


def utc(nanoseconds: int) -> str:
    """Writes nanoseconds since the epoch as RFC 3339 with nanoseconds."""
    seconds, fraction = divmod(nanoseconds, 10**9)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{fraction:09d}Z"


def kernels() -> ctypes.CDLL:
    """Loads the compiled inner loops.

    FLOWSWEEP_KERNELS names the file; a wheel has it next to this file, a checkout in its `.venv`.
    """
    beside = Path(__file__).with_name("libflowsweep_kernels.so")
    built = Path(sys.prefix) / "lib/flowsweep" / beside.name
    path = Path(os.environ.get("FLOWSWEEP_KERNELS") or (beside if beside.exists() else built))
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        fail(f"kernels: {error}; expected {path}; remedy: make build, or install the wheel again")


def whole_number(problem: dict[str, Any], name: str, default: int, low: int, high: int) -> int:
    """Returns a whole-number parameter of the problem within its bounds."""
    value = problem.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise BadProblemError(name, value, f"a whole number from {low} to {high}")
    return value


def number(problem: dict[str, Any], name: str, default: float, low: float, high: float) -> float:
    """Returns a numeric parameter of the problem within its bounds."""
    value = problem.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise BadProblemError(name, value, f"a number from {low:g} to {high:g}")
    return float(value)


def switch(problem: dict[str, Any], name: str, *, default: bool) -> bool:
    """Returns a parameter of the problem that is on or off."""
    value = problem.get(name, default)
    if not isinstance(value, bool):
        raise BadProblemError(name, value, "true or false")
    return value


def choice(problem: dict[str, Any], name: str, values: tuple[str, ...]) -> str:
    """Returns a parameter that is one of several words; the first is the default."""
    value = problem.get(name, values[0])
    if value not in values:
        raise BadProblemError(name, value, f"one of {', '.join(values)}")
    return str(value)


def text(problem: dict[str, Any], name: str) -> str | None:
    """Returns a parameter that is a text, or None if it is not given."""
    value = problem.get(name)
    if value is None or (isinstance(value, str) and value):
        return value
    raise BadProblemError(name, value, "a text that is not empty")


def only(problem: dict[str, Any], *names: str) -> None:
    """Refuses unknown parameters."""
    for name in sorted(set(problem) - set(names)):
        raise BadProblemError(name, problem[name], f"one of {', '.join(names)}")


def content(seed: int, size: int) -> Iterator[bytes]:
    """Yields `size` pseudo-random bytes from a seed, in pieces."""
    chance = random.Random(seed)  # noqa: S311 - a pattern, not a secret
    for start in range(0, size, CHUNK_BYTES):
        yield chance.randbytes(min(CHUNK_BYTES, size - start))


def ranks_started() -> int:
    """Returns the number of ranks, even before MPI starts."""
    return int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1"))


def fail(message: str) -> NoReturn:
    """Ends this rank with a message; mpirun then ends the others."""
    # One write, so that lines of several ranks do not mix.
    sys.stderr.write(f"error: {message}\n")
    sys.stderr.flush()
    raise SystemExit(2)


def run(app: str, work: Callable[[dict[str, Any], str, Path], None]) -> None:
    """Reads the arguments and runs a workload; no failure leaves a rank waiting."""
    parser = argparse.ArgumentParser(prog=app)
    parser.add_argument("--problem", type=json.loads, default={}, help="parameters as JSON")
    parser.add_argument("--compute", choices=("busy", "paced"), default="paced")
    parser.add_argument("--output", type=Path, default=Path("app.json"))
    options = parser.parse_args()
    if not isinstance(options.problem, dict):
        fail(f"{app}: problem: found {options.problem!r}, expected parameters by name")
    try:
        work(options.problem, options.compute, options.output)
    except BadProblemError as error:
        fail(f"{app}: {error}")
    except Exception as error:  # noqa: BLE001 - no rank may be left waiting, whatever happened
        traceback.print_exc()
        # The run's record keeps this line.
        sys.stderr.write(f"error: {app}: {type(error).__name__}: {error}\n")
        sys.stderr.flush()
        if "mpi4py.MPI" in sys.modules:
            # The other ranks might wait for this rank forever.
            sys.modules["mpi4py.MPI"].COMM_WORLD.Abort(1)
        raise SystemExit(1) from None
