"""Table `axis_thresholds`: the loss, jitter, queue or buffer at which an outcome gets worse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowsweep import numbers
from flowsweep.outcome_names import word_level
from flowsweep.render import brackets, outcome_words
from flowsweep.render.tables import Column, application, ordered, table, words

if TYPE_CHECKING:
    from markupsafe import Markup

    from flowsweep.render.figure import Context

    Row = dict[str, Any]

#: Columns with values of the axis, their heads, and the head that spans them.
VALUES = {
    "low": ("from", "95 % interval"),
    "high": ("to", "95 % interval"),
    "easier": ("easier", "tried beside it"),
    "harder": ("harder", "tried beside it"),
}


def draw(context: Context) -> Markup | None:
    """Makes a row per threshold, with the tried values around it, in the units of the verdict."""
    frame = context.rows("axis_thresholds")
    if frame.is_empty():
        return None
    rows = ordered(context, frame)
    columns = [
        application(context, rows, once=True, brief=True),
        *(
            [words("outcome", rows, lambda row: outcome_words.noun(row["outcome"]))]
            if outcome_words.has_others(row["outcome"] for row in rows)
            else []
        ),
        words("axis", rows, lambda row: row["axis"]),
        Column("worse", [_level(row) for row in rows]),
        words("state", rows, lambda row: row["state"]),
        Column("limit", list(map(_limit, rows))),
    ]
    columns += [
        Column(head, [_value(row, column) for row in rows], spanner=spanner)
        for column, (head, spanner) in VALUES.items()
    ]
    return table("axis_thresholds", [*columns, words("reason", rows, lambda row: row["reason"])])


def note(context: Context) -> str | None:
    """States the limits that apply where more is better; None if it is for no outcome."""
    rows = context.rows("axis_thresholds").rows(named=True)
    return outcome_words.MORE_IS_BETTER if outcome_words.grows_better(rows) else None


def _level(row: Row) -> str:
    preposition = "to" if row["better"] == "more" else "by"
    return f"{preposition} {word_level(row['better'], row['level'])}"


def _limit(row: Row) -> str:
    is_known = row["estimate"] is not None and brackets.is_located(row)
    return brackets.estimate(row, row["unit"]) if is_known else numbers.NONE


def _value(row: Row, column: str) -> str:
    value = row[column]
    return numbers.NONE if value is None else numbers.quantity(value, row["unit"])
