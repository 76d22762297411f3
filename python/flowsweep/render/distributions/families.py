"""Draws CDFs as families: a panel for each axis, a curve for each point on it.

The curve of the baseline has the colour of text; the others go from the first colour of the ramp to
the last with their distance from it along the axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep.experiment.axes import AXES
from flowsweep.render import charts, cuts, points, theme
from flowsweep.render.distributions.quantity import (
    LEFT,
    Quantity,
    Span,
    log_ends,
    steps,
    x_axis,
    y_axis,
)
from flowsweep.render.figure import Context, sentence, values
from flowsweep.render.panels import TIP, about

if TYPE_CHECKING:
    from flowsweep.experiment.axis import Column
    from flowsweep.render.theme import Series

COLUMNS, GAP, HEIGHT = 2, 12, 150
#: Width of the column of names beside the curves, and height of a name, pixels.
NAMES, LINE = 96, 14
#: The most curves in a panel, and panels in a figure.
MAX_CURVES, MAX_PANELS = 9, 32


@dataclass(frozen=True)
class Curve:
    """One point of an axis: its name, colour and rows."""

    name: str
    colour: str
    rows: pl.DataFrame
    is_baseline: bool

    @property
    def has_band(self) -> bool:
        """Whether it represents several runs, which can differ."""
        return int(self.rows["runs"].max()) > 1  # type: ignore[arg-type]


@dataclass(frozen=True)
class Panel:
    """One axis of one application, with its curves from the baseline outward."""

    one: Series
    part: str
    title: str
    curves: list[Curve]


def chart(context: Context, rows: pl.DataFrame, quantity: Quantity) -> tuple[Any, str] | None:
    """Returns the panels and their caption; None if some application has no axis that varies."""
    if context.stands_alone or rows["run"].drop_nulls().len():
        return None
    found = _panels(context, rows, quantity)
    if {panel.one for panel in found} != set(context.series_in(rows)):
        return None
    drawn = found[:MAX_PANELS]
    curves = [curve.rows for panel in drawn for curve in panel.curves]
    span = log_ends(pl.concat(curves)[quantity.column] * quantity.scale)
    groups: dict[tuple[Series, str], list[Panel]] = {}
    for panel in drawn:
        groups.setdefault((panel.one, panel.part), []).append(panel)
    alone = len({panel.one for panel in drawn}) == 1
    grids = []
    for number, ((one, part), panels) in enumerate(groups.items()):
        cells = [
            _draw(panel, quantity, span, is_left=place % COLUMNS == 0)
            for place, panel in enumerate(panels)
        ]
        grid: Any = charts.concat(*cells, columns=COLUMNS, spacing=GAP, align="all")
        shares = f", share of {quantity.counted} at or below (%)" if number == 0 else ""
        title = ": ".join([*([] if alone else [one.label]), part]) + shares
        grids.append(grid.properties(title=charts.title(
            title, fontSize=12, fontWeight=500, color=theme.MUTED, offset=6, frame="bounds"
        )))  # fmt: skip
    made: Any = grids[0] if len(grids) == 1 else charts.vconcat(*grids, spacing=GAP)
    shown = pl.concat(curves).select("point").n_unique()
    has_band = any(
        curve.has_band and curve.is_baseline for panel in drawn for curve in panel.curves
    )
    return made, sentence(
        "One curve per point of the axis, its runs pooled.",
        "Grey band: range of the baseline's runs." if has_band else None,
        cuts.describe(shown, rows["point"].n_unique(), "points are drawn", quantity.query),
    )


def _panels(context: Context, rows: pl.DataFrame, quantity: Quantity) -> list[Panel]:
    """Makes a panel for each application, part of its rows, and axis."""
    parts = sorted(set(rows[quantity.parts]), reverse=True)
    lines = context.model("axis_points").filter(~pl.col("axis").is_in(["problem", "beside"]))
    found = []
    for one in context.series_in(rows):
        own = context.select_series(rows, one)
        for part in parts:
            own_rows = own.filter(pl.col(quantity.parts) == part)
            for axis, unit in _axes(context.select_series(lines, one)):
                line = context.select_series(lines, one).filter(
                    pl.col("axis") == axis,
                    pl.col("unit") == unit,
                    pl.col("point").is_in(own_rows["point"].implode()),
                )
                if line["point"].n_unique() > 1:
                    column = next(each for each in AXES[axis].columns if each.unit == unit)
                    curves = _curves(line, own_rows, column)
                    title = f"by {AXES[axis].label or column.head or axis}"
                    found.append(Panel(one, str(part), title, curves))
    return found


def _axes(lines: pl.DataFrame) -> list[tuple[str, str]]:
    """Returns the axes of an application in the order of `AXES`, each with its unit."""
    known = set(lines.select("axis", "unit").iter_rows())
    return [
        (name, column.unit)
        for name, axis in AXES.items()
        for column in axis.columns
        if (name, column.unit) in known
    ]


def _curves(line: pl.DataFrame, rows: pl.DataFrame, column: Column) -> list[Curve]:
    """Returns the curves of one line: the baseline, then the others by distance from it."""
    base = line.filter("is_reference")["x"].to_list()[:1]
    start = base[0] if base else None
    order = sorted(
        line.iter_rows(named=True),
        key=lambda row: (not row["is_reference"], _distance(row["x"], start)),
    )
    kept = [order[place] for place in cuts.choose_evenly(len(order), MAX_CURVES)]
    outward = [row for row in kept if not row["is_reference"]]
    colours = dict(zip((row["point"] for row in outward), theme.ramp(len(outward)), strict=True))
    return [
        Curve(
            name=_name(rows.filter(pl.col("point") == row["point"]).row(0, named=True), column),
            colour=colours.get(row["point"], theme.TEXT),
            rows=rows.filter(pl.col("point") == row["point"]),
            is_baseline=row["is_reference"],
        )
        for row in kept
    ]


def _distance(x: float | None, start: float | None) -> float:
    """Returns how far a value is from the baseline's along its axis; infinity if it is unset."""
    if x is None or start is None:
        return float("inf") if x is None else x
    return abs(x - start)


