"""Table `totals`: traffic of the shown host per point of the sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from flowsweep import numbers
from flowsweep.experiment import axes
from flowsweep.render import doubts, outcome_words, points, totals_alone
from flowsweep.render.tables import (
    Column,
    application,
    figures,
    ordered,
    shown_host,
    table,
    words,
)

if TYPE_CHECKING:
    from flowsweep.experiment import axis
    from flowsweep.render.figure import Context

    Row = dict[str, Any]

CHANGE_NOTED = 0.2
#: RTT and rate have columns of their own, and the queue follows from them in most sweeps.
OTHER_AXES = [column for column in axes.columns() if column.head not in ("RTT", "rate", "queue")]


def draw(context: Context) -> Markup | None:
    """Makes a row per point of the sweep: traffic of the shown host."""
    rows = ordered(context, context.rows("totals"))
    if not rows or all(row["all_mb"] is None for row in rows):
        return None
    if context.stands_alone:
        return totals_alone.draw(context, rows)
    several = len(context.series) > 1
    hosts = {row["host"] for row in rows}
    columns = [application(context, rows, once=True, brief=True)] if several else []
    columns += [
        Column(
            "point",
            ["baseline" if row["is_baseline"] else "" for row in rows],
            is_number=False,
        ),
        figures("RTT (ms)", [row["rtt_ms"] for row in rows]),
        figures("rate (Mbit/s)", [row["rate_mbit_s"] for row in rows]),
    ]
    columns += [_axis(column, rows) for column in OTHER_AXES if _is_varied(column.shown, rows)]
    # the queue gets a column only if nothing else distinguishes two points
    settings = {tuple(row[name] for _, name, _ in points.AXES) for row in rows}
    if len(settings) < len(
        {(*(row[name] for _, name, _ in points.AXES), row["queue_bytes"]) for row in rows}
    ):
        columns.append(Column("queue", [numbers.size(row["queue_bytes"]) for row in rows]))
    if len(hosts) > 1:
        columns.append(words("host shown", rows, lambda row: row["host"] or numbers.NONE))
    host = shown_host(context)
    for direction, key in ((f"into {host}", "in"), (f"out of {host}", "out")):
        columns += [
            figures("MB", [row[f"{key}_mb"] for row in rows], direction),
            figures("Mbit/s", [row[f"{key}_mbit_s"] for row in rows], direction),
        ]
    spanner = "all hosts"
    columns += [
        figures("MB", [row["all_mb"] for row in rows], spanner),
        Column("data", [_change(row["data_change"], row) for row in rows], spanner=spanner),
        Column("packets", [numbers.count(row["all_packets"]) for row in rows], spanner=spanner),
        *(
            [figures("time (s)", [row["completion_s"] for row in rows])]
            if outcome_words.is_timed(context)
            else []
        ),
        Column("runs", [numbers.count(row["runs_used"]) for row in rows]),
    ]
    return table("totals", columns)


def _is_varied(name: str, rows: list[Row]) -> bool:
    return len({row[name] for row in rows}) > 1


def _axis(column: axis.Column, rows: list[Row]) -> Column:
    """Makes the column of an axis other than RTT and rate."""
    values = [row[column.shown] for row in rows]
    cells = [
        numbers.NONE if value is None else points.write_value(column, value) for value in values
    ]
    is_plain = column.number in ("plain", "estimate")
    return Column(f"{column.head} ({column.unit})" if is_plain else column.head, cells)


def _change(value: float | None, row: Row) -> str:
    if row["is_baseline"]:
        return numbers.NONE
    text = numbers.change(value)
    noted = value is not None and abs(value) > CHANGE_NOTED
    return Markup("<b>{}</b>").format(text) if noted else text


def note(context: Context) -> str | None:
    """States which runs are left out of the traffic, and which captures are in doubt."""
    guessed = None if context.stands_alone else doubts.note_guessed(context)
    parts = [doubts.note_accompanied(context), doubts.note_traffic(context), guessed]
    return " ".join(part for part in parts if part) or None
