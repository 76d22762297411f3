"""Points of the sweep as rows of a figure: their names, and which are drawn."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from flowsweep import numbers
from flowsweep.experiment import axes
from flowsweep.render import cuts

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from flowsweep.experiment.axis import Column
    from flowsweep.render.figure import Context

MAX_ROWS = 24
#: Width of a letter in an axis label, pixels; a little more than Arial's mean at 12 px.
LETTER = 6.4

#: The columns of the axes in the rows of a query.
COLUMNS = axes.names_in_points()


_WRITERS: dict[str, Callable[[Any], str]] = {
    "estimate": numbers.estimate,
    "plain": numbers.plain,
    "size": numbers.size,
    "share": numbers.chosen_share,
    "text": str,
}


def write_value(column: Column, value: Any) -> str:
    """Formats a value of an axis, without the words around it in the name of a point."""
    return f"{value:,.0f}" if column.number == "count" else _WRITERS[column.number](value)


def words(column: Column) -> Callable[[Any], str]:
    """Returns the function that words a value of an axis in the name of a point."""
    if column.number == "count":
        return lambda value: column.words.format(numbers.plural(int(value), column.noun))
    write = _WRITERS[column.number]
    return lambda value: column.words.format(write(value))


# The requested value decides whether an axis varies; the measured one is printed. The queue is left
# out, because it follows from RTT and rate in most sweeps.
AXES = tuple(
    (column.asked, column.shown, words(column))
    for column in axes.columns()
    if column.asked != "queue_bytes"
)
UNSET = {column.asked: column.unset for column in axes.columns() if column.unset is not None}


def labels(rows: pl.DataFrame) -> list[str]:
    """Returns a name for each point of one application: the axes that vary, as measured.

    The queue is named only if nothing else distinguishes two points.
    """
    varied = [axis for axis in AXES if rows[axis[0]].n_unique() > 1]
    # The number of ranks says more than ranks per host, if the two change together.
    fewer = [axis for axis in varied if axis[0] != "ranks_per_host"]
    if any(axis[0] == "ranks" for axis in varied):
        pairs = rows.select("ranks", "ranks_per_host").n_unique()
        varied = fewer if pairs == rows["ranks"].n_unique() else varied
    names = [_name(row, varied) or _name_alone(row) for row in rows.iter_rows(named=True)]
    queues = list(zip(names, rows["queue_bytes"], strict=True))
    several = Counter(name for name, _ in set(queues))
    names = [
        f"{name} · {numbers.size(queue)} queue" if several[name] > 1 else name
        for name, queue in queues
    ]
    # Two points with equal measurements stay two rows.
    return [
        f"{name} ({names[:place].count(name) + 1})" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]


def _name(row: dict[str, Any], varied: list[Any]) -> str:
    parts = []
    for asked, measured, write in varied:
        value = row[measured]
        parts.append(
            UNSET.get(asked, f"{asked.replace('_', ' ')} unset") if value is None else write(value)
        )
    return " · ".join(parts)


def _name_alone(row: dict[str, Any]) -> str:
    """Names the only point of an application; captures alone have the name of their run."""
    run = row.get("run")
    return "all runs" if run is None or run != row.get("app") else str(run)


def choose_drawn(rows: pl.DataFrame) -> pl.DataFrame:
    """Chooses at most `MAX_ROWS` points, evenly; the first, the baseline, is among them."""
    return rows[cuts.choose_evenly(rows.height, MAX_ROWS)]


def width(names: list[str]) -> int:
    """Returns the width in pixels of these names beside an axis."""
    return round(max(map(len, names)) * LETTER) + 8


def note_left_out(frames: list[pl.DataFrame], query: str) -> str | None:
    """States how many points are drawn, if not all are."""
    total = sum(frame.height for frame in frames)
    shown = sum(min(frame.height, MAX_ROWS) for frame in frames)
    return cuts.describe(shown, total, "points are drawn", query)


def choose_extremes(context: Context, app: str, problem: str, most: int) -> list[int]:
    """Chooses the points of one application for a figure of few panels.

    The baseline comes first, then the ends of each line that varies one axis, hard ends first.

    Args:
        context: Provides the lines of the sweep.
        app: The application.
        problem: Its parameters.
        most: The most points to return.

    Returns:
        Numbers of points.
    """
    import polars as pl

    every = context.model("points").filter(
        pl.col("app") == app, pl.col("problem") == problem, pl.col("beside_app").is_null()
    )
    found = every.filter("is_baseline")["point"].to_list()[:1]
    # Figures of traffic leave out the points of the line `beside`.
    lines = context.model("axis_points").filter(
        pl.col("app") == app,
        pl.col("problem") == problem,
        ~pl.col("axis").is_in(["problem", "beside"]),
    )
    ends: list[list[int]] = [[], []]
    for axis in axes.AXES:
        axis_lines = lines.filter(pl.col("axis") == axis)
        for _, line in axis_lines.group_by("unit", maintain_order=True):
            # A point without a value has no limit: it is the mild end of its axis.
            along = line.sort(pl.col("x") * pl.col("mildness"), nulls_last=False)["point"]
            ends[0].append(along[-1])
            ends[1].append(along[0])
    for point in [*ends[0], *ends[1]]:
        if point not in found:
            found.append(point)
    # There may be no line, as when every point but the baseline differs from it in two axes.
    rest = [point for point in every["point"].to_list() if point not in found]
    return (found if len(found) > 1 else found + rest[-1:])[:most]
