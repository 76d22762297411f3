"""`flowsweep query`: prints the rows behind a figure of the report."""

from __future__ import annotations

import argparse
import difflib
import shutil
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep import printing
from flowsweep.cli.arguments import Parser, add_against, add_format, add_results
from flowsweep.errors import FlowsweepError
from flowsweep.units import counted

if TYPE_CHECKING:
    import polars as pl


def arguments(parser: Parser) -> None:
    """Adds the options and arguments of this command."""
    parser.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        help="A figure or table of the report; without it, the names are printed.",
    )
    add_results(parser, nargs="?")
    add_against(parser)
    add_format(parser, "table", "csv", "json")
    parser.add_argument(
        "--columns", metavar="NAMES", help="Print these columns alone, in this order: a,b,c."
    )
    parser.add_argument(
        "--limit",
        metavar="N",
        type=_count,
        help="Print the first N rows, and say how many there are.",
    )
    parser.add_argument(
        "--sql", action="store_true", help="Print the SQL that leads to the rows instead."
    )
    parser.add_argument("--list", action="store_true", help="Print the names.")
    parser.more = lambda: f"names:\n{_names()}"


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of rows")
    return int(text)


def _names() -> str:
    """Returns the name of every query, with its description."""
    import yaml

    from flowsweep.warehouse import figures, reports_folder

    paths = figures.paths(reports_folder())
    names = list(paths)
    width = max(map(len, names)) + 4
    columns = max(60, shutil.get_terminal_size().columns)
    lines = []
    for name in names:
        text = paths[name].with_suffix(".yaml").read_text(encoding="utf-8")
        described = yaml.safe_load(text)
        first, behind = f"  {name:<{width - 2}}", " " * width
        lines += textwrap.wrap(described["description"], columns, initial_indent=first,
                               subsequent_indent=behind)  # fmt: skip
    return "\n".join(lines)


def query(
    *,
    name: str | None = None,
    directory: Path | None = None,
    against: Path | None = None,
    output_format: str,
    columns: str | None = None,
    limit: int | None = None,
    sql: bool,
    list: bool = False,  # noqa: A002 - the name of the option
) -> None:
    """Print the rows behind a figure: NAME is one of the report's, such as thresholds.

    Without NAME: every name, with what it is.

    DIRECTORY is results/<experiment>, with tables/ inside.

    Example: flowsweep query thresholds results/demo --format csv

    `flowsweep columns NAME` says what its columns mean.

    A query that the experiment cannot answer prints its header alone, and says why on stderr.

    With --against, the query `against` compares its points with those of another experiment:
    flowsweep query against results/grid --against results/cluster

    With --sql: the SQL from the Parquet files to the rows, for duckdb to run:
    flowsweep query thresholds results/demo --sql | duckdb
    """
    from flowsweep.warehouse import Warehouse, figures, script

    if list or name is None:
        print(_names())
        return
    if directory is None:
        raise FlowsweepError(
            f"flowsweep query {name}: the folder of the results is missing",
            expected="results/<experiment>",
            remedy=f"flowsweep query {name} results/demo",
        )
    warehouse = Warehouse(directory, against=against)
    if sql:
        printing.exact(script.write_script(warehouse, name))
        return
    rows = warehouse.rows(name)
    if rows.is_empty():
        why = warehouse.lack(name) or "nothing in the tables answers it"
        print(f"note: {name} has no rows: {why}", file=sys.stderr)
    rows = _select(rows, columns, limit)
    if output_format == "csv":
        printing.exact(rows.write_csv())
    elif output_format == "json":
        printing.exact(rows.write_json() + "\n")
    else:
        from flowsweep.render.terminal import rows as terminal

        described = figures.read_description(warehouse.catalog.folder, name)
        terminal.print_rows(rows, first=described.get("narrow") or described.get("show", ()))


def _select(rows: pl.DataFrame, columns: str | None, limit: int | None) -> pl.DataFrame:
    """Returns the requested columns and rows."""
    names = rows.columns if columns is None else [name.strip() for name in columns.split(",")]
    for name in names:
        if name not in rows.columns:
            near = difflib.get_close_matches(name, rows.columns, n=1)
            raise FlowsweepError(
                f"--columns: there is no column {name}",
                found=columns,
                expected=f"some of {', '.join(rows.columns)}",
                remedy=f"did you mean {near[0]}?" if near else None,
            )
    if limit is not None and limit < rows.height:
        print(f"note: {limit:,} of {counted(rows.height, 'row')}", file=sys.stderr)
        rows = rows.head(limit)
    return rows.select(list(dict.fromkeys(names)))
