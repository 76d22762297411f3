"""Table `completion_by_problem`: time and traffic against the size of the problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowsweep import numbers
from flowsweep.render import doubts
from flowsweep.render.tables import (
    Column,
    figures,
    ordered,
    table,
    words,
)

if TYPE_CHECKING:
    from markupsafe import Markup

    from flowsweep.render.figure import Context

    Row = dict[str, Any]


def draw(context: Context) -> Markup | None:
    """Makes a row for each problem, with its time and traffic, if there are several."""
    rows = ordered(context, context.rows("completion_by_problem"))
    if not rows:
        return None
    return table(
        "completion_by_problem",
        [
            words("application", rows, lambda row: row["app"]),
            words("problem", rows, lambda row: row["problem"]),
            figures("time (s)", [row["completion_s"] for row in rows]),
            figures("traffic (MB)", [row["traffic_mb"] for row in rows]),
            figures("Mbit/s", [row["mbit_s"] for row in rows]),
            Column("packets", [numbers.count(row["packets"]) for row in rows]),
            Column("runs", [numbers.count(row["runs_used"]) for row in rows]),
        ],
    )


def note(context: Context) -> str | None:
    """States which captures behind the traffic are in doubt."""
    return doubts.note_traffic(context)
