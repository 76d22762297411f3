"""Table `outcomes`: what each run reported, a column for each outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowsweep.outcome_names import COMPLETION
from flowsweep.render.tables import Column, application, cut_note, figures, ordered, table, words

if TYPE_CHECKING:
    from markupsafe import Markup

    from flowsweep.render.figure import Context

    Row = dict[str, Any]

MAX_ROWS = 60
ARROWS = {"less": "↓", "more": "↑"}


def draw(context: Context) -> Markup | None:
    """Makes a row for each run; None if completion time is the only outcome."""
    rows = ordered(context, context.rows("outcomes"))
    if all(row["name"] == COMPLETION for row in rows):
        return None
    heads: dict[tuple[str, str, str], None] = {}
    values: dict[str, dict[tuple[str, str, str], float]] = {}
    runs: dict[str, Row] = {}
    for row in rows:
        key = (row["name"], row["unit"], row["better"])
        heads[key] = None
        runs.setdefault(row["run"], row)
        values.setdefault(row["run"], {})[key] = row["value"]
    shown = list(runs.values())[:MAX_ROWS]
    columns: list[Column] = [
        application(context, shown, once=True, brief=True),
        words("point", shown, lambda row: row["label"]),
        words("run", shown, lambda row: row["run"]),
    ]
    columns += [
        figures(_head(*key), [values[row["run"]].get(key) for row in shown]) for key in heads
    ]
    return table("outcomes", columns) + cut_note(len(shown), len(runs), "outcomes")


def _head(name: str, unit: str, better: str) -> str:
    suffix = f" ({unit})" if unit else ""
    return f"{name}{suffix} {ARROWS[better]}"
