"""Figure `engines`: distributions of the same captures by our parser and by Zeek."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.render import axes, charts, cuts, theme
from flowsweep.render.figure import Context, Figure, sentence, values

if TYPE_CHECKING:
    from flowsweep.render.theme import Series

#: Quantities, their axes, and whether they are times.
QUANTITIES = {
    "flow payload": ("payload of a flow (bytes)", False),
    "flow duration": ("duration of a flow", True),
    "packet interval": ("interval between packets", True),
    "message": ("message (bytes)", False),
    "throughput": ("throughput in a bin (bit/s)", False),
}
ENGINES = {"native": "our parser", "zeek": "Zeek"}
#: Zeek's line is dashed and above ours, so that both are visible where they agree.
DASHES = {"native": [1, 0], "zeek": [5, 4]}
MAX_APPLICATIONS = 3
PANEL_WIDTH, PANEL_HEIGHT = 195, 130


def draw(context: Context) -> Figure | None:
    """Draws a panel per quantity, with a line per engine."""
    rows = context.rows("engines")
    both = rows.group_by("quantity").agg(pl.col("engine").n_unique())
    shared = set(both.filter(pl.col("engine") == len(ENGINES))["quantity"])
    drawn = [quantity for quantity in QUANTITIES if quantity in shared]
    if not drawn:
        return None
    series = context.series_in(rows)
    shown = series[:MAX_APPLICATIONS]
    rows_by_series = {one: context.select_series(rows, one) for one in shown}
    panels = [
        _panel(own.filter(pl.col("quantity") == quantity), quantity, one, alone=len(series) == 1)
        for one, own in rows_by_series.items()
        for quantity in drawn
    ]
    runs = ", ".join(sorted({own["run"][0] for own in rows_by_series.values()}))
    chart: Any = charts.concat(*panels, columns=3, align="all", spacing=18)
    return Figure(
        name="engines",
        caption=sentence(
            f"CDF over all hosts of {runs} whose capture both have read. "
            "Solid: our parser; dashed: Zeek.",
            _counts(rows, drawn),
            "Zeek's messages end at a turn of the conversation or behind a short segment with "
            "PSH; our parser has further signs, so that sizes differ."
            if "message" in drawn
            else None,
            "Zeek writes times in microseconds." if "packet interval" in drawn else None,
            cuts.describe(len(shown), len(series), "applications are drawn", "engines"),
        ),
        chart=chart,
        rows=rows,
    )


def _counts(rows: pl.DataFrame, drawn: list[str]) -> str:
    """States how many values each engine has."""
    totals = rows.group_by("run", "quantity", "engine").agg(pl.col("of_count").first())
    sums = totals.group_by("quantity", "engine").agg(pl.sum("of_count"))
    found = {(row["quantity"], row["engine"]): row["of_count"] for row in sums.to_dicts()}
    texts = [
        f"{quantity}: {numbers.count(found[quantity, 'native'])} and "
        f"{numbers.count(found[quantity, 'zeek'])}"
        for quantity in drawn
    ]
    return f"Values by our parser and by Zeek: {', '.join(texts)}."


def _panel(rows: pl.DataFrame, quantity: str, one: Series, *, alone: bool) -> Any:
    title, is_time = QUANTITIES[quantity]
    positive = rows.filter(pl.col("upto") > 0)["upto"]
    low = 10.0 ** math.floor(math.log10(positive.min() or 1.0)) if len(positive) else 0.1  # type: ignore[arg-type]
    high = 10.0 ** math.ceil(math.log10(positive.max() or 1.0)) if len(positive) else 1.0  # type: ignore[arg-type]
    high = max(high, 10 * low)
    ticks = axes.log_ticks(low, high, 6)
    labels = axes.time_labels(ticks) if is_time else axes.prefix_labels(ticks)
    x = charts.field(
        "x:Q",
        title=title,
        scale=axes.scale(type="log", domain=[low, high], nice=False),
        axis=axes.axis(values=ticks, labelExpr=labels, grid=True),
    )
    y = charts.field(
        "share:Q",
        title="share of values",
        scale=axes.scale(domain=[0, 1]),
        axis=axes.axis(values=[0, 0.25, 0.5, 0.75, 1], format="~%"),
    )
    layers = []
    for engine, dash in DASHES.items():
        engine_rows = rows.filter(pl.col("engine") == engine).sort("upto")
        zero = engine_rows.filter(pl.col("upto") <= 0)["share"].max() or 0.0
        points = [{"x": low, "share": zero}]
        points += [
            {"x": row["upto"], "share": row["share"]}
            for row in engine_rows.filter(pl.col("upto") > 0).iter_rows(named=True)
        ]
        points.append({"x": high, "share": 1.0})
        colour = one.colour if engine == "native" else theme.TEXT
        mark = charts.Chart(values(points)).mark("line",
            interpolate="step-after", strokeDash=dash, strokeWidth=2.4 - 0.8 * (engine == "zeek"),
            color=colour,
        )  # fmt: skip
        layers.append(mark.encode(x=x, y=y))
    panel = charts.layer(*layers).properties(width=PANEL_WIDTH, height=PANEL_HEIGHT)
    if not alone:
        panel = panel.properties(title=charts.title(one.label, color=one.text_colour))
    return panel
