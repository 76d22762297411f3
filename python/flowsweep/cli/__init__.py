"""The `flowsweep` command: each subcommand is a function in a file of its name.

Results go to stdout, progress and notes to stderr. Exit codes: 0 done; 1 done, but
the answer is no or data was lost; 2 usage, unreadable input or failure.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated

import typer

from flowsweep.errors import FlowsweepError

app = typer.Typer(
    name="flowsweep",
    help="What network does my distributed application need? Measured from packet captures.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# Command to the module that holds it, in the order of the data: run, parse, ask, report.
COMMANDS = {
    "plan": "plan",
    "run": "run",
    "parse": "parse",
    "ingest": "parse",
    "runs": "runs",
    "show": "show",
    "query": "report",
    "report": "report",
    "testbed": "testbed",
}


def _add_commands(names: Iterable[str]) -> None:
    for name in names:
        module = import_module(f"flowsweep.cli.{COMMANDS[name]}")
        if name == "testbed":
            app.add_typer(module.app, name=name)
        else:
            app.command()(getattr(module, name))


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"flowsweep {version('flowsweep')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


def main() -> None:
    """Runs the command line; turns errors into a message and an exit code."""
    # A workflow starts this once per run: the other commands would take longer to set up than
    # many a capture takes to parse.
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    _add_commands([wanted] if wanted in COMMANDS else COMMANDS)
    try:
        app()
    except FlowsweepError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader went away (`flowsweep query ... | head`): not an error, but the
        # interpreter would complain when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