def _name(row: dict[str, Any], column: Column) -> str:
    """Returns the value of the axis at a point, as measured, with its unit."""
    value = row[column.shown]
    return (column.unset or "unset") if value is None else points.words(column)(value)


def _draw(panel: Panel, quantity: Quantity, span: Span, *, is_left: bool) -> Any:
    width = (theme.FULL_WIDTH - GAP) // COLUMNS - LEFT - NAMES
    x = x_axis(quantity, span, titled=True, most_ticks=5)
    shares = [0, 25, 50, 75, 100]
    y = y_axis(shares, labelled=is_left)
    low = y_axis(shares, labelled=is_left, field="low")
    layers: list[Any] = []
    # The baseline is on top: the others are compared with it.
    for curve in reversed(panel.curves):
        own = charts.Chart(
            values([{**step, TIP: curve.name} for step in steps(curve.rows, quantity, span)])
        )
        if curve.has_band:
            # The page's script shows the bands of other curves while they are read.
            opacity = 0.15 if curve.is_baseline else 0
            band = own.mark(
                "area", interpolate="step-after", opacity=opacity, color=curve.colour, clip=True
            )
            layers.append(band.encode(x=x, y=low, y2="high:Q"))
        line = own.mark(
            "line",
            interpolate="step-after",
            strokeWidth=2 if curve.is_baseline else 1.5,
            color=curve.colour,
            clip=True,
        )
        layers.append(line.encode(x=x, y=y))
    return charts.layer(*layers, *_key(panel.curves, width)).properties(
        width=width,
        height=HEIGHT,
        title=charts.title(
            panel.title, fontSize=12, fontWeight=600, color=theme.TEXT, frame="group"
        ),
        description=about(
            y=f"share of {quantity.counted} at or below (%)",
            application=panel.one.label,
            axis=panel.title,
            **{quantity.parts: panel.part},
        ),
    )


def _key(curves: list[Curve], width: int) -> list[Any]:
    """Draws the curves' names beside the panel, from the baseline outward, each with its colour."""
    # Keeps the width if a browser's letters are wider than the measured ones.
    room = charts.Chart(values([{}])).mark("rule", opacity=0)
    layers: list[Any] = [
        room.encode(x=charts.value(width), x2=charts.value(width + NAMES), y=charts.value(0))
    ]
    for number, curve in enumerate(curves):
        place = charts.value(8 + LINE * number)
        swatch = charts.Chart(values([{}])).mark(
            "rule", color=curve.colour, strokeWidth=2 if curve.is_baseline else 1.5
        )
        layers.append(
            swatch.encode(x=charts.value(width + 8), x2=charts.value(width + 22), y=place)
        )
        words = charts.Chart(values([{"text": curve.name}])).mark(
            "text",
            align="left",
            baseline="middle",
            fontWeight="bold" if curve.is_baseline else "normal",
            fontSize=11,
            limit=NAMES - 24,
        )
        layers.append(words.encode(x=charts.value(width + 26), y=place, text="text:N"))
    return layers
