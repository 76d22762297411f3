"""The data dictionary: the meaning of every column of the tables and queries."""

from __future__ import annotations

import difflib

from flowsweep import _parsers
from flowsweep.critical_path import columns as critical_path
from flowsweep.errors import FlowsweepError

#: The fields that describe a column.
HEADER = ("column", "type", "unit", "meaning", "source")
Row = tuple[str, str | None, str | None, str, str | None]


def names() -> list[str]:
    """Lists tables of captures, tables of matched captures, the critical path, then queries."""
    return [*table_names(), *_queries()]


def columns(name: str) -> list[Row]:
    """Returns the columns of a table or query in order, each with the fields of `HEADER`.

    A query's columns have their unit in `meaning`.

    Raises:
        FlowsweepError: No table or query has this name.
    """
    if name == critical_path.NAME:
        return [
            (column, kind, unit, meaning, None)
            for column, (kind, unit, meaning) in critical_path.COLUMNS.items()
        ]
    if name in table_names():
        return [
            (column, kind, unit or None, meaning, source or None)
            for column, kind, _, unit, meaning, source in _parsers.columns(name)
        ]
    if name in _queries():
        from flowsweep.warehouse import figures, reports_folder

        described = figures.read_description(reports_folder(), name).get("columns", {})
        return [(column, None, None, meaning, None) for column, meaning in described.items()]
    near = difflib.get_close_matches(name, names(), n=1, cutoff=0.4)
    raise FlowsweepError(
        f'no table or query is called "{name}"',
        remedy=f"did you mean {near[0]}?" if near else "flowsweep columns lists them",
    )


def table_names() -> list[str]:
    """Lists the tables that `flowsweep ingest` writes, including those of `match`."""
    return [*_parsers.tables(), *_parsers.matched_tables(), critical_path.NAME]


def _queries() -> list[str]:
    from flowsweep.warehouse import figure_names

    return figure_names()
