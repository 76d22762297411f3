"""`flowsweep columns`: prints the meaning of each column of a table or query."""

from __future__ import annotations

import json
import shutil
import textwrap

from flowsweep import printing
from flowsweep.cli.arguments import Parser, add_format

#: Spaces before the meaning of a column.
INDENT = " " * 4


def arguments(parser: Parser) -> None:
    """Adds the options and arguments of this command."""
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="A table, such as flows, or a query of the report."
    )
    add_format(parser, "text", "json")


def columns(*, name: str | None, output_format: str) -> None:
    """Explain each column of a table or query: its meaning, type, unit and source.

    Without NAME: the names of all tables and queries.

    Example: flowsweep columns flows
    """
    from flowsweep import dictionary

    if name is None:
        names = dictionary.names()
        if output_format == "json":
            printing.exact(json.dumps(names) + "\n")
        else:
            print("\n".join(names))
        return
    rows = dictionary.columns(name)
    if output_format == "json":
        found = [dict(zip(dictionary.HEADER, row, strict=True)) for row in rows]
        printing.exact(json.dumps(found, indent=2) + "\n")
        return
    width = min(100, shutil.get_terminal_size().columns)
    for column, kind, unit, meaning, source in rows:
        about = ", ".join(part for part in (kind, unit) if part)
        print(f"{column}  ({about})" if about else column)
        text = f"{meaning} [{source}]" if source else meaning
        print(textwrap.fill(text, width, initial_indent=INDENT, subsequent_indent=INDENT))
