"""Lines of equal rate in a plane of sizes and times on log scales."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowsweep.render import charts, theme
from flowsweep.render.figure import values

if TYPE_CHECKING:
    from collections.abc import Iterable

    Span = tuple[float, float]


def draw_lines(
    slopes: Iterable[tuple[float, str]],
    x: charts.Channel,
    y: charts.Channel,
    spans: tuple[Span, Span],
    offset: tuple[int, int],
) -> list[charts.Chart]:
    """Draws dotted lines, each with its name where it leaves the plot.

    Args:
        slopes: The slope y / x of each line, and its name.
        x: The horizontal axis.
        y: The vertical axis.
        spans: The ends of both axes.
        offset: Pixels from a line's end to its name, on the right side and at the top.
    """
    marks = []
    (left, right), (bottom, top) = spans
    for slope, name in slopes:
        begin, end = max(left, bottom / slope), min(right, top / slope)
        if begin >= end:
            continue
        ends = [{"x": place, "y": place * slope} for place in (begin, end)]
        line = charts.Chart(values(ends)).mark(
            "line", strokeDash=[2, 3], strokeWidth=1, color=theme.AXIS
        )
        at_right = end == right
        words = charts.Chart(values([{**ends[1], "text": name}])).mark(
            "text",
            align="left" if at_right else "center",
            dx=offset[0] if at_right else 0,
            dy=0 if at_right else offset[1],
            fontSize=11,
            color=theme.MUTED,
        )
        marks += [line.encode(x=x, y=y), words.encode(x=x, y=y, text="text:N")]
    return marks
