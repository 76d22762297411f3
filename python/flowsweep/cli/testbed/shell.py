"""`flowsweep testbed shell`: runs a shell, or a command, on an emulated network."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from flowsweep.cli.arguments import Parser, add_experiment, add_settings


def arguments(parser: Parser) -> None:
    """Adds the options and arguments of this command."""
    add_experiment(parser)
    parser.add_argument(
        "command", metavar="COMMAND", nargs="*", help="The command and its arguments."
    )
    parser.rest = "command"
    add_settings(parser)


def shell(*, experiment: Path, command: list[str], settings: list[str]) -> int:
    """Bring the hosts up, run a command beside them, take them down.

    COMMAND comes after --; the default is a shell.

    Inside, `on HOST COMMAND...` runs a command on a host; $FLOWSWEEP_HOSTS lists
    name=address by commas. The exit code is the command's.

    Example: flowsweep testbed shell demo.yaml --set rtt=16ms -- on pc1 ping -c3 10.77.2.1
    """
    from flowsweep import experiment as experiments
    from flowsweep.cli.run import parse_settings
    from flowsweep.testbed import kinds

    planned = experiments.load(experiment).run_at(parse_settings(settings))
    program = command or [os.environ.get("SHELL", "/bin/sh")]
    return kinds.find(planned).shell(planned, program, _say)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
