"""ip, bridge and tc: many commands in one process."""

from __future__ import annotations

import subprocess

from flowsweep.errors import FlowsweepError


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


def _failure(tool: str, said: str, code: int) -> FlowsweepError:
    message = said.strip().splitlines()
    return FlowsweepError(
        f"testbed: {tool} failed",
        found=message[0] if message else f"exit code {code}",
        expected="links, addresses and queueing disciplines set",
        remedy="flowsweep testbed check",
    )
