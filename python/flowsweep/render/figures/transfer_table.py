"""Table `transfer_table`: seconds for a message against latency, loss and jitter."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup

from flowsweep import numbers
from flowsweep.render.figures.transfer_errors import (
    OTHER_HEADS,
    OTHER_KEYS,
    hide_stated_problems,
)
from flowsweep.render.tables import (
    Column,
    cut_note,
    key_columns,
    table,
)

if TYPE_CHECKING:
    from flowsweep.render.figure import Context

    Row = dict[str, Any]
#: Classes of the heat table are doublings of the smallest time.
CLASSES = 7


def draw(context: Context) -> Markup | None:
    """Makes a row per loss or jitter, a column per latency: seconds for a message."""
    frame = context.rows("transfer_table")
    if frame.is_empty():
        return None
    frame = hide_stated_problems(frame)
    latencies = sorted(set(frame["latency_ms"]))
    # The queue follows from the latency; the note below counts cells that differ in it alone.
    keys = ["message_mb", "rate_asked_mbit_s", *OTHER_KEYS, "loss_percent", "jitter_ms"]
    known = frame.with_columns(pl.col("jitter_ms").fill_null(0))
    rows = known.select(keys).unique(maintain_order=True).rows()
    cells = {
        (tuple(row[key] for key in keys), row["latency_ms"]): row["transfer_s"]
        for row in known.iter_rows(named=True)
    }
    least = {
        size: min(value for (key, _), value in cells.items() if key[0] == size)
        for size in {row[0] for row in rows}
    }
    heads = (
        ("MB", numbers.plain),
        ("Mbit/s", numbers.plain),
        *OTHER_HEADS,
        ("loss (%)", numbers.plain),
        ("jitter (ms)", numbers.plain),
    )
    columns = key_columns(rows, heads, always=("MB", "loss (%)", "jitter (ms)"))
    columns += [
        Column(
            f"{numbers.plain(latency)} ms",
            [_heat(cells.get((row, latency)), least[row[0]]) for row in rows],
            spanner="seconds at an added latency of",
        )
        for latency in latencies
    ]
    return table("transfer_table", columns) + cut_note(len(cells), frame.height, "transfer_table")


def _heat(value: float | None, least: float) -> str:
    if value is None:
        return numbers.NONE
    place = min(1 + math.floor(math.log2(max(value / least, 1)) + 1e-9), CLASSES)
    return Markup('<span class="heat heat-{}">{}</span>').format(place, numbers.estimate(value))
