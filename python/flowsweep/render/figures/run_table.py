"""Table `run_table`: each run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.render import outcome_words
from flowsweep.render.tables import (
    Column,
    badge,
    choose_listed,
    cut_note,
    figures,
    table,
    words,
)

if TYPE_CHECKING:
    from markupsafe import Markup

    from flowsweep.render.figure import Context

    Row = dict[str, Any]

STATUS_CLASS = {"valid": "ok", "invalid": "note", "failed": "bad"}


def draw(context: Context) -> Markup | None:
    """Makes a row per run, in the order in which they were made."""
    every = context.rows("run_table").rows(named=True)
    if not every:
        return None
    rows = choose_listed(every, _is_fine)
    columns = [
        words("run", rows, lambda row: row["run"]),
        Column("status", [_status(row) for row in rows], is_number=False),
    ]
    if context.stands_alone:
        # No axis was named, and nothing is compared.
        columns += [
            figures("time (s)", [row["completion_s"] for row in rows]),
            Column("reason", [_reason(row) for row in rows], is_number=False),
        ]
        note = cut_note(len(rows), len(every), "run_table")
        return table("runs", columns, fine=list(map(_is_fine, rows))) + note
    columns += [
        Column("asked", [numbers.plain(row["rtt_asked_ms"]) for row in rows], spanner="RTT (ms)"),
        figures("measured", [row["rtt_measured_ms"] for row in rows], "RTT (ms)"),
        Column(
            "asked",
            [numbers.plain(row["rate_asked_mbit_s"]) for row in rows],
            spanner="rate (Mbit/s)",
        ),
        figures("measured", [row["rate_measured_mbit_s"] for row in rows], "rate (Mbit/s)"),
    ]
    if any(row["buffer_bytes"] for row in rows):
        columns.append(Column("buffer", [numbers.size(row["buffer_bytes"]) for row in rows]))
    if outcome_words.is_timed(context):
        columns += [
            figures("time (s)", [row["completion_s"] for row in rows]),
            Column(
                "÷ baseline",
                [
                    numbers.fixed(row["slowdown"], 2)
                    if row["is_used"] and row["slowdown"] is not None
                    else numbers.NONE
                    for row in rows
                ],
            ),
        ]
    columns += [
        Column("reason", [_reason(row) for row in rows], is_number=False),
    ]
    note = cut_note(len(rows), len(every), "run_table")
    return table("runs", columns, fine=list(map(_is_fine, rows))) + note


def _is_fine(row: Row) -> bool:
    return bool(row["status"] == "valid")


def _status(row: Row) -> Markup:
    if row["is_warmup"]:
        return badge("warm-up", "muted")
    return badge(row["status"], STATUS_CLASS.get(row["status"]))


def _reason(row: Row) -> str:
    if row["reason"]:
        return str(row["reason"])
    return "not counted: warm-up" if row["is_warmup"] else ""


def heading(context: Context) -> str:
    """States how many runs are used, and what became of the others."""
    rows = context.rows("run_table").filter(~pl.col("is_warmup"))
    if context.stands_alone:
        return f"{numbers.plural(rows.height, 'run')}, each by itself"
    used = rows.filter("is_used").height
    traffic = rows.filter(pl.col("is_traffic_used") & ~pl.col("is_used")).height
    if not rows.height:
        return "No run but warm-ups"
    if used == rows.height:
        return "The only run counts" if used == 1 else f"All {numbers.count(used)} runs count"
    rest = rows.filter(~pl.col("is_traffic_used") & ~pl.col("is_used"))
    status = rest.group_by("status").len().sort("status")
    parts = [f"{numbers.count(number)} {name}" for name, number in status.iter_rows()]
    if traffic:
        lacks = "a completion time" if outcome_words.is_timed(context) else "an outcome"
        parts.insert(0, f"{numbers.count(traffic)} for traffic alone, without {lacks}")
        if not used:
            return f"{numbers.plural(rows.height, 'run')}: {', '.join(parts)}"
    verb = "counts" if 1 in (used, rows.height) else "count"
    counted = f"{numbers.count(used)} of {numbers.plural(rows.height, 'run')}"
    return f"{counted} {verb}: {', '.join(parts)}"
