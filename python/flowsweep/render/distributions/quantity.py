"""A quantity whose distribution is drawn: its axes and its steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flowsweep.render import axes, charts

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

#: The ends of the axis of values, and the place of 0 on it, if there is one.
Span = tuple[float, float, float | None]
#: Room for the numbers of the shares axis, pixels.
LEFT = 30


@dataclass(frozen=True)
class Quantity:
    """A quantity, and how its distribution is drawn.

    Attributes:
        query: The query that returns the steps.
        column: Its column of values.
        title: Title of the axis of values, with the unit.
        counted: What the shares count, such as `flows`.
        parts: The column that divides the rows of a point into parts with panels of their own.
        labels: Label expression of the ticks.
        scale: Factor from units of the column to units of the axis.
    """

    query: str
    column: str
    title: str
    counted: str
    parts: str = "direction"
    labels: Callable[..., str] = axes.prefix_labels
    scale: float = 1.0


def log_ends(column: pl.Series) -> Span:
    """Returns the ends of the log axis, and the place of 0 on it, if there is one."""
    positive = column.filter(column > 0)
    if positive.is_empty():
        return 1.0, 10.0, 1.6
    least, most = float(positive.min()), float(positive.max())  # type: ignore[arg-type]
    low, high = least / 1.15, most * 1.15
    if high / low < 4:
        middle = math.sqrt(low * high)
        low, high = middle / 2, middle * 2
    if column.min() > 0:  # type: ignore[operator]
        return low, high, None
    band = (high / low) ** 0.2
    return low / band, high, low / math.sqrt(band)


def steps(rows: pl.DataFrame, quantity: Quantity, span: Span) -> list[dict[str, float]]:
    """Returns the steps of a distribution from just left of the axis to just right of it."""
    low, high, zero = span
    beside = (high / low) ** 0.02
    found = [{"x": low / beside, "y": 0.0, "low": 0.0, "high": 0.0}]
    for row in rows.sort(quantity.column).iter_rows(named=True):
        x = row[quantity.column] * quantity.scale
        found.append(
            {
                "x": x if x > 0 else zero or low,
                "y": row["share"] * 100,
                "low": row["share_low"] * 100,
                "high": row["share_high"] * 100,
            }
        )
    return [*found, found[-1] | {"x": high * beside}]


def x_axis(quantity: Quantity, span: Span, *, titled: bool, most_ticks: int) -> charts.Channel:
    """Returns the log axis of the values, with a place for 0 if `span` has one."""
    low, high, zero = span
    # A tick closer to 0 would have a label that touches that of 0.
    first = low * (zero / low) ** 2 * (high / low) ** 0.04 if zero else low
    ticks = axes.log_ticks(first, high, most_ticks)
    return charts.field(
        "x:Q",
        title=quantity.title if titled else None,
        scale=axes.scale(type="log", domain=[low, high], nice=False),
        axis=axes.axis(
            values=[*([zero] if zero else []), *ticks],
            labelExpr=quantity.labels(ticks, {zero: "0"} if zero else None),
            labelSeparation=4,
            titleAnchor="start",
        ),
    )


def y_axis(shares: list[int], *, labelled: bool, field: str = "y") -> charts.Channel:
    """Returns the axis of shares, %; a layer without it would make Vega choose its own ticks."""
    return charts.field(
        f"{field}:Q",
        title=None,
        scale=axes.scale(domain=[0, 100], nice=False),
        # Invisible labels keep the titles of all panels at one height.
        axis=axes.axis(values=shares, labelOpacity=int(labelled), minExtent=LEFT, maxExtent=LEFT),
    )
