"""Prints tables of the report without a drawing of their own: the rows of the query."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl
from markupsafe import Markup

from flowsweep import numbers
from flowsweep.render.tables import Column, cut_note, figures, table

if TYPE_CHECKING:
    from flowsweep.render.figure import Context

MAX_ROWS = 60
#: Columns that are printed only if they distinguish rows.
KEYS = ("app", "problem")


def draw(context: Context, name: str, show: dict[str, str] | None = None) -> Markup | None:
    """Prints the first rows of a query, without columns that nothing fills, such as other axes.

    The columns of application and problem are left out if all rows have the same. In a report on
    captures alone, an application is a run.

    Args:
        context: Answers the query.
        name: The query.
        show: The columns to print and their heads; default: all under their own names. Shares are
            printed in percent where the head ends in "(%)". With braces several columns share a
            cell, "{value}|{low} to {high}": the text after the bar is the cell's second line,
            which is left out if one of its values is null.
    """
    rows = context.rows(name)
    if rows.is_empty():
        return None
    heads = show or {column: column.replace("_", " ") for column in rows.columns}
    if "app" in heads and context.stands_alone:
        heads = {**heads, "app": "run"}
    printed = rows.head(MAX_ROWS)
    columns = [
        _join_columns(printed, column, head) if "{" in column else _column(printed[column], head)
        for column, head in heads.items()
        if "{" in column or (_is_filled(rows[column]) and _tells_apart(rows, column))
    ]
    return table(name, columns) + cut_note(printed.height, rows.height, name)


def _is_filled(values: pl.Series) -> bool:
    filled = values.drop_nulls()
    return not filled.is_empty() and bool((filled.cast(pl.String) != "").any())


def _tells_apart(rows: pl.DataFrame, column: str) -> bool:
    return column not in KEYS or rows.height == 1 or rows[column].n_unique() > 1


def _join_columns(rows: pl.DataFrame, pattern: str, head: str) -> Column:
    """Makes a column whose cells join several columns."""
    names = list(dict.fromkeys(re.findall(r"{(\w+)}", pattern)))
    # A value has as many digits as the ends of its interval, so that they can be compared.
    has_interval = "} to {" in pattern
    printed = {
        name: list(map(numbers.estimate, rows[name]))
        if has_interval
        else _column(rows[name], head).cells
        for name in names
    }
    first, _, second = pattern.partition("|")
    cells: list[str] = []
    for place, row in enumerate(rows.rows(named=True)):
        texts = {name: printed[name][place] for name in names}
        lines = [
            "" if any(row[name] in (None, "") for name in names if f"{{{name}}}" in part) else part
            for part in (first, second)
        ]
        cell, small = (part.format(**texts).strip() for part in lines)
        cells.append(
            Markup("{}<small>{}</small>").format(cell, small) if small else cell or numbers.NONE
        )
    return Column(head, cells, is_number=rows[names[0]].dtype.is_numeric())


def _column(values: pl.Series, head: str) -> Column:
    if head.endswith("(%)"):
        values = values * 100
    is_count = values.name.endswith("_packets") and (values.floor() == values).all()
    if values.dtype.is_float() and not is_count:
        return figures(head, values.to_list())
    if values.dtype.is_numeric():
        return Column(head, [numbers.NONE if one is None else f"{one:,.0f}" for one in values])
    if values.dtype == pl.Boolean:
        return Column(head, [numbers.TRUTH[one] for one in values], is_number=False)
    cells = [numbers.NONE if one is None else str(one) for one in values]
    return Column(head, cells, is_number=False)
