"""The `flowsweep` command: each subcommand is a function in a file of the same name.

In the same file, `arguments` declares its arguments. Results go to stdout, progress and notes
to stderr. Exit codes: 0 done; 1 done, but the answer is no or data was lost; 2 usage,
unreadable input or failure.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from importlib import import_module
from types import ModuleType
from typing import NoReturn

from flowsweep import printing, signals
from flowsweep.cli import failures
from flowsweep.cli.arguments import HELP, Parser
from flowsweep.errors import FlowsweepError

#: In the order of the data: run, parse, query, report.
COMMANDS = (
    "plan",
    "run",
    "retry",
    "parse",
    "ingest",
    "match",
    "export",
    "runs",
    "show",
    "sequence",
    "query",
    "columns",
    "report",
    "watch",
    "zeek-logs",
    "testbed",
    "workflow",
    "completion",
)
ABOUT = "What network does my distributed application need? Measured from packet captures."


def main() -> NoReturn:
    """Runs the command line; turns every failure into a message and an exit code."""
    signals.install()
    printing.guard()
    status = failures.status_of(lambda: _status(sys.argv[1:]))
    signals.clean()
    # An orderly end of the interpreter takes an eighth of a short command's time.
    os._exit(status)


def _status(words: list[str]) -> int:
    if words == ["--version"]:
        import flowsweep

        print(f"flowsweep {flowsweep.__version__}")
        return 0
    return _answer(sys.modules[__name__], "flowsweep", ABOUT, words)


def _answer(group: ModuleType, program: str, about: str | None, words: list[str]) -> int:
    """Runs the command of `group` that the first of `words` names; returns its exit code.

    It imports only that module: importing all takes longer than parsing a small capture.
    """
    if not words or words[0] in HELP:
        print(_overview(group, program, about), end="", file=sys.stdout if words else sys.stderr)
        return 0 if words else 2
    name, *words = words
    program = f"{program} {name}"
    if name not in group.COMMANDS:
        raise FlowsweepError(
            f"{program}: no such command",
            expected=", ".join(group.COMMANDS),
            remedy=f"{program.removesuffix(name)}--help",
        )
    module = _module(group, name)
    if hasattr(module, "COMMANDS"):
        return _answer(module, program, module.__doc__, words)
    command = getattr(module, name.replace("-", "_"))
    parser = Parser(program, command.__doc__)
    module.arguments(parser)
    found = parser.parse(words)
    return 0 if found is None else int(command(**found) or 0)


def _module(group: ModuleType, name: str) -> ModuleType:
    return import_module(f"{group.__name__}.{name.replace('-', '_')}")


def _overview(group: ModuleType, program: str, about: str | None) -> str:
    """Returns the help of a group of commands, each with the first paragraph of its own help."""
    parser = Parser(program, about)
    if program == "flowsweep":
        parser.add_argument("--version", action="store_true", help="Print the version and exit.")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", parser_class=ArgumentParser
    )
    for name in group.COMMANDS:
        module = _module(group, name)
        about = getattr(module, name.replace("-", "_"), module).__doc__ or ""
        commands.add_parser(name, help=about.partition("\n\n")[0])
    return parser.format_help()
