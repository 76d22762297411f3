"""`flowsweep testbed check`: shows what this machine can do as a testbed."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING

from flowsweep import printing
from flowsweep.cli.arguments import Parser, add_format

if TYPE_CHECKING:
    from flowsweep.testbed.checks.finding import Finding

LEVEL_WIDTH, NAME_WIDTH = 6, 20


def arguments(parser: Parser) -> None:
    """Adds the options and arguments of this command."""
    parser.add_argument(
        "--quiet", "-q", action="store_true", help="Print nothing; the exit code is the answer."
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="Check only whether hosts can be made; measure nothing.",
    )
    add_format(parser, "text", "json")


def check(*, quiet: bool, quick: bool, output_format: str) -> int:
    """Show what this machine can do, and the remedy for what it lacks.

    Exit code 1: experiments cannot run here, or their runs would be invalid.

    Example: flowsweep testbed check
    """
    import json

    from flowsweep.testbed.checks import machine, permission

    say = _discard if quiet else _say
    findings = [permission.namespaces()] if quick else machine.check(say)
    bad = [finding for finding in findings if finding.level == "bad"]
    if output_format == "json":
        answer = {"can_run": not bad, "findings": [vars(finding) for finding in findings]}
        printing.exact(json.dumps(answer, indent=1) + "\n")
    elif not quiet:
        for finding in findings:
            printing.styled(f"{_format(finding)}\n")
        print(f"\n{_verdict(len(findings), len(bad), quick=quick)}")
    return 1 if bad else 0


def _discard(text: str) -> None:
    del text


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _verdict(count: int, bad: int, *, quick: bool) -> str:
    if quick:
        return "Hosts cannot be made here." if bad else "Hosts can be made here. Nothing measured."
    can = "cannot run demo.yaml" if bad else "can run demo.yaml and the -quick experiments"
    return f"This machine {can}. {bad} of {count} {'is' if bad == 1 else 'are'} bad."


def _format(finding: Finding) -> str:
    """Writes level, name and text in columns, within the width of the terminal."""
    width = max(60, shutil.get_terminal_size().columns)
    columns = " " * (LEVEL_WIDTH + NAME_WIDTH)
    lines = textwrap.wrap(
        printing.visible(finding.text), width - len(columns), break_on_hyphens=False
    )
    shown = f"{_colour(finding.level)}{finding.name:<{NAME_WIDTH}}" + f"\n{columns}".join(lines)
    if finding.remedy is None:
        return shown
    # Less indented, because a remedy is often a command that should stay on one line.
    remedy = textwrap.fill(
        printing.visible(finding.remedy),
        width,
        initial_indent="        remedy: ",
        subsequent_indent=" " * 16,
        break_on_hyphens=False,
    )
    return f"{shown}\n{remedy}"


def _colour(level: str) -> str:
    """Pads the level to its column; colours it on a terminal."""
    word = f"{level:<{LEVEL_WIDTH}}"
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return word
    colour = {"ok": "32", "note": "33", "bad": "31"}[level]
    return f"\x1b[{colour}m{word}\x1b[0m"
