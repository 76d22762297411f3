"""Table `side_by_side`: the effect of a variant, of one cluster, of an application beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowsweep.experiment.axes import AXES
from flowsweep.render import outcome_words
from flowsweep.render.tables import (
    application,
    cut_note,
    figures,
    ordered,
    ratio_columns,
    table,
    words,
)

if TYPE_CHECKING:
    from markupsafe import Markup

    from flowsweep.render.figure import Context

MAX_ROWS = 60
TIMES = ("completion_s", "reference_s")


def draw(context: Context) -> Markup | None:
    """Makes a row for each name and point."""
    every = ordered(context, context.rows("side_by_side"))
    rows = every[:MAX_ROWS]
    if not rows:
        return None
    is_mixed = outcome_words.has_others(row["outcome"] for row in rows)
    unit, own, its = ("", "value", "reference_value") if is_mixed else (" (s)", *TIMES)
    columns = [
        application(context, rows, once=True, brief=True),
        *([words("outcome", rows, lambda row: outcome_words.noun(row["outcome"]))] * is_mixed),
        words("with", rows, _with),
        words("beside", rows, lambda row: row["beside"]),
        figures("value" if is_mixed else "time (s)", [row[own] for row in rows]),
        figures(f"beside{unit}", [row[its] for row in rows]),
        *ratio_columns(rows, "reference_runs"),
    ]
    return table("side_by_side", columns) + cut_note(len(rows), len(every), "side_by_side")


def _with(row: dict[str, Any]) -> str:
    """Returns the name as in the labels of points."""
    column = AXES[row["axis"]].columns[0]
    if row["name"] is None:
        return column.unset or "unset"
    return column.words.format(row["name"])
