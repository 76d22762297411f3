"""Runs a run's program: starts its processes, waits for them, ends them at the time limit."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from flowsweep.files.inputs import BEGINNING_BYTES, END_BYTES
from flowsweep.testbed import kernel, launch, process_groups
from flowsweep.testbed import spec as specs
from flowsweep.testbed.servers import ServerError
from flowsweep.testbed.tools import MEMORY, ended

if TYPE_CHECKING:
    from flowsweep.testbed.spec import Spec

TERMINATE_LIMIT_S = 5.0
WATCH_S = 0.2  # interval of checks on agents and ranks while the program runs
REASON_LINES = 4
LOG = "program.log"  # output of a command, in the run directory
# The message of PRRTE (Open MPI 5), and of ORTE before it.
LOST_DAEMON = re.compile(
    r"lost communication with a remote daemon\..*?Remote daemon: .*? on node (\S+)", re.DOTALL
)
# Open MPI's message of a rank: function, rank, error. It may appear before mpirun notices the loss.
MPI_ERROR = re.compile(
    r"\*\*\* An error occurred in (.+)\n.*\*\*\* reported by process \[\d+,(\d+)\]\n"
    r".*\n.*\*\*\* (.+)\n"
)
# On standard output, before any output of the program: mpirun could not start a daemon on a host.
NO_DAEMON = re.compile(
    r"daemon failed to report back after being spawned\..*?Remote host: +(\S+)", re.DOTALL
)
LINE_CHARACTERS = 500  # shown of a line that is the reason
NOISE = "plm:ssh: Warning: setpgid"  # mpirun's warning when a child was faster


Command = tuple[list[str], dict[str, str]]  # words, and additional environment variables


@dataclass(frozen=True)
class Ended:
    """How a program ended; without a code, it was stopped at the time limit.

    `stderr`: its standard error; `printed`: the beginning of its standard output; `left`: the
    hosts on which it still ran after it had ended on others.
    """

    code: int | None
    stderr: str
    printed: str
    limit_s: float
    left: tuple[str, ...] = ()

    @property
    def failure(self) -> str | None:
        """Why it failed, or None."""
        if self.code == 0:
            return None
        reason = _mpi_error(self.stderr) or _reason(self.stderr)
        what = ended(self.code) if self.code is not None else self._unfinished()
        return f"{what}: {reason}" if reason else what

    def _unfinished(self) -> str:
        where = f" on {', '.join(self.left)}, where others were" if self.left else ""
        serve = "; a server belongs under `serve`" if self.left else ""
        return f"not finished after {self.limit_s:g} s{where}{serve}"

    @property
    def spoiled(self) -> str | None:
        """Which part of mpirun was killed, which a program does not do to itself, or None.

        mpirun's exit code may be 0 even if it has lost a daemon.
        """
        lost = LOST_DAEMON.search(self.stderr)
        if self.code is not None and lost is not None:
            return f"mpirun lost its daemon on {lost[1]}: it was killed, or it crashed; {MEMORY}"
        missing = NO_DAEMON.search(self.printed)
        if self.code and missing is not None:
            return f"mpirun could not start its daemon on {missing[1]}: {_reason(self.stderr)}"
        if self.code == -signal.SIGKILL:
            return f"mpirun was {ended(self.code)}; {MEMORY}"
        return None


def run(
    spec: Spec,
    environment: dict[str, str],
    look: Callable[[], None],
    priority: Sequence[str] = (),
    log: str = "program.out",
) -> tuple[str | None, str | None]:
    """Runs the program of a testbed in namespaces; returns why it failed, and what spoiled the run.

    `look` is called periodically. `priority`: the words that start a command on a host such that
    it yields to the emulator. `log`: the file for its output if the run's folder keeps none.
    """
    out = specs.LOGS / log
    if spec.is_command and spec.folder:
        out = Path(spec.folder) / LOG
    commands = _commands(spec, priority)
    try:
        done = run_commands(
            commands, environment, specs.STATE / "t", out, limit_s=spec.timeout_s, look=look
        )
    except ServerError as error:
        return str(error), None
    return done.failure, done.spoiled if spec.start == "mpirun" else None


def run_commands(
    commands: list[Command],
    environment: Mapping[str, str],
    folder: Path,
    log: Path,
    *,
    limit_s: float,
    look: Callable[[], None],
) -> Ended:
    """Runs all commands at once in `folder` until all end, or until one fails and stops the others.

    Their standard output goes to `log`.
    """
    with log.open("w+b") as stdout, tempfile.TemporaryFile(dir=folder) as stderr:

        def look_and_forget() -> None:
            look()
            # Both files are in memory, which a program could fill.
            kernel.free_middle(stderr.fileno(), BEGINNING_BYTES, END_BYTES)
            if log.parent == specs.LOGS:
                kernel.free_middle(stdout.fileno(), BEGINNING_BYTES, END_BYTES)

        processes = [
            subprocess.Popen(
                words,
                env={**environment, **more},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                process_group=0,
            )
            for words, more in commands
        ]
        try:
            code = _wait(processes, limit_s, look_and_forget)
            left = _find_left(processes, commands)
        finally:
            _end(processes)
        printed = os.pread(stdout.fileno(), BEGINNING_BYTES, 0).decode(errors="replace")
        return Ended(code, _ends_of(stderr), printed, limit_s, left)


def _ends_of(stderr: IO[bytes]) -> str:
    """Returns beginning and end of what a program wrote: the whole may not fit into memory."""
    size = os.fstat(stderr.fileno()).st_size
    begin = max(0, size - END_BYTES)
    texts = [os.pread(stderr.fileno(), END_BYTES, begin).decode(errors="replace")]
    if begin:
        texts.insert(0, os.pread(stderr.fileno(), BEGINNING_BYTES, 0).decode(errors="replace"))
    return "\n".join(texts)


def _commands(spec: Spec, priority: Sequence[str]) -> list[Command]:
    if spec.start == "mpirun":
        return [(launch.mpirun(spec), {})]
    more = {"FLOWSWEEP_PROBLEM": spec.problem, "FLOWSWEEP_OUTPUT": spec.output}
    if spec.start == "hub":
        return [(spec.program, {**more, "FLOWSWEEP_RANK": "0", "FLOWSWEEP_RANKS": "1"})]
    more["FLOWSWEEP_RANKS"] = str(len(spec.ranks))
    return [
        (
            [str(specs.SCRIPTS / "on"), host, *priority, *spec.program],
            {**more, "FLOWSWEEP_RANK": str(rank), "FLOWSWEEP_HOST": host},
        )
        for rank, host in enumerate(spec.ranks)
    ]


def _wait(
    processes: list[subprocess.Popen[bytes]], limit_s: float, look: Callable[[], None]
) -> int | None:
    """Returns 0 if all ended well, else the first other exit code; None at the time limit.

    It waits on pidfds: polling would add tens of milliseconds to a run.
    """
    end = time.monotonic() + limit_s
    pending = {os.pidfd_open(process.pid): process for process in processes}
    poll = select.poll()
    for descriptor in pending:
        poll.register(descriptor, select.POLLIN)
    next_look = time.monotonic() + WATCH_S
    try:
        while pending:
            now = time.monotonic()
            if now >= end:
                return None
            for descriptor, _ in poll.poll(1e3 * max(0.0, min(next_look, end) - now)):
                poll.unregister(descriptor)
                code = pending.pop(descriptor).wait()
                os.close(descriptor)
                if code != 0:
                    return code
            if time.monotonic() >= next_look:
                look()
                next_look = time.monotonic() + WATCH_S
        return 0
    finally:
        for descriptor in pending:
            os.close(descriptor)


def _find_left(
    processes: list[subprocess.Popen[bytes]], commands: list[Command]
) -> tuple[str, ...]:
    """Returns the hosts of processes that still run after others have ended; () without hosts."""
    running = [process.poll() is None for process in processes]
    if all(running):
        return ()
    hosts = [more.get("FLOWSWEEP_HOST") for _, more in commands]
    return tuple(host for host, runs in zip(hosts, running, strict=True) if runs and host)


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    """Ends the processes that still run, with everything in their groups."""
    running = [process for process in processes if process.poll() is None]
    for process in running:
        process.terminate()
    process_groups.wait_or_kill(running, TERMINATE_LIMIT_S)


def _mpi_error(text: str) -> str | None:
    """Returns the first MPI error that a rank reported; None if mpirun itself names the rank."""
    error = MPI_ERROR.search(text)
    if error is None or "noticed that process rank" in text:
        return None
    where, rank, what = error.groups()
    if where == "Socket closed":
        return f"rank {rank} lost its connection to another one, which was killed, or crashed"
    return f"rank {rank}: {where}: {_shorten(what)}"


def _shorten(line: str) -> str:
    return line if len(line) <= LINE_CHARACTERS else f"{line[:LINE_CHARACTERS]}..."


def _reason(text: str) -> str:
    """Returns the last lines of the program's output, without repetitions by several ranks."""
    # Open MPI frames its messages with lines that have neither letters nor digits.
    lines = [line.strip() for line in text.splitlines() if any(map(str.isalnum, line))]
    lines = [_shorten(line) for line in lines if NOISE not in line]
    texts = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return " / ".join(dict.fromkeys((texts or lines)[-REASON_LINES:]))
