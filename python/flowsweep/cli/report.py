"""`report`: the page of an experiment; `query`: the rows behind one of its figures."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from flowsweep.cli.options import PATH


@click.command()
@click.argument("directory", type=PATH)
def report(directory: Path) -> None:
    """Write DIRECTORY/report.html: what network the application needs, with the evidence.

    DIRECTORY is results/<experiment>, with tables/ inside. The report is one file that works
    without a network. Prints its path.

    Example: flowsweep report results/demo
    """
    from flowsweep.render import page

    path, first = page.write(directory)
    if first:
        print(first, file=sys.stderr)
    _tell_invalid(directory)
    print(path)


def _tell_invalid(directory: Path) -> None:
    """How many runs of the report are invalid, one reason, and how to make them anew."""
    from flowsweep.units import counted
    from flowsweep.warehouse import Warehouse

    if not (directory / "runs").is_dir():
        return  # recorded elsewhere
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


@click.command()
@click.argument("name")
@click.argument("directory", type=PATH)
@click.option(
    "--format", "output_format", type=click.Choice(["table", "csv", "json"]), default="table"
)
@click.option("--sql", is_flag=True, help="Print the SQL that leads to the rows instead.")
def query(name: str, directory: Path, output_format: str, sql: bool) -> None:
    """Print the rows behind a figure: NAME is one of the report's, such as thresholds.

    DIRECTORY is results/<experiment>, with tables/ inside.

    Example: flowsweep query thresholds results/demo --format csv

    A query that the experiment cannot answer prints its header alone, and says why on stderr.

    With --sql: the whole way from the Parquet files, for duckdb to run:
    flowsweep query thresholds results/demo --sql | duckdb
    """
    from flowsweep.warehouse import Warehouse

    warehouse = Warehouse(directory)
    if sql:
        sys.stdout.write(warehouse.script(name))
        return
    rows = warehouse.rows(name)
    if rows.is_empty():
        why = warehouse.lack(name) or "nothing in the tables answers it"
        print(f"note: {name} has no rows: {why}", file=sys.stderr)
    if output_format == "csv":
        sys.stdout.write(rows.write_csv())
    elif output_format == "json":
        sys.stdout.write(rows.write_json() + "\n")
    else:
        from flowsweep.render import terminal

        terminal.print_rows(rows)
