"""Stacked bars: one for each point of the sweep, a panel for each application."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowsweep.render import axes, charts, theme
from flowsweep.render.figure import values
from flowsweep.render.panels import TIP, tip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import polars as pl

    from flowsweep.render.theme import Series

ROW = 24
# The words at the right end are wider in a browser without Arial than measured here.
PADDING = {"left": 4, "top": 8, "right": 44, "bottom": 4}


@dataclass(frozen=True)
class Bar:
    """One bar: the name of its point, its parts from the left, what stands at its end.

    Attributes:
        parts: Kind and length of each part.
    """

    point: str
    parts: Sequence[tuple[str, float]]
    words: str


def kinds_in(
    frames: Sequence[pl.DataFrame], kinds: Iterable[tuple[str, str, str]]
) -> list[tuple[str, str]]:
    """Selects the kinds of parts that some bar has, for a legend that all panels share.

    Args:
        frames: The rows of each panel.
        kinds: Column, name and colour of each kind.

    Returns:
        Name and colour of each that is above 0 in some row.
    """
    return [
        (name, colour)
        for column, name, colour in kinds
        if any((frame[column] > 0).any() for frame in frames)
    ]


def panel(
    bars: Sequence[Bar],
    kinds: Sequence[tuple[str, str]],
    length: charts.Channel,
    one: Series | None,
    *,
    left: int,
    words: int,
    written: Callable[[float], str],
) -> Any:
    """The bars of one application.

    Args:
        bars: From the top down.
        kinds: Names and colours of the parts, in the order of the legend.
        length: The axis, of the field `from`.
        one: Whose name stands above; None: nobody's.
        left: Pixels for the names of the points.
        words: Pixels for the words.
        written: How the length of a part is written.
    """
    parts: list[dict[str, Any]] = []
    ends: list[dict[str, Any]] = []
    for bar in bars:
        begin = end = 0.0
        for kind, size in bar.parts:
            end = begin + size
            if end > begin:
                tooltip = tip(bar.point, f"{kind}: {written(size)}")
                parts.append(
                    {"point": bar.point, "from": begin, "to": end, "what": kind, TIP: tooltip}
                )
            begin = end
        ends.append({"point": bar.point, "end": end, "text": bar.words})
    order = [bar.point for bar in bars]
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
        scale=axes.scale(domain=[kind for kind, _ in kinds], range=[colour for _, colour in kinds]),
        legend=axes.legend(
            symbolType="square", symbolSize=120, symbolStrokeWidth=0, columnPadding=26
        ),
    )
    drawn = charts.Chart(values(parts)).mark("bar", height=18, stroke=theme.PAGE, strokeWidth=1)
    text = charts.Chart(values(ends)).mark(
        "text", align="left", dx=8, fontSize=11, color=theme.MUTED
    )
    made = charts.layer(
        drawn.encode(x=length, x2="to:Q", y=y, color=colour),
        text.encode(x=charts.field("end:Q"), y=y, text="text:N"),
    ).properties(width=theme.FULL_WIDTH - left - words, height=ROW * len(order))
    if one is not None:
        made = made.properties(title=charts.title(one.label, color=one.text_colour))
    return made


def below_each_other(panels: Sequence[Any]) -> Any:
    """One chart of all panels."""
    return panels[0] if len(panels) == 1 else charts.concat(*panels, columns=1, align="each")
