"""Figure `path_throughput`: throughput and goodput of a direction, along every axis of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.render import axes, charts, cuts, theme
from flowsweep.render.axis_lines import lines_of
from flowsweep.render.figure import Context, Figure, panel_title, sentence, values
from flowsweep.render.panels import TIP, about, tip

if TYPE_CHECKING:
    from flowsweep.render.axis_lines import Line
    from flowsweep.render.theme import Series

QUERY = "path_throughput"
HEIGHT, MAX_PANELS, MAX_DIRECTIONS = 190, 12, 4
#: Room at the right of a panel for the names of the directions, pixels.
NAMES_WIDTH = 110
DIRECTION = ["from_site", "to_site"]


def draw(context: Context) -> Figure | None:
    """Draws a panel for each application and axis; None if no axis of numbers was varied."""
    every = context.rows(QUERY)
    rows = every.filter(pl.col("kind") == "number")
    found = [
        (line, one, own)
        for one in context.series_in(rows)
        for line in lines_of(rows)
        if not (own := line.rows_of(context.select_series(rows, one))).is_empty()
    ]
    if not found:
        return None
    drawn = found[:MAX_PANELS]
    is_alone = len({one for _, one, _ in drawn}) == 1
    panels = [
        _panel(
            context.select_series(rows, one), own, line, one, named="" if is_alone else one.label
        )
        for line, one, own in drawn
    ]
    directions = [
        context.select_series(rows, one).select(DIRECTION).n_unique()
        for one in dict.fromkeys(one for _, one, _ in drawn)
    ]
    return Figure(
        name=QUERY,
        caption=sentence(
            "Solid: bytes on the wire over the time of the run. Dashed: goodput, payload sent for "
            "the first time. Medians at the points that vary one axis alone.",
            "Vertical rules: slowest to fastest run." if any(map(_has_spread, drawn)) else None,
            "Dotted: rate of the link."
            if any(
                not _link(own, line, _top(context.select_series(rows, one))).is_empty()
                for line, one, own in drawn
            )
            else None,
            cuts.describe(len(drawn), len(found), "panels are drawn", QUERY),
            cuts.describe(
                sum(min(number, MAX_DIRECTIONS) for number in directions),
                sum(directions),
                "directions",
                QUERY,
            ),
        ),
        chart=charts.concat(*panels, columns=2, align="all"),
        rows=every,
    )


def _has_spread(drawn: tuple[Line, Series, pl.DataFrame]) -> bool:
    rows = drawn[2]
    return bool((rows["throughput_mbit_s_min"] < rows["throughput_mbit_s_max"]).any())


def _top(rows: pl.DataFrame) -> float:
    """Returns the upper end of the scale."""
    return 1.08 * float(rows.select(pl.col("throughput_mbit_s_max").max()).item()) or 1.0


def _link(rows: pl.DataFrame, line: Line, top: float) -> pl.DataFrame:
    """Returns the link's rate along the axis; no rows if it is above the scale everywhere."""
    own = line.rows_of(rows).filter(pl.col("link_mbit_s").is_not_null())
    is_seen = (own["link_mbit_s"] <= top).any()
    return (
        own.unique("x", maintain_order=True).sort("x", nulls_last=True) if is_seen else own.clear()
    )


def _rank_directions(rows: pl.DataFrame) -> list[tuple[str, str]]:
    """Returns the directions to draw, the one with the most throughput first."""
    peaks = rows.group_by(DIRECTION).agg(pl.col("throughput_mbit_s").max())
    order = peaks.sort("throughput_mbit_s", *DIRECTION, descending=[True, False, False])
    return list(order.select(DIRECTION).head(MAX_DIRECTIONS).iter_rows())


