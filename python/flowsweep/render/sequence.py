"""Draws the sequence numbers of one TCP connection over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from flowsweep.analysis.sequence import AGAIN, FILLING, KINDS, NEW, OUTSIDE
from flowsweep.render import axes, charts, theme

if TYPE_CHECKING:
    from flowsweep.analysis.sequence import Connection, Side
    from flowsweep.render.charts import Chart

HEIGHT = 340
#: Pieces of time and of bytes that a picture resolves: about two for each pixel of a screen.
COLUMNS, ROWS = 1_600, 700
ACKNOWLEDGED, WINDOW = "acknowledged", "end of the window"
COLOURS = {
    NEW: "var(--app-1)",
    AGAIN: theme.BAD,
    FILLING: "var(--app-2)",
    OUTSIDE: "var(--app-7)",
    ACKNOWLEDGED: "var(--app-6)",
    WINDOW: theme.AXIS,
}


def draw(connection: Connection, begin_ns: int, end_ns: int) -> Chart | None:
    """Draws a panel for each side that sent payload in a stretch of time; None if neither did.

    Args:
        connection: The connection to draw.
        begin_ns: Start of the stretch, in ns since the first packet of the connection.
        end_ns: End of the stretch.
    """
    within = pl.col("time_ns").is_between(begin_ns, end_ns)
    parts = [(side, side.segments.filter(within)) for side in connection.sides]
    shown = [(side, segments) for side, segments in parts if segments.height]
    named = {kind for side, segments in shown for kind in _list_kinds(side, segments)}
    colour = charts.field(
        "kind:N",
        scale=axes.scale(domain=[*COLOURS], range=[*COLOURS.values()]),
        legend=axes.legend(
            title=None, symbolType="stroke", values=[kind for kind in COLOURS if kind in named]
        ),
    )
    panels = [_draw_panel(side, segments, begin_ns, end_ns, colour) for side, segments in shown]
    return charts.vconcat(*panels) if panels else None


def describe(connection: Connection) -> str:
    """Describes how many segments of which kind each side of a connection sent."""
    parts = []
    for side in connection.sides:
        found = [f"{count:,} {kind}" for kind, count in side.counts.items() if count]
        sent = ", ".join(found) if found else "no payload"
        parts.append(f"{side.sender} → {side.receiver}: {sent}")
    return f"connection {connection.number}, segments\n  " + "\n  ".join(parts)


def _draw_panel(
    side: Side, segments: pl.DataFrame, begin_ns: int, end_ns: int, colour: charts.Channel
) -> Chart:
    low, high = int(segments["low"].min()), int(segments["high"].max())  # type: ignore[arg-type]
    column_ns = max((end_ns - begin_ns) // COLUMNS, 1)
    x, y = _make_scales(begin_ns, end_ns, low, high)
    lines = [
        charts.Chart(_thin_line(rows, begin_ns, end_ns, column_ns, kind))
        .mark("line", interpolate="step-after", strokeWidth=width, clip=True)
        .encode(x=x, y=y, color=colour)
        for kind, rows, width in (
            (WINDOW, side.windows, 1.0),
            (ACKNOWLEDGED, side.acknowledged, 1.25),
        )
        if rows.height
    ]
    marks = charts.Chart(_thin_segments(segments, begin_ns, column_ns, high - low))
    bars = marks.mark("rule", strokeWidth=1.5, strokeCap="butt", clip=True, opacity=1)
    # A segment may be lower than a pixel, but every unusual one must be visible.
    dots = marks.filtered(f"datum.kind !== '{NEW}'").mark("point", size=14, clip=True)
    return charts.layer(
        *lines,
        bars.encode(x=x, y=y, y2="high:Q", color=colour),
        dots.encode(x=x, y=y, color=colour),
    ).properties(
        width=theme.FULL_WIDTH,
        height=HEIGHT,
        title=charts.title(f"{side.sender} → {side.receiver}"),
    )


def _list_kinds(side: Side, segments: pl.DataFrame) -> set[str]:
    """Lists the kinds of segments and lines that the panel of a side shows."""
    lines = {ACKNOWLEDGED: side.acknowledged, WINDOW: side.windows}
    return {*segments["kind"]} | {kind for kind, rows in lines.items() if rows.height}


def _make_scales(
    begin_ns: int, end_ns: int, low: int, high: int
) -> tuple[charts.Channel, charts.Channel]:
    unit, options = axes.since_start(end_ns / 1e9)
    x = charts.field(
        "time_s:Q",
        title=f"time since the connection's first packet ({unit})",
        scale=axes.scale(domain=[begin_ns / 1e9, end_ns / 1e9], nice=False),
        axis=axes.axis(**options),
    )
    y = charts.field(
        "low:Q",
        title="sequence number (bytes since the first)",
        scale=axes.scale(domain=[low, high + max((high - low) // 20, 1)], nice=False),
        axis=axes.axis(
            labelExpr="datum.value === 0 ? '0' : format(datum.value, '~s')", tickCount=6
        ),
    )
    return x, y


def _thin_segments(segments: pl.DataFrame, begin_ns: int, column_ns: int, span: int) -> charts.Data:
    """Turns segments into marks; segments that a picture cannot resolve share one."""
    cell = max(span // ROWS, 1)
    thinned = segments.group_by(
        "kind",
        time=(pl.col("time_ns") - begin_ns) // column_ns,
        cell=pl.col("low") // cell,
        maintain_order=True,
    ).agg(pl.col("time_ns").min(), pl.col("low").min(), pl.col("high").max())
    # Rare kinds are drawn last, on top of the others.
    order = pl.col("kind").replace_strict({kind: at for at, kind in enumerate(KINDS)})
    return (
        thinned.sort(order, "time_ns", "low")
        .select("kind", "low", "high", time_s=pl.col("time_ns") / 1e9)
        .to_dicts()
    )


def _thin_line(
    rows: pl.DataFrame, begin_ns: int, end_ns: int, column_ns: int, kind: str
) -> charts.Data:
    """Reduces a rising line to the first and the last value of each piece of time."""
    before = rows.filter(pl.col("time_ns") < begin_ns).tail(1)
    shown = pl.concat([before, rows.filter(pl.col("time_ns").is_between(begin_ns, end_ns))])
    column = (pl.col("time_ns") - begin_ns) // column_ns
    ends = shown.group_by(column.alias("column"), maintain_order=True).agg(
        pl.col("time_ns", "high").first(), last_ns=pl.col("time_ns").last(),
        last=pl.col("high").last(),
    )  # fmt: skip
    first = ends.select("time_ns", low="high")
    last = ends.select(time_ns="last_ns", low="last")
    points = pl.concat([first, last, last.tail(1).with_columns(time_ns=pl.lit(end_ns, pl.Int64))])
    points = points.unique(maintain_order=True).sort("time_ns", "low")
    return points.select("low", time_s=pl.col("time_ns") / 1e9, kind=pl.lit(kind)).to_dicts()
