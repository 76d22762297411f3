"""Table `transfer_errors`: measured message times compared with the UKLight paper's."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup

from flowsweep import numbers
from flowsweep.experiment import axes
from flowsweep.render.tables import Column, key_columns, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowsweep.render.figure import Context

    Row = dict[str, Any]


def _text(value: str | None) -> str:
    return numbers.NONE if value is None else value


_WRITERS: dict[str, Callable[[Any], str]] = {"size": numbers.size, "text": _text}
# Axes that have a column or a heading of their own. The others define the rows; the columns are
# latencies.
_OWN = ("rtt", "rate", "queue", "loss", "jitter")
_OTHERS = [column for axis in axes.in_points() if axis.name not in _OWN for column in axis.columns]
OTHER_KEYS = ("app", "problem", *(column.asked for column in _OTHERS))
KEYS = ("message_mb", *OTHER_KEYS, "loss_percent", "jitter_ms")
#: Columns for `OTHER_KEYS`, which are printed only if they vary.
OTHER_HEADS: tuple[tuple[str, Callable[[Any], str]], ...] = (
    ("application", _text),
    ("problem", _text),
    *((column.head, _WRITERS.get(column.number, numbers.plain)) for column in _OTHERS),
)


def hide_stated_problems(frame: pl.DataFrame) -> pl.DataFrame:
    """Blanks the problems if the message size determines them."""
    problems = frame.group_by("message_mb").agg(pl.col("problem").n_unique())["problem"]
    return frame.with_columns(problem=pl.lit("")) if problems.max() == 1 else frame


def draw(context: Context) -> Markup | None:
    """Makes a row per loss or jitter: error of each cell, measured seconds below."""
    frame = context.rows("transfer_errors")
    if frame.is_empty():
        return None
    frame = hide_stated_problems(frame)
    latencies = sorted(set(frame["latency_ms"]))
    rows = frame.select(KEYS).unique(maintain_order=True).rows()
    cells = {
        (tuple(row[key] for key in KEYS), row["latency_ms"]): row
        for row in frame.iter_rows(named=True)
    }
    heads = (
        ("MB", numbers.plain),
        *OTHER_HEADS,
        ("loss (%)", numbers.plain),
        ("jitter (ms)", numbers.plain),
    )
    columns = key_columns(rows, heads, always=("MB", "loss (%)", "jitter (ms)"))
    columns += [
        Column(
            f"{numbers.plain(latency)} ms",
            [_cell(cells.get((row, latency))) for row in rows],
            spanner="error at an added latency of",
        )
        for latency in latencies
    ]
    columns += [
        Column(
            "one way",
            [
                _describe_median(
                    [one for (key, _), one in cells.items() if key == row], "one_way_error"
                )
                for row in rows
            ],
        ),
        Column(
            "as stated",
            [
                _describe_range([one for (key, _), one in cells.items() if key == row])
                for row in rows
            ],
        ),
    ]
    return table("transfer_errors", columns)


def heading(context: Context) -> str:
    """States the errors of the cells that nothing was fitted to."""
    rows = context.rows("transfer_errors").rows(named=True)
    others = [abs(row["error"]) for row in rows if not row["is_chosen_on"]]
    if not others:
        return "Beside the published times: the row that base RTT and window were fitted to"
    return (
        f"Beside the published times: of {numbers.plural(len(others), 'cell')} that nothing was "
        f"fitted to, the median error is {numbers.share(median(others))}, the largest "
        f"{numbers.share(max(others))}"
    )


def _cell(row: Row | None) -> str:
    if row is None:
        return numbers.NONE
    error = "fitted" if row["is_chosen_on"] else numbers.estimate(row["transfer_s"]) + " s"
    return Markup("{}<small>{}</small>").format(numbers.change(row["error"]), error)


def _describe_median(rows: list[Row], key: str) -> str:
    """Returns the median over a row of the table, or none for one without loss and jitter."""
    known = [row[key] for row in rows if row[key] is not None]
    plain = not rows[0]["loss_percent"] and not rows[0]["jitter_ms"]
    return numbers.NONE if plain or not known else numbers.change(median(known))


def _describe_range(rows: list[Row]) -> str:
    """Returns the range of the errors against values that the paper states, over a row."""
    known = sorted(row["stated_error"] for row in rows if row["stated_error"] is not None)
    if not known:
        return numbers.NONE
    low, high = numbers.change(known[0]), numbers.change(known[-1])
    return low if low == high else f"{low} to {high}"