def _panel(
    all_rows: pl.DataFrame, rows: pl.DataFrame, line: Line, one: Series, *, named: str
) -> Any:
    top = _top(all_rows)
    x = line.channel(rows)
    y = charts.field(
        "y:Q",
        title="Mbit/s",
        scale=axes.scale(domain=[0, top], nice=False),
        axis=axes.axis(tickCount=5),
    )
    layers: list[Any] = []
    link = _link(rows, line, top)
    if not link.is_empty():
        places = [
            {
                "x": line.at(row["x"]),
                "y": row["link_mbit_s"],
                TIP: tip(line.describe(row["x"]), f"link {numbers.rate(row['link_mbit_s'])}"),
            }
            for row in link.iter_rows(named=True)
        ]
        data = charts.Chart(values(places))
        joined = data.mark("line", strokeDash=[2, 3], color=theme.MUTED, clip=True)
        dots = data.mark("point", size=14, color=theme.MUTED, clip=True)
        layers += [joined.encode(x=x, y=y), dots.encode(x=x, y=y)]
    ends = []
    for sender, receiver in _rank_directions(all_rows):
        own = rows.filter((pl.col("from_site") == sender) & (pl.col("to_site") == receiver))
        if own.is_empty():
            continue
        layers += _direction(own.sort("x", nulls_last=True), line, one, x, y)
        last = own.sort("x", nulls_last=True).row(-1, named=True)
        ends.append((last["throughput_mbit_s"], f"{sender} → {receiver}"))
    layers.append(_names(ends, top, line, x, y))
    return charts.layer(*layers).properties(
        width=theme.HALF_WIDTH - NAMES_WIDTH,
        height=HEIGHT,
        title=panel_title("", named, one, theme.HALF_WIDTH),
        description=about(application=one.label, axis=line.head),
    )


def _direction(
    rows: pl.DataFrame, line: Line, one: Series, x: charts.Channel, y: charts.Channel
) -> list[charts.Chart]:
    """Draws throughput and goodput of one direction."""
    found = []
    for column, filled, dash in (
        ("goodput_mbit_s", False, [4, 3]),
        ("throughput_mbit_s", True, []),
    ):
        places = [
            {
                "x": line.at(row["x"]),
                "y": row[column],
                "low": row["throughput_mbit_s_min"],
                "high": row["throughput_mbit_s_max"],
                TIP: _tooltip(row, line),
            }
            for row in rows.filter(pl.col(column).is_not_null()).iter_rows(named=True)
        ]
        data = charts.Chart(values(places))
        stroke = {"strokeDash": dash} if dash else {}
        layers = [data.mark("line", color=one.colour, **stroke).encode(x=x, y=y)]
        if filled and any(row["low"] < row["high"] for row in places):
            ruled = charts.Chart(values([{**row, "y": row["low"]} for row in places]))
            rule = ruled.mark("rule", strokeWidth=2, opacity=0.6, color=one.colour)
            layers.append(rule.encode(x=x, y=y, y2="high:Q"))
        mark = data.mark(
            "point",
            size=36,
            shape=one.shape,
            color=one.colour,
            filled=filled,
            **({} if filled else {"fill": theme.PAGE}),
        )
        found += [*layers, mark.encode(x=x, y=y)]
    return found


def _names(
    ends: list[tuple[float, str]], top: float, line: Line, x: charts.Channel, y: charts.Channel
) -> charts.Chart:
    """Draws the directions' names beside their ends, moved apart if those are close."""
    step, below = 14 / HEIGHT * top, -1.0
    places = []
    for height, name in sorted(ends):
        below = max(height, below)
        places.append({"x": line.high, "y": min(below, top), "text": name})
        below += step
    words = charts.Chart(values(places)).mark(
        "text", align="left", dx=6, fontSize=11, color=theme.MUTED, limit=NAMES_WIDTH
    )
    return words.encode(x=x, y=y, text="text:N")


def _tooltip(row: dict[str, Any], line: Line) -> str:
    """Describes a point."""
    low, high = row["throughput_mbit_s_min"], row["throughput_mbit_s_max"]
    goodput = row["goodput_mbit_s"]
    return tip(
        f"{row['from_site']} → {row['to_site']}, {line.describe(row['x'])}",
        f"throughput {numbers.rate(row['throughput_mbit_s'])}"
        + (f" ({numbers.rate(low)} to {numbers.rate(high)})" if low < high else ""),
        None if goodput is None else f"goodput {numbers.rate(goodput)}",
        f"median of {numbers.plural(row['runs_used'], 'run')}",
    )
