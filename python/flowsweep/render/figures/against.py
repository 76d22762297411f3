"""Table `against`: this experiment and another one, point by point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowsweep.render import differences, outcome_words
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

    Row = dict[str, Any]

MAX_ROWS = 60
TIMES = ("completion_s", "other_s")


def draw(context: Context) -> Markup | None:
    """Makes a row for each point that both have."""
    every = context.rows("against")
    shared = ordered(context, every.filter(every["side"] == "both"))
    rows = shared[:MAX_ROWS]
    if not rows:
        return None
    is_mixed = outcome_words.has_others(row["outcome"] for row in rows)
    unit, own, its = ("", "value", "other_value") if is_mixed else (" (s)", *TIMES)
    columns = [
        application(context, rows, once=True, brief=True),
        *([words("outcome", rows, lambda row: outcome_words.noun(row["outcome"]))] * is_mixed),
        words("point", rows, lambda row: row["label"]),
        figures(f"here{unit}", [row[own] for row in rows]),
        figures(f"there{unit}", [row[its] for row in rows]),
        *ratio_columns(rows, "other_runs"),
    ]
    return table("against", columns) + cut_note(len(rows), len(shared), "against")


def note(context: Context) -> str:
    """States what was found, and which points only one of the two has."""
    return " ".join(differences.sentences(context.rows("against").rows(named=True)))
