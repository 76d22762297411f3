"""Times and memory of programs, run in turn, so that a busy moment of the machine affects all."""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from programs import Program

#: Longer than any program in the table takes.
GIVE_UP_S = 240


class FailedError(Exception):
    """A program ended with an error or did not end."""


@dataclass(frozen=True)
class Cost:
    """Cost of one start of a program, start-up included."""

    cpu_s: float
    user_s: float
    system_s: float
    wall_s: float
    peak_mb: float


def start(command: list[str], scratch: Path) -> Cost:
    """Runs `command` to its end in a scratch folder without the results of an earlier one."""
    for folder in ("tables", "nfpcapd", "work"):
        shutil.rmtree(scratch / folder, ignore_errors=True)
    (scratch / "nfpcapd").mkdir()
    (scratch / "work").mkdir()
    with (scratch / "log").open("wb") as log:
        began = time.monotonic()
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=log, cwd=scratch / "work"
        )
        watch = threading.Timer(GIVE_UP_S, os.kill, (process.pid, signal.SIGKILL))
        watch.start()
        _, status, usage = os.wait4(process.pid, 0)
        watch.cancel()
        wall = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        log_lines = (scratch / "log").read_text(errors="replace").strip().splitlines()
        gave_up = [f"no end after {GIVE_UP_S} s"] if wall > GIVE_UP_S else []
        raise FailedError(*(gave_up or log_lines[-1:] or [f"exit code {process.returncode}"]))
    cpu = usage.ru_utime + usage.ru_stime
    return Cost(cpu, usage.ru_utime, usage.ru_stime, wall, usage.ru_maxrss / 1024)


def alternate(
    programs: list[Program], scratch: Path, rounds: int, seconds: float
) -> tuple[dict[str, list[Cost]], dict[str, str]]:
    """Measures up to `rounds` starts of each program in turn, at least one whatever the time.

    An uncounted start precedes each: a virtual machine returns free memory to its host, and
    getting it back costs a program CPU time, 2.5 ms per megabyte in one case. Also returns which
    programs failed, and how.
    """
    end = time.monotonic() + seconds
    costs: dict[str, list[Cost]] = {program.name: [] for program in programs}
    failed: dict[str, str] = {}
    for number in range(rounds):
        began = time.monotonic()
        for program in programs:
            if program.name in failed:
                continue
            try:
                start(program.command, scratch)
                costs[program.name].append(start(program.command, scratch))
            except FailedError as error:
                failed[program.name] = str(error)
        took = time.monotonic() - began
        if number + 1 < rounds and time.monotonic() + took > end:
            break
    return {name: found for name, found in costs.items() if name not in failed}, failed


def median(costs: list[Cost]) -> Cost:
    """Returns the median of each figure separately."""
    columns = zip(*(asdict(cost).values() for cost in costs), strict=True)
    return Cost(*(statistics.median(column) for column in columns))
