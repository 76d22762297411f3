"""Makes HTML tables from columns, and the columns that several tables share.

A cell is text, which is escaped, or `Markup`, which is not: a function that makes HTML returns
`Markup`. reports/table.html.j2 arranges the cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from flowsweep import content, numbers
from flowsweep.render import cuts, templates

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from flowsweep.render.figure import Context

    Row = dict[str, Any]

GRADE_CLASS = {"A": "ok", "B": "ok", "C": "note", "D": "bad", numbers.NONE: "muted"}
#: Longer descriptions of a problem are cut; the run table and the rows have all of it.
MAX_PROBLEM = 60
#: The most rows of tables with a row for each run or capture.
MAX_LISTED = 1_000


@dataclass(frozen=True)
class Column:
    """One column: its head and its cells, text or `Markup`."""

    head: str
    cells: Sequence[str]
    is_number: bool = True
    spanner: str | None = None


def table(name: str, columns: Sequence[Column], fine: Sequence[bool] = ()) -> Markup:
    """Returns the `<table>` element of some columns.

    Args:
        name: Its id, without the suffix `-table`.
        columns: The columns from left to right.
        fine: Whether each row says nothing special; such rows are not printed on paper.
    """
    return templates.fill(
        content.folder("reports"),
        "table.html.j2",
        id=f"{name}-table",
        columns=columns,
        groups=_groups(columns),
        rows=[
            (bool(is_fine), cells)
            for cells, is_fine in zip_longest(
                zip(*(column.cells for column in columns), strict=True), fine, fillvalue=False
            )
        ],
    )


def _groups(columns: Sequence[Column]) -> list[tuple[str | None, list[Column]]]:
    """Groups columns by spanner; columns without one are alone."""
    groups: list[tuple[str | None, list[Column]]] = []
    for column in columns:
        if column.spanner and groups and groups[-1][0] == column.spanner:
            groups[-1][1].append(column)
        else:
            groups.append((column.spanner, [column]))
    return groups


def choose_listed(rows: Sequence[Row], is_fine: Callable[[Row], bool]) -> list[Row]:
    """Keeps at most `MAX_LISTED` rows, in order; prefers those that say something special."""
    by_need = sorted(range(len(rows)), key=lambda at: is_fine(rows[at]))
    return [rows[at] for at in sorted(by_need[:MAX_LISTED])]


def cut_note(shown: int, total: int, query: str) -> Markup:
    """Returns a line below a table that does not show all rows; empty if it does."""
    note = cuts.describe(shown, total, "rows", query)
    return Markup('\n<p class="note">{}</p>').format(note) if note else Markup("")


def words(head: str, rows: Sequence[Row], make: Callable[[Row], str | None], **more: Any) -> Column:
    """Makes a column of text."""
    cells = [make(row) or numbers.NONE for row in rows]
    return Column(head, cells, is_number=False, **more)


def figures(head: str, values: Sequence[float | None], spanner: str | None = None) -> Column:
    """Makes a column of estimates with the same decimals."""
    return Column(head, numbers.column(list(values)), spanner=spanner)


def ratio_columns(rows: Sequence[Mapping[str, Any]], other_runs: str) -> list[Column]:
    """Makes columns of ratio, interval and runs on both sides; `other_runs` is one of `rows`."""
    intervals = [
        numbers.NONE
        if row["ratio_low"] is None
        else numbers.interval(row["ratio_low"], row["ratio_high"])
        for row in rows
    ]
    return [
        figures("ratio", [row["ratio"] for row in rows]),
        Column("95 % interval", intervals),
        Column("runs", [f"{row['runs_used']}, {row[other_runs]}" for row in rows]),
    ]


def key_columns(
    rows: Sequence[tuple[Any, ...]],
    heads: Sequence[tuple[str, Callable[[Any], str]]],
    always: Sequence[str],
) -> list[Column]:
    """Returns the columns that distinguish rows: those that vary, and those in `always`."""
    return [
        Column(
            head,
            [make(row[place]) for row in rows],
            is_number=not any(isinstance(row[place], str) for row in rows),
        )
        for place, (head, make) in enumerate(heads)
        if head in always or len({row[place] for row in rows}) > 1
    ]


def badge(text: str, kind: str | None) -> Markup:
    """Returns a status in words, coloured."""
    return Markup('<span class="badge {}">{}</span>').format(kind or "muted", text)


def data(name: str, frame: pl.DataFrame, limit: int) -> Markup:
    """Prints the first rows behind a figure, without columns that nothing fills."""
    head = frame.head(limit)
    filled = [one for one in frame.columns if frame[one].null_count() < frame.height]
    columns = []
    for column in filled:
        is_number = head[column].dtype.is_numeric()
        cells = [
            numbers.NONE
            if value is None
            else numbers.TRUTH[value]
            if isinstance(value, bool)
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
    """Makes the column with the name and colour of each row's application.

    Args:
        context: Provides the applications.
        rows: Rows of a query.
        once: Whether to name it only in the first of consecutive rows.
        brief: Whether to state only the part of the problem that differs from others.
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
    """Sorts rows into the report's order of applications, otherwise as they come."""
    order = {(one.app, one.problem): one.index for one in context.series}
    return sorted(frame.rows(named=True), key=lambda row: order[row["app"], row["problem"]])


def shown_host(context: Context) -> str:
    """Returns the host whose traffic is shown; in words if runs have different hosts."""
    hosts = context.model("shown_hosts")["host"].unique()
    return str(hosts[0]) if len(hosts) == 1 else "the host shown"


def grade(given: str | None) -> str:
    """Returns the grade of a capture, or a dash if it has none."""
    return numbers.NONE if given is None else badge(given, GRADE_CLASS.get(given))
