"""`flowsweep runs`: collects the run.json files of an experiment in the table `runs`."""

from __future__ import annotations

import sys
from pathlib import Path

from flowsweep.cli.arguments import Parser, add_output
from flowsweep.lists import shorten_list

#: Maximum of runs or hosts that a note names.
MAX_NAMED = 5


def arguments(parser: Parser) -> None:
    """Adds the options and arguments of this command."""
    parser.add_argument("directory", metavar="DIRECTORY", type=Path, help="Folder of the runs.")
    add_output(parser, "Parquet file to write.")
    parser.add_argument(
        "--experiment", metavar="PATH", type=Path, help="Experiment file, for plan and name."
    )


def runs(*, directory: Path, output: Path, experiment: Path | None) -> None:
    """Collect run.json of every run in DIRECTORY into the table `runs`.

    With an experiment file that has a plan, runs that are not in it are marked: the report leaves
    them out, and says so.

    Example: flowsweep runs results/demo/runs --output results/demo/tables/runs.parquet
    """
    from flowsweep.runs import run_records

    left_out = run_records.write_table(directory, output, experiment)
    for line in run_records.find_misspelt(directory):
        print(f"warning: {line}", file=sys.stderr)
    if left_out:
        print(
            f"note: {directory}: not in the plan of {experiment}, or made with other settings, "
            f"and so not in the report: {', '.join(shorten_list(left_out, MAX_NAMED))}",
            file=sys.stderr,
        )
    if experiment and (apart := run_records.without_site(directory, experiment)):
        print(
            f"note: {experiment}: `sites` does not name these hosts of the captures: "
            f"{', '.join(shorten_list(apart, MAX_NAMED))}",
            file=sys.stderr,
        )
