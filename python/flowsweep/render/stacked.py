"""Draws stacked bars: one for each point of the sweep, a panel for each application."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowsweep.render import axes, charts, points, theme
from flowsweep.render.figure import values
from flowsweep.render.panels import TIP, tip

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from flowsweep.render.theme import Series

ROW = 24
# Without Arial, a browser's words at the right end are wider than measured here.
PADDING = {"left": 4, "top": 8, "right": 44, "bottom": 4}


#: Column, name and colour of a part of a bar.
Part = tuple[str, str, str]


@dataclass(frozen=True)
class Bars:
    """How the bars of a figure look.

    Attributes:
        axis: Makes the axis, for the field `from`, from the rows that are drawn.
        label: Makes the words after a bar from its row.
        label_width: Pixels for these words.
        size: Formats the length of a part.
    """

    axis: Callable[[pl.DataFrame], charts.Channel]
    label: Callable[[dict[str, Any]], str]
    label_width: int
    size: Callable[[float], str]


def draw(
    applications: Sequence[tuple[Series, pl.DataFrame, Sequence[Part]]],
    bars: Bars,
    *,
    are_named: bool,
) -> Any:
    """Draws a panel for each application, with a bar for each of its points that are drawn.

    Args:
        applications: For each its look, a row for each of its points, and the parts of its bars.
            If all have the same parts, the panels share a legend.
        bars: What the bars look like.
        are_named: Whether each panel has the name of its application above it.
    """
    frames = [rows for _, rows, _ in applications]
    left = max(points.width(points.labels(rows)) for rows in frames)
    drawn = [points.choose_drawn(rows) for rows in frames]
    is_shared = all(parts == applications[0][2] for _, _, parts in applications)
    panels = [
        _draw_panel(
            rows,
            bars,
            _select_parts(drawn if is_shared else [points.choose_drawn(rows)], parts),
            left,
            one if are_named else None,
        )
        for one, rows, parts in applications
    ]
    if len(panels) == 1:
        return panels[0].properties(padding=PADDING)
    chart = charts.concat(*panels, columns=1, align="each").properties(padding=PADDING)
    return chart if is_shared else chart.properties(resolve={"scale": {"color": "independent"}})


def _select_parts(frames: Sequence[pl.DataFrame], parts: Sequence[Part]) -> list[Part]:
    """Selects the parts that appear in some bar."""
    return [part for part in parts if any((frame[part[0]] > 0).any() for frame in frames)]


def _draw_panel(
    rows: pl.DataFrame, bars: Bars, parts: Sequence[Part], left: int, one: Series | None
) -> Any:
    """Draws the bars of one application, from the top down.

    Args:
        rows: A row for each point.
        bars: What the bars look like.
        parts: The parts in the legend.
        left: Pixels for the names of the points.
        one: The application named above the panel; None: no name.
    """
    names = dict(zip(map(tuple, rows.rows()), points.labels(rows), strict=True))
    drawn = points.choose_drawn(rows)
    pieces: list[dict[str, Any]] = []
    ends: list[dict[str, Any]] = []
    order = []
    for key, row in zip(drawn.rows(), drawn.iter_rows(named=True), strict=True):
        begin = end = 0.0
        order.append(names[key])
        for column, name, _ in parts:
            size = row[column] or 0.0
            end = begin + size
            if end > begin:
                tooltip = tip(names[key], f"{name}: {bars.size(size)}")
                pieces.append(
                    {"point": names[key], "from": begin, "to": end, "what": name, TIP: tooltip}
                )
            begin = end
        ends.append({"point": names[key], "end": end, "text": bars.label(row)})
    length = bars.axis(drawn)
    y = charts.field(
        "point:N",
        title=None,
        sort=order,
        scale=axes.scale(domain=order),
        axis=axes.axis(grid=False, labelLimit=left, minExtent=left),
    )
    colour = charts.field(
        "what:N",
        title=None,
        scale=axes.scale(
            domain=[name for _, name, _ in parts], range=[colour for *_, colour in parts]
        ),
        legend=axes.legend(
            symbolType="square", symbolSize=120, symbolStrokeWidth=0, columnPadding=26
        ),
    )
    marks = charts.Chart(values(pieces)).mark("bar", height=18, stroke=theme.PAGE, strokeWidth=1)
    text = charts.Chart(values(ends)).mark(
        "text", align="left", dx=8, fontSize=11, color=theme.MUTED
    )
    made = charts.layer(
        marks.encode(x=length, x2="to:Q", y=y, color=colour),
        text.encode(x=charts.field("end:Q"), y=y, text="text:N"),
    ).properties(width=theme.FULL_WIDTH - left - bars.label_width, height=ROW * len(order))
    if one is not None:
        made = made.properties(title=charts.title(one.label, color=one.text_colour))
    return made
