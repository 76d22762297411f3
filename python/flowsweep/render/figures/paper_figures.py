"""Figure `paper_figures`: published values and ours on the same axes.

A panel over numbers has two curves; a panel over names has a line for each name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.render import axes, charts, cuts, theme
from flowsweep.render.figure import Context, Figure, sentence, values
from flowsweep.render.panels import TIP, about, tip

if TYPE_CHECKING:
    from collections.abc import Iterator

QUERY = "paper_figures"
CURVE_HEIGHT, LINE_HEIGHT = 110, 20
#: Room for the numbers of a panel of curves, and for the names beside the lines.
LEFT, NAMES = 48, 240
COLUMNS = 4
#: The look of published values and ours: colour, shape, dash of the curve.
LOOKS = {
    "published": (theme.MUTED, "diamond", [4, 3]),
    "ours": ("var(--app-1)", "circle", [1, 0]),
}


def draw(context: Context) -> Figure | None:
    """Draws a group of panels for each figure or table of a paper that has values of ours."""
    rows = context.rows(QUERY)
    is_here = pl.col("ours").is_not_null().any().over("paper", "item", "panel")
    shown = rows.filter(is_here) if rows.height else rows
    if shown.is_empty():
        return None
    groups = [
        _group(context, frame) for _, frame in shown.group_by("paper", "item", maintain_order=True)
    ]
    return Figure(
        name=QUERY,
        caption=sentence(
            "Each panel has the axes of the paper's figure or the entries of its table.",
            _describe_scaled(shown),
            "Where ours is missing, it was not measured or counts something else."
            if shown["ours"].null_count()
            else None,
            cuts.describe(
                shown.height,
                rows.height,
                "values are drawn; panels without a value of ours are not",
                QUERY,
            ),
        ),
        notes="Values that are not judged are drawn, too: the table below says which, and why.",
        chart=charts.vconcat(_legend(), *groups, spacing=18),
        rows=rows,
    )


def _describe_scaled(rows: pl.DataFrame) -> str | None:
    """States the factors by which published values are multiplied."""
    smaller = sorted(set(rows["scale"]) - {1.0})
    if not smaller:
        return None
    factors = " or ".join(map(numbers.plain, smaller))
    return f"Published rates are multiplied by {factors}: our links are slower by that factor."


def _legend() -> charts.Chart:
    """Names the two marks."""
    layers: list[charts.Chart] = []
    for place, whose in enumerate(LOOKS):
        at = {"x": charts.value(8 + 90 * place), "y": charts.value(8)}
        row = charts.Chart(values([{"text": whose}]))
        layers.append(_mark(row, whose).encode(**at))
        words = row.mark("text", align="left", dx=10, color=theme.MUTED)
        layers.append(words.encode(text="text:N", **at))
    return charts.layer(*layers).properties(width=theme.HALF_WIDTH, height=16)


def _mark(chart: charts.Chart, whose: str) -> charts.Chart:
    """Makes points: open for published values, filled for ours."""
    colour, shape, _ = LOOKS[whose]
    is_open = whose == "published"
    return chart.mark(
        "point", shape=shape, size=60 if is_open else 40, stroke=colour,
        fill=theme.PAGE if is_open else colour, strokeWidth=1.5,
    )  # fmt: skip


def _group(context: Context, rows: pl.DataFrame) -> charts.Chart:
    """Draws the panels of one figure or table, below its name."""
    first = rows.row(0, named=True)
    has_numbers = first["x_title"] is not None
    draw_panel = _curves if has_numbers else _names
    panels = [
        draw_panel(frame, str(name or ""))
        for (name,), frame in rows.group_by("panel", maintain_order=True)
    ]
    several = context.model("experiment_papers").height > 1
    name = f"{first['paper']}, {first['item']}" if several else str(first["item"])
    unit = f", {first['unit']}" if rows["unit"].n_unique() == 1 and first["unit"] else ""
    columns = COLUMNS if len(panels) % COLUMNS == 0 else COLUMNS - 1
    return charts.concat(
        *panels, columns=columns if has_numbers else 1, spacing=12, align="all"
    ).properties(
        title=charts.title(
            f"{name[:1].upper()}{name[1:]}{unit}", fontSize=13, color=theme.TEXT, offset=6
        )
    )


def _marks(rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yields the published value and ours at each place."""
    for row in rows.iter_rows(named=True):
        for whose in LOOKS:
            if row[whose] is not None:
                value = f"{whose}: {numbers.estimate(row[whose])} {row['unit']}".rstrip()
                place = f"{row['x_title']}: {row['x']}" if row["x_title"] else row["x"]
                yield {"x": row["x"], "y": row[whose], "whose": whose, TIP: tip(place, value)}


