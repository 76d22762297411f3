"""Columns of cells to HTML tables, and the columns that several tables share.

A cell is text, which is escaped, or `Markup`, which is not: a function that makes HTML returns
`Markup`. great_tables arranges the cells. Its own style sheet is dropped, the page styles its
classes once for all tables.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup, escape

from flowsweep import numbers
from flowsweep.render import cuts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flowsweep.render.figure import Context

    Row = dict[str, Any]

GRADE_CLASS = {"A": "ok", "B": "ok", "C": "note", "D": "bad", numbers.NONE: "muted"}
#: A longer description of a problem is cut; the run table and the rows have it whole.
MAX_PROBLEM = 60


@dataclass(frozen=True)
class Column:
    """One column: its head and its cells, text or `Markup`."""

    head: str
    cells: Sequence[str]
    is_number: bool = True
    spanner: str | None = None


def table(name: str, columns: Sequence[Column], fine: Sequence[bool] = ()) -> Markup:
    """The `<table>` element of some columns.

    Args:
        name: Prefix of its ids.
        columns: From left to right.
        fine: Rows that say nothing special; they are not printed on paper.
    """
    from great_tables import GT

    # great_tables escapes heads and spanners, and is told to leave these cells as they are.
    cells = [[str(escape(cell)) for cell in column.cells] for column in columns]
    frame = pl.DataFrame({f"c{index}": column for index, column in enumerate(cells)})
    names = frame.columns
    built = GT(frame, id=name).cols_label(
        {key: column.head for key, column in zip(names, columns, strict=True)}
    )
    built = built.fmt_passthrough(columns=names, escape=False)
    left = [key for key, column in zip(names, columns, strict=True) if not column.is_number]
    right = [key for key, column in zip(names, columns, strict=True) if column.is_number]
    if left:
        built = built.cols_align("left", columns=left)
    if right:
        built = built.cols_align("right", columns=right)
    for spanner in dict.fromkeys(column.spanner for column in columns if column.spanner):
        under = [
            key for key, column in zip(names, columns, strict=True) if column.spanner == spanner
        ]
        built = built.tab_spanner(label=spanner, columns=under)
    html: str = built.as_raw_html()
    text = html[html.index("<table") : html.index("</table>") + len("</table>")]
    text = re.sub(r"<table [^>]*>", f'<table class="gt_table" id="{name}-table">', text)
    # What `headers` and `rowspan="1"` say, the structure of a small table says too.
    text = re.sub(r' (?:headers="[^"]*"|(?:row|col)span="1")', "", text)
    text = re.sub(r"gt_columns_(?:bottom|top)_border ?|gt_column_spanner_outer", "", text)
    text = re.sub(r"\n\s*", "\n", text)
    head, begin, body = text.partition("<tbody")
    for is_fine in fine:
        mark = '<tr class="is-fine">' if is_fine else "<tr >"
        body = body.replace("<tr>", mark, 1)
    return Markup(head + begin + body.replace("<tr >", "<tr>"))  # noqa: S704 - cells are escaped


def cut_note(shown: int, total: int, query: str) -> Markup:
    """A line below a table that does not show all rows; nothing where it does."""
    said = cuts.told(shown, total, "rows", query)
    return Markup('\n<p class="note">{}</p>').format(said) if said else Markup("")


def words(head: str, rows: Sequence[Row], make: Callable[[Row], str | None], **more: Any) -> Column:
    """A column of text."""
    cells = [make(row) or numbers.NONE for row in rows]
    return Column(head, cells, is_number=False, **more)


def figures(head: str, values: Sequence[float | None], spanner: str | None = None) -> Column:
    """A column of estimates with the same decimals."""
    return Column(head, numbers.column(list(values)), spanner=spanner)


def key_columns(
    rows: Sequence[tuple[Any, ...]],
    heads: Sequence[tuple[str, Callable[[Any], str]]],
    always: Sequence[str],
) -> list[Column]:
    """Columns of what tells rows apart; but for those in `always`, only where it varies."""
    return [
        Column(head, [make(row[place]) for row in rows])
        for place, (head, make) in enumerate(heads)
        if head in always or len({row[place] for row in rows}) > 1
    ]


def badge(text: str, kind: str | None) -> Markup:
    """A status in words, coloured."""
    return Markup('<span class="badge {}">{}</span>').format(kind or "muted", text)


def data(name: str, frame: pl.DataFrame, limit: int) -> Markup:
    """The first rows behind a figure, as they are."""
    head = frame.head(limit)
    columns = []
    for column in head.columns:
        is_number = head[column].dtype.is_numeric()
        cells = [
            numbers.NONE
            if value is None
            else f"{value:.6g}"
            if isinstance(value, float)
            else str(value)
            for value in head[column]
        ]
        columns.append(Column(column, cells, is_number))
    return table(f"{name}-data", columns)


def application(
    context: Context, rows: Sequence[Row], *, once: bool = False, brief: bool = False
) -> Column:
    """Name and colour.

    Args:
        context: Knows the applications.
        rows: Rows of a query.
        once: Only in the first of several rows.
        brief: Of the problem only what tells it from others.
    """
    labels = {(one.app, one.problem): one for one in context.series}
    cells: list[str] = []
    before = None
    for row in rows:
        one = labels[row["app"], row["problem"]]
        if once and one == before:
            cells.append("")
            continue
        before = one
        problem = Markup("")
        name = one.label if brief else one.app
        if one.problem and not brief:
            short = one.problem[: MAX_PROBLEM - 1] + "…"
            fits = len(one.problem) <= MAX_PROBLEM
            problem = Markup(" <small>{}</small>").format(one.problem if fits else short)
        cells.append(
            Markup('<span class="app {}">{}</span>{}').format(one.css_class, name, problem)
        )
    return Column("application", cells, is_number=False)


def ordered(context: Context, frame: pl.DataFrame) -> list[Row]:
    """Rows in the report's order of applications, otherwise as they come."""
    order = {(one.app, one.problem): one.index for one in context.series}
    return sorted(frame.rows(named=True), key=lambda row: order[row["app"], row["problem"]])


def shown_host(context: Context) -> str:
    """The host whose traffic is shown; in words where runs have other hosts."""
    hosts = context.model("shown_hosts")["host"].unique()
    return str(hosts[0]) if len(hosts) == 1 else "the host shown"


def grade(given: str | None) -> str:
    """The grade of a capture, or a dash where it has none."""
    return numbers.NONE if given is None else badge(given, GRADE_CLASS.get(given))
