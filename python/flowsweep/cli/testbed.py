"""The testbed by hand: what this machine can do, and a shell on an emulated network."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Emulated hosts on this machine: check what it can do, or work in one.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("shell")
def shell(
    experiment: Annotated[Path, typer.Argument(help="An experiment file.")],
    command: Annotated[
        list[str] | None, typer.Argument(help="After --: the command. Default: a shell.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="AXIS=VALUE", help="A point other than the baseline."),
    ] = None,
) -> None:
    """Bring the hosts up, run a command beside them, take them down.

    Inside, `on HOST COMMAND...` runs a command on a host; $FLOWSWEEP_HOSTS lists
    name=address by commas. The exit code is the command's.

    Example: flowsweep testbed shell demo.yaml --set rtt=16ms -- on pc1 ping -c3 10.77.2.1
    """
    from dataclasses import replace

    from flowsweep import experiment as experiments
    from flowsweep.cli.run import parse_settings
    from flowsweep.errors import FlowsweepError
    from flowsweep.testbed import describe, enclosure

    planned = experiments.load(experiment).run_at(parse_settings(settings or []))
    if planned.experiment.testbed.kind != "namespaces":
        raise FlowsweepError(
            f"{experiment}: there is no shell on real machines",
            found=f"testbed: {{kind: {planned.experiment.testbed.kind}}}",
            expected="an experiment in namespaces",
            remedy="ssh leads to each of them",
        )
    program = command or [os.environ.get("SHELL", "/bin/sh")]
    bed = replace(describe.bed_of(planned), program=program)
    with enclosure.exclusive("a testbed shell", _say) as lock:
        code, _ = enclosure.run(bed, "shell", lock)
    raise typer.Exit(code)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@app.command("check")
def check(
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing; the exit code is the answer.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Only whether hosts can be made; measure nothing.")
    ] = False,
    output_format: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
) -> None:
    """Say what this machine can do, with the remedy for each lack.

    Exit code 1 if something is bad: experiments cannot run here, or not validly.

    Example: flowsweep testbed check
    """
    import json

    from flowsweep.testbed import machine

    say = _nothing if quiet else _say
    findings = [machine.namespaces()] if quick else machine.check(say)
    bad = [finding for finding in findings if finding.level == "bad"]
    if output_format == "json":
        answer = {"can_run": not bad, "findings": [vars(finding) for finding in findings]}
        print(json.dumps(answer, indent=1))
    elif not quiet:
        for finding in findings:
            print(f"{_coloured(finding.level)}{finding.name:<20}{finding.text}")
            if finding.remedy is not None:
                print(f"        remedy: {finding.remedy}")
        can = "can run demo.yaml and the -quick experiments" if not bad else "cannot run demo.yaml"
        print(f"\nThis machine {can}. {len(bad)} of {len(findings)} is bad.")
    raise typer.Exit(1 if bad else 0)


def _nothing(text: str) -> None:
    del text


def _coloured(level: str) -> str:
    """The word in a column of six, in colour where a person looks at a terminal."""
    colour = {"ok": "32", "note": "33", "bad": "31"}[level]
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return f"{level:<6}"
    return f"\x1b[{colour}m{level}\x1b[0m{' ' * (6 - len(level))}"
