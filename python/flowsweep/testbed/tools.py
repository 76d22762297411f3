"""Runs many commands of ip, bridge or tc in one process; says how a process ended."""

from __future__ import annotations

import signal
import subprocess
import tempfile

from flowsweep.testbed.transient import TransientError

# The remedy if SIGKILL ended a part of the testbed: only the kernel is likely to send it.
MEMORY = "dmesg shows whether the kernel did so because memory ran out"
KILLED = f"run it again; {MEMORY}"


class Batch:
    """Commands that a tool runs in order, while other tools run in other namespaces."""

    def __init__(self, tool: str, lines: list[str]) -> None:
        self._tool = tool
        with tempfile.TemporaryFile() as commands:
            commands.write("\n".join([*lines, ""]).encode())
            commands.seek(0)
            self._process = subprocess.Popen(
                [tool, "-batch", "-"],
                stdin=commands,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )

    def finish(self) -> None:
        """Waits for the end; raises for the first command that failed."""
        _, printed = self._process.communicate()
        if self._process.returncode != 0:
            raise _failure(self._tool, printed, self._process.returncode)


def batch(tool: str, lines: list[str]) -> None:
    """Runs the lines in order; raises for the first that fails."""
    Batch(tool, lines).finish()


def output(words: list[str]) -> str:
    """Returns the output of a command."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise _failure(words[0], done.stderr, done.returncode)
    return done.stdout


def ended(code: int) -> str:
    """Describes an exit code of `subprocess`, which is negative for a signal."""
    if 128 < code <= 128 + signal.SIGRTMAX:  # as shells and mpirun pass it on
        return f"exit code {code}, which stands for {ended(128 - code)}"
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _failure(tool: str, printed: str, code: int) -> TransientError:
    message = printed.strip().splitlines()
    return TransientError(
        f"testbed: {tool} failed",
        found=message[0] if message else f"exit code {code}",
        expected="links, addresses and queueing disciplines set",
        remedy="flowsweep testbed check",
    )
