"""`flowsweep plan`: prints the runs of an experiment in order; starts nothing."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep import numbers, printing
from flowsweep.cli.arguments import Parser, add_experiment, add_format, add_output

if TYPE_CHECKING:
    from flowsweep.experiment import Experiment

WIDTH = 80


def arguments(parser: Parser) -> None:
    """Adds the options and arguments of this command."""
    add_experiment(parser, nargs="?")
    add_format(
        parser,
        "table",
        "json",
        "yaml",
        "schema",
        about="yaml: the axes to paste, with --refine. schema: the JSON schema of the file.",
    )
    add_output(parser, "Folder of the runs. Default: results/<name>/runs.", required=False)
    parser.add_argument(
        "--refine",
        metavar="DIRECTORY",
        type=Path,
        help="Results: list the points that would narrow the brackets of their thresholds most.",
    )
    parser.add_argument(
        "--keep",
        metavar="PASS",
        type=_pass,
        help="With --refine: add the points to the experiment as this pass of its `refine`.",
    )


def _pass(text: str) -> int:
    if text not in {str(number) for number in range(1, 9)}:
        raise argparse.ArgumentTypeError(f"{text!r} is not a pass; expected 1 to 8")
    return int(text)


def plan(
    *,
    experiment: Path | None,
    output_format: str,
    output: Path | None,
    refine: Path | None,
    keep: int | None,
) -> None:
    """List the runs of an experiment in their order, with an estimate of their time.

    Example: flowsweep plan workflows/experiments/demo.yaml

    With --refine: the points to try next, halfway (on a log scale) between the two tried ones on
    both sides of each threshold, the widest bracket first; as table, JSON, or axes to paste. The
    experiment file is then the copy among the results, unless named.

    Example: flowsweep plan --refine results/demo
    """
    from flowsweep import experiment as experiments
    from flowsweep.errors import FlowsweepError

    if output_format == "schema":
        schema = experiments.Experiment.model_json_schema(by_alias=True)
        printing.exact(json.dumps(schema, indent=2) + "\n")
        return
    if refine is not None:
        from flowsweep.cli import plan_refine

        plan_refine.refine(refine, experiment, output_format, keep)
        return
    if keep is not None or output_format == "yaml":
        given = "--keep" if keep is not None else "--format yaml"
        raise FlowsweepError(f"{given} is for --refine", remedy="--refine results/NAME")
    if experiment is None:
        raise FlowsweepError(
            "no experiment file", expected="EXPERIMENT, or --refine", remedy="flowsweep plan --help"
        )
    loaded = experiments.load(experiment)
    loaded = experiments.load(experiment, output or Path("results", loaded.name, "runs"))
    _check_names(loaded)
    if output_format == "json":
        printing.exact(json.dumps([run.spec() for run in loaded.plan()], indent=2) + "\n")
        return
    show(loaded, output)


def _check_names(loaded: Experiment) -> None:
    """Raises if a workload or a congestion control is unknown: its runs could only fail."""
    from flowsweep.testbed import congestion_names, workloads

    if loaded.captured is not None:
        return  # there are no runs to start
    for workload in loaded.workloads:
        workloads.find(workload)
    for name in dict.fromkeys(run.point.congestion for run in loaded.plan()):
        if name is not None:
            congestion_names.check(name, loaded.path)


def _servers(loaded: Experiment) -> Iterator[str]:
    """Yields a line for each server of the workloads, cut to the width of a terminal."""
    for workload in loaded.workloads:
        for server in workload.serve:
            port = f", port {server.port}" if server.port is not None else ""
            where = f"{workload.name} is served on {', '.join(server.hosts)}{port}: "
            yield textwrap.shorten(where + server.command, WIDTH, placeholder=" ...")


def wait_note(loaded: Experiment) -> str | None:
    """Returns a note if another user holds the testbed, as estimates do not include the wait."""
    from flowsweep.testbed import lock

    user = lock.user() if loaded.testbed.one_at_a_time else None
    return None if user is None else f"note: waiting is not in it: {user} uses the testbed now"


def show(loaded: Experiment, folder: Path | None = None) -> None:
    """Prints the plan: runs in order, which of them exist, and how long the rest takes."""
    from flowsweep.experiment.estimate import estimate, is_there
    from flowsweep.testbed import kinds
    from flowsweep.units import counted

    folder = folder or Path("results", loaded.name, "runs")
    runs = loaded.plan()
    width = max((len(run.id) for run in runs), default=3)
    sites = "  ".join(f"{name}: {', '.join(site.hosts)}" for name, site in loaded.sites.items())
    print(printing.line(f"{loaded.name}{': ' if loaded.title else ''}{loaded.title}"))
    if loaded.captured is not None:
        print(f"nothing is run: the captures in {loaded.captured / 'runs'} are analysed")
        return
    print(sites)
    for line in _servers(loaded):
        print(line)
    print(f"  {'run':<{width}}  block  point")
    for run in runs:
        there = "x" if is_there(run, folder) else " "
        print(printing.line(f"{there} {run.id:<{width}}  {run.block:>5}  {run.summary()}"))
    blocks = counted(loaded.repetitions, "block")
    print(f"{counted(len(runs), 'run')}, {blocks}, seed {loaded.seed}")
    left = estimate(runs, folder)
    print(str(left))
    if waiting := loaded.refine - len(loaded.refined):
        passes = numbers.plural(waiting, "pass", "passes")
        print(f"then {passes} of refinement, whose points follow from these runs")
    if left.missing and (note := wait_note(loaded)):
        print(note, file=sys.stderr)
    for warning in kinds.warnings(runs):
        print(warning, file=sys.stderr)
