"""Table `goodput`: how fast transfers are, by transport, source and target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowsweep import numbers
from flowsweep.render.point_rows import kept_rows, labelled_rows
from flowsweep.render.tables import Column, application, cut_note, figures, table, words

if TYPE_CHECKING:
    from markupsafe import Markup

    from flowsweep.render.figure import Context

    Row = dict[str, Any]

NAME = "goodput"
#: Columns that distinguish the transfers of a point.
KINDS = ["transport", "source", "target", "is_both_ways", "has_tcp_beside"]


def draw(context: Context) -> Markup | None:
    """Makes a row for each kind of transfer at a point, with its share of the link."""
    frame = context.rows(NAME)
    if frame.is_empty():
        return None
    found = labelled_rows(context, frame, KINDS)
    rows = kept_rows(found)
    columns = [
        application(context, rows, once=True, brief=True),
        words("point", rows, lambda row: row["point"]),
        words("transfers", rows, _kind),
        figures("median", [row["goodput_mbit_s"] for row in rows], "Mbit/s"),
        figures("least", [row["goodput_mbit_s_min"] for row in rows], "Mbit/s"),
        figures("most", [row["goodput_mbit_s_max"] for row in rows], "Mbit/s"),
        Column("of link", [numbers.share(row["link_share"]) for row in rows]),
    ]
    return table(NAME, columns) + cut_note(len(rows), len(found), NAME)


def _kind(row: Row) -> str:
    """Returns `tcp, disk to memory, both ways, TCP beside`."""
    parts = [row["transport"], f"{row['source']} to {row['target']}"]
    parts += ["both ways"] if row["is_both_ways"] else []
    parts += ["TCP beside"] if row["has_tcp_beside"] else []
    return ", ".join(parts)
