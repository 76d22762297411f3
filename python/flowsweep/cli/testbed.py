"""The testbed by hand: what this machine can do, and a shell on an emulated network."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flowsweep.cli.options import EXPERIMENT, SETTINGS

if TYPE_CHECKING:
    from flowsweep.testbed.finding import Finding

LEVEL_WIDTH, NAME_WIDTH = 6, 20


@click.group(no_args_is_help=True)
def testbed() -> None:
    """Emulated hosts on this machine: check what it can do, or work in one."""


@testbed.command("shell")
@EXPERIMENT
@click.argument("command", nargs=-1)
@SETTINGS
def shell(experiment: Path, command: tuple[str, ...], settings: tuple[str, ...]) -> None:
    """Bring the hosts up, run a command beside them, take them down.

    COMMAND comes after --; the default is a shell.

    Inside, `on HOST COMMAND...` runs a command on a host; $FLOWSWEEP_HOSTS lists
    name=address by commas. The exit code is the command's.

    Example: flowsweep testbed shell demo.yaml --set rtt=16ms -- on pc1 ping -c3 10.77.2.1
    """
    from dataclasses import replace

    from flowsweep import experiment as experiments
    from flowsweep.cli.run import parse_settings
    from flowsweep.errors import FlowsweepError
    from flowsweep.testbed import describe, enclosure

    planned = experiments.load(experiment).run_at(parse_settings(settings))
    if planned.experiment.testbed.kind != "namespaces":
        raise FlowsweepError(
            f"{experiment}: there is no shell on real machines",
            found=f"testbed: {{kind: {planned.experiment.testbed.kind}}}",
            expected="an experiment in namespaces",
            remedy="ssh leads to each of them",
        )
    program = list(command) or [os.environ.get("SHELL", "/bin/sh")]
    bed = replace(describe.bed_of(planned), program=program)
    with enclosure.exclusive("a testbed shell", _say) as lock:
        code, _ = enclosure.run(bed, "shell", lock, _say)
    raise click.exceptions.Exit(code)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@testbed.command("check")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing; the exit code is the answer.")
@click.option("--quick", is_flag=True, help="Only whether hosts can be made; measure nothing.")
@click.option("--format", "output_format", type=click.Choice(["text", "json"]), default="text")
def check(quiet: bool, quick: bool, output_format: str) -> None:
    """Say what this machine can do, with the remedy for each lack.

    Exit code 1 if something is bad: experiments cannot run here, or not validly.

    Example: flowsweep testbed check
    """
    import json

    from flowsweep.testbed import machine, permission

    say = _nothing if quiet else _say
    findings = [permission.namespaces()] if quick else machine.check(say)
    bad = [finding for finding in findings if finding.level == "bad"]
    if output_format == "json":
        answer = {"can_run": not bad, "findings": [vars(finding) for finding in findings]}
        print(json.dumps(answer, indent=1))
    elif not quiet:
        for finding in findings:
            print(_shown(finding))
        print(f"\n{_verdict(len(findings), len(bad), quick=quick)}")
    raise click.exceptions.Exit(1 if bad else 0)


def _nothing(text: str) -> None:
    del text


def _verdict(count: int, bad: int, *, quick: bool) -> str:
    if quick:
        return "Hosts cannot be made here." if bad else "Hosts can be made here. Nothing measured."
    can = "cannot run demo.yaml" if bad else "can run demo.yaml and the -quick experiments"
    return f"This machine {can}. {bad} of {count} {'is' if bad == 1 else 'are'} bad."


def _shown(finding: Finding) -> str:
    """Level, name and text in columns, within the width of the terminal."""
    width = max(60, shutil.get_terminal_size().columns)
    columns = " " * (LEVEL_WIDTH + NAME_WIDTH)
    lines = textwrap.wrap(finding.text, width - len(columns), break_on_hyphens=False)
    shown = f"{_coloured(finding.level)}{finding.name:<{NAME_WIDTH}}" + f"\n{columns}".join(lines)
    if finding.remedy is None:
        return shown
    # Less far in: it often is a command, which should stay in one line.
    remedy = textwrap.fill(
        finding.remedy,
        width,
        initial_indent="        remedy: ",
        subsequent_indent=" " * 16,
        break_on_hyphens=False,
    )
    return f"{shown}\n{remedy}"


def _coloured(level: str) -> str:
    """The word in its column, in colour where a person looks at a terminal."""
    word = f"{level:<{LEVEL_WIDTH}}"
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return word
    colour = {"ok": "32", "note": "33", "bad": "31"}[level]
    return f"\x1b[{colour}m{word}\x1b[0m"
