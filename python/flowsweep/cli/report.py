"""The tables of an experiment to its page."""

from __future__ import annotations

import sys
from pathlib import Path

from flowsweep.cli.arguments import Parser, add_against, add_results


def arguments(parser: Parser) -> None:
    """Adds the options and arguments of this command."""
    add_results(parser)
    add_against(parser)


def report(*, directory: Path, against: Path | None) -> None:
    """Write DIRECTORY/report.html: what network the application needs, with the evidence.

    DIRECTORY is results/<experiment>, with tables/ inside. The report is one file that works
    without a network. Prints its path. The rows of all its figures are in
    DIRECTORY/<experiment>.duckdb, for DuckDB.

    Example: flowsweep report results/demo

    With --against: a section compares its points with those of another experiment, such as one
    before a change, on another cluster, or with another congestion control.

    Example: flowsweep report results/grid --against results/cluster
    """
    from flowsweep.render import page

    path, made = page.write(directory, against)
    if made.first:
        print(made.first, file=sys.stderr)
    for contradiction in made.contradictions:
        print(f"warning: the report contradicts its tables: {contradiction}", file=sys.stderr)
    _tell_invalid(directory)
    print(path)


def _tell_invalid(directory: Path) -> None:
    """Tells how many runs are invalid, with one reason, and how to make them anew."""
    from flowsweep.experiment import results
    from flowsweep.units import counted
    from flowsweep.warehouse import Warehouse

    if not results.has_own_runs(directory):
        return
    invalid = [
        row
        for row in Warehouse(directory).rows("run_table").iter_rows(named=True)
        if row["status"] == "invalid" and not row["is_warmup"]
    ]
    if not invalid:
        return
    run, reason = invalid[0]["run"], invalid[0]["reason"]
    verb = "does" if len(invalid) == 1 else "do"
    print(
        f"note: {counted(len(invalid), 'run')} {verb} not count, being invalid; {run}: {reason}\n"
        f"  remedy    when that is over: flowsweep retry {directory}, and the sweep again",
        file=sys.stderr,
    )