def _curve_of(data: list[dict[str, Any]], whose: str) -> charts.Chart:
    return charts.Chart(values([row for row in data if row["whose"] == whose]))


def _scale(ends: list[float], *, is_log: bool) -> dict[str, Any]:
    """Returns the scale of an axis that covers these values."""
    low, high = min(ends), max(ends)
    if is_log and low > 0:
        return axes.scale(type="log", domain=[low / 1.3, high * 1.3], nice=False)
    return axes.scale(domain=[min(0.0, low), high * 1.06 or 1], nice=False)


def _ticks(scale: dict[str, Any], most: int) -> dict[str, Any]:
    if scale.get("type") == "log":
        low, high = scale["domain"]
        ticks = axes.log_ticks(low, high, most)
        return axes.axis(values=ticks, labelExpr=axes.prefix_labels(ticks), grid=True)
    return axes.axis(tickCount=most, format=",~f", grid=True)


def _add_title(panel: charts.Chart, name: str, **attributes: str) -> charts.Chart:
    title = charts.title(
        name, fontSize=12, fontWeight=500, color=theme.MUTED, frame="group", offset=6
    )
    return panel.properties(description=about(**attributes), **({"title": title} if name else {}))


def _curves(rows: pl.DataFrame, name: str) -> charts.Chart:
    """Draws curves over numbers, the published one dashed."""
    data = [mark | {"x": float(mark["x"])} for mark in _marks(rows)]
    logs = str(rows["log"][0])
    x_scale = _scale([row["x"] for row in data], is_log="x" in logs)
    y_scale = _scale([row["y"] for row in data], is_log="y" in logs)
    places = sorted({row["x"] for row in data})
    x = charts.field(
        "x:Q", title=rows["x_title"][0], scale=x_scale,
        axis=axes.axis(values=places, format=",~f"),
    )  # fmt: skip
    y = charts.field("y:Q", title=None, scale=y_scale, axis=_ticks(y_scale, 4))
    layers: list[charts.Chart] = []
    for whose, (colour, _, dash) in LOOKS.items():
        line = _curve_of(data, whose).mark("line", strokeDash=dash, strokeWidth=1.2, color=colour)
        layers += [line.encode(x=x, y=y), _mark(_curve_of(data, whose), whose).encode(x=x, y=y)]
    panel = charts.layer(*layers).properties(
        width=theme.FULL_WIDTH // COLUMNS - LEFT - 12, height=CURVE_HEIGHT
    )
    return _add_title(panel, name, y=str(rows["unit"][0]))


def _names(rows: pl.DataFrame, name: str) -> charts.Chart:
    """Draws a line for each name, with both values on it."""
    data = list(_marks(rows))
    scale = _scale([row["y"] for row in data], is_log="y" in str(rows["log"][0]))
    order = list(dict.fromkeys(rows["x"]))
    y = charts.field("x:N", sort=order, axis=None)
    x = charts.field("y:Q", title=None, scale=scale, axis=_ticks(scale, 6))
    found = [[row["y"] for row in data if row["x"] == place] for place in order]
    ends = [
        {"x": place, "y": min(own), "end": max(own)}
        for place, own in zip(order, found, strict=True)
    ]
    rule = charts.Chart(values(ends)).mark("rule", color=theme.AXIS)
    marks = [_mark(_curve_of(data, whose), whose).encode(x=x, y=y) for whose in LOOKS]
    height = LINE_HEIGHT * len(order)
    panel = charts.layer(rule.encode(x=x, x2="end:Q", y=y), *marks).properties(
        width=theme.FULL_WIDTH - NAMES - 60, height=height
    )
    # These are marks because the labels of an axis would push panels of curves to the right.
    names = charts.Chart(values([{"x": place} for place in order])).mark(
        "text", align="right", color=theme.MUTED, limit=NAMES
    )
    beside = names.encode(x=charts.value(NAMES), y=y, text="x:N")
    return charts.hconcat(
        beside.properties(width=NAMES, height=height),
        _add_title(panel, name, x=str(rows["unit"][0])),
        spacing=8,
    )
