"""The `flowsweep` command: each subcommand is a function in a file of its name.

Results go to stdout, progress and notes to stderr. Exit codes: 0 done; 1 done, but
the answer is no or data was lost; 2 usage, unreadable input or failure.
"""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module
from typing import Any, NoReturn, cast

import click

from flowsweep.errors import FlowsweepError

# Command to the module that holds it, in the order of the data: run, parse, ask, report.
COMMANDS = {
    "plan": "plan",
    "run": "run",
    "retry": "retry",
    "parse": "parse",
    "ingest": "parse",
    "runs": "runs",
    "show": "show",
    "query": "report",
    "report": "report",
    "testbed": "testbed",
}


class _Commands(click.Group):
    """Imports a command when it is asked for: many a capture is parsed sooner than all could be."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"flowsweep.cli.{COMMANDS[cmd_name]}")
        return cast("click.Command", getattr(module, cmd_name))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader went away (`flowsweep query ... | head`): no error, but one to click.
            ctx.exit(0)


def _version(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    del param
    if wanted:
        from importlib.metadata import version

        print(f"flowsweep {version('flowsweep')}")
        ctx.exit()


@click.group(
    cls=_Commands,
    name="flowsweep",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Print the version.",
)
def app() -> None:
    """What network does my distributed application need? Measured from packet captures."""


def main() -> NoReturn:
    """Runs the command line; turns errors into a message and an exit code."""
    status = 0
    try:
        status = _status()
        sys.stdout.flush()
    except BrokenPipeError:
        # As above, where all of it fitted the buffer.
        pass
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        place = error.filename or "standard output"
        print(f"error: {place}: {os.strerror(errno.ENOSPC)}", file=sys.stderr)
        status = 2
    sys.stderr.flush()
    # To take the interpreter down piece by piece is an eighth of a short command's time.
    os._exit(status)


def _status() -> int:
    try:
        return int(app(prog_name="flowsweep", standalone_mode=False) or 0)
    except FlowsweepError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        print("stopped", file=sys.stderr)
        return 130
