"""Table `clocks`: the hosts whose clocks were far from most others' and are corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowsweep.render.tables import Column, cut_note, figures, table

if TYPE_CHECKING:
    from markupsafe import Markup

    from flowsweep.render.figure import Context

MAX_ROWS = 60


def draw(context: Context) -> Markup | None:
    """Makes a row for each host of a run whose times are corrected; None if there is none."""
    rows = context.rows("clocks").filter("is_put_right")
    if rows.is_empty():
        return None
    printed = rows.head(MAX_ROWS)
    columns = [
        Column("run", printed["run"].to_list(), is_number=False),
        Column("host", printed["host"].to_list(), is_number=False),
        Column("beside", printed["beside"].to_list(), is_number=False),
        Column("connections", [f"{count:,}" for count in printed["connections"]]),
        figures("ahead by (s)", (printed["offset_ms"] / 1e3).to_list()),
        figures("put back by (s)", (printed["put_back_ms"] / 1e3).to_list()),
    ]
    return table("clocks", columns) + cut_note(printed.height, rows.height, "clocks")
