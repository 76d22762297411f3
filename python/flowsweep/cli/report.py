"""`report`: the page of an experiment; `query`: the rows behind one of its figures."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

Directory = Annotated[
    Path, typer.Argument(help="results/<experiment>, with tables/ inside.", show_default=False)
]


class Format(StrEnum):
    """How rows are printed."""

    table = "table"
    csv = "csv"
    json = "json"


def report(directory: Directory) -> None:
    """Write DIR/report.html: what network the application needs, with the evidence.

    One file that works without a network. Prints its path.

    Example: flowsweep report results/demo
    """
    from flowsweep.render import page

    path, first = page.write(directory)
    if first:
        print(first, file=sys.stderr)
    print(path)


def query(
    name: Annotated[str, typer.Argument(help="A figure of the report, such as thresholds.")],
    directory: Directory,
    output_format: Annotated[
        Format, typer.Option("--format", help="How the rows are printed.")
    ] = Format.table,
    sql: Annotated[
        bool, typer.Option("--sql", help="Print the SQL that leads to the rows instead.")
    ] = False,
) -> None:
    """Print the rows behind a figure.

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
    if output_format is Format.csv:
        sys.stdout.write(rows.write_csv())
    elif output_format is Format.json:
        sys.stdout.write(rows.write_json() + "\n")
    else:
        from flowsweep.render import terminal

        terminal.print_rows(rows)
