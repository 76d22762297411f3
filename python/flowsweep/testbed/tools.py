"""ip, bridge and tc, many commands in one process; how a process ended, in words."""

from __future__ import annotations

import signal
import subprocess

from flowsweep.errors import FlowsweepError

# The remedy where a part of the testbed was killed with SIGKILL: nobody but the kernel does.
KILLED = "run it again; dmesg tells whether the kernel did so because memory was used up"


def batch(tool: str, lines: list[str]) -> None:
    """Runs the lines in order; the first that fails is an error."""
    done = subprocess.run(
        [tool, "-batch", "-"],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise _failure(tool, done.stderr, done.returncode)


def output(words: list[str]) -> str:
    """What a command prints."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise _failure(words[0], done.stderr, done.returncode)
    return done.stdout


def ended(code: int) -> str:
    """An exit code as `subprocess` gives it: negative for a signal."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _failure(tool: str, said: str, code: int) -> FlowsweepError:
    message = said.strip().splitlines()
    return FlowsweepError(
        f"testbed: {tool} failed",
        found=message[0] if message else f"exit code {code}",
        expected="links, addresses and queueing disciplines set",
        remedy="flowsweep testbed check",
    )
