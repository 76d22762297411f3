"""Axes of a sweep as axes of a chart: one scale for all panels of the same axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from flowsweep.experiment.axes import AXES
from flowsweep.render import axes, charts, distributions, points

if TYPE_CHECKING:
    from flowsweep.experiment.axis import Column


@dataclass(frozen=True)
class Line:
    """One axis and the ends of its scale.

    Attributes:
        zero: Where 0 is on the log scale; None if no value is 0.
        unset: Where points without a value are; None if there are none.
    """

    name: str
    column: Column
    low: float
    high: float
    zero: float | None
    unset: float | None

    @property
    def head(self) -> str:
        """The name of the axis, as the title of a chart's x."""
        return AXES[self.name].label or self.column.head

    def at(self, x: float | None) -> float:
        """Returns the place of a value."""
        if x is None:
            return self.unset or self.high
        return x if x > 0 else self.zero or self.low

    def describe(self, x: float | None) -> str:
        """Formats a value with its unit."""
        if x is None:
            return self.column.unset or "unset"
        unit = "" if self.column.number == "size" else self.column.unit
        return f"{points.write_value(self.column, x)} {unit}".strip()

    def rows_of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows on this line; none if it has a single point."""
        own = rows.filter((pl.col("axis") == self.name) & (pl.col("unit") == self.column.unit))
        return own if own["point"].n_unique() > 1 else own.clear()

    def channel(self, rows: pl.DataFrame) -> charts.Channel:
        """Returns the chart's x, with a tick at each value that was tried."""
        tried = sorted(set(rows["x"].drop_nulls()))
        names = {self.at(x): points.write_value(self.column, x) if x else "0" for x in tried}
        if rows["x"].null_count():
            names[self.at(None)] = "unset"
        has_unit = self.column.number not in ("size", "share", "count")
        return charts.field(
            "x:Q",
            title=f"{self.head} ({self.column.unit})" if has_unit else self.head,
            scale=axes.scale(type="log", domain=[self.low, self.high], nice=False),
            axis=axes.axis(
                values=list(names), labelExpr=axes.given_labels(names), titleAnchor="start",
                labelFontSize=11, labelSeparation=6,
            ),
        )  # fmt: skip


def lines_of(rows: pl.DataFrame) -> list[Line]:
    """Returns the axes that were varied, in order, each with one scale for all applications."""
    found = []
    for name, axis in AXES.items():
        for column in axis.columns:
            own = rows.filter((pl.col("axis") == name) & (pl.col("unit") == column.unit))
            if own.is_empty():
                continue
            low, high, zero = distributions.log_ends(own["x"].drop_nulls())
            unset = None
            if own["x"].null_count():
                band = (high / low) ** 0.2
                unset, high = high * math.sqrt(band), high * band
            found.append(Line(name, column, low, high, zero, unset))
    return found
