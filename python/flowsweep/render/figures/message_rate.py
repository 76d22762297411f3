"""Figure `message_rate`: messages per second and their sizes, per point of the sweep."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from flowsweep import numbers
from flowsweep.render import axes, charts, doubts, points, theme
from flowsweep.render.figure import Context, Figure, refused, sentence, values
from flowsweep.render.panels import TIP, tip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import polars as pl

    from flowsweep.render.theme import Series

ROW = 24
GAP = 40
#: A log axis spans at least this factor, so that it has two ticks.
NARROWEST = 8
#: A point with a larger share of guessed ends is open: messages may be split or joined.
MAX_GUESSED = 0.2
#: If there may be more than this many times the counted messages, the count is a lower bound.
BOUND = 1.1
AT_LEAST = "≥ "
WITHIN = "here by a tenth at most, unless some are smaller than all that were sent alone."


def draw(context: Context) -> Figure | None:
    """Draws messages per second, and quantiles of their size."""
    rows = context.rows("message_rate")
    left_out = doubts.note_left_out(context, "has_content")
    if rows.is_empty():
        return refused("message_rate", rows, left_out)
    shown = context.series_in(rows)
    frames = [context.select_series(rows, one) for one in shown]
    left = max(points.width(points.labels(frame)) for frame in frames)
    sizes = _span([*rows["p10_bytes"].clip(1), *rows["max_bytes"].clip(1)])
    panels = []
    for frame, one in zip(frames, shown, strict=True):
        panels += _panels(frame, one, left, sizes, alone=len(shown) == 1 or context.stands_alone)
    guessed = (float(rows["guessed_share"].min()), float(rows["guessed_share"].max()))  # type: ignore[arg-type]
    doubtful = int(rows["doubtful_captures"].sum())
    messages = max(int(rows["messages"].sum()), 1)
    far = float((rows["far_share"] * rows["messages"]).sum()) / messages
    bounds = [row for row in rows.iter_rows(named=True) if _is_bound(row)]
    return Figure(
        name="message_rate",
        caption=sentence(
            f"{numbers.plural(int(rows['messages'].sum()), 'message')} {context.terms.between} "
            f"{numbers.plural(int(rows['runs'].sum()), context.terms.run)}, begun "
            "within the time of the run, each in the capture of the host that sent it"
            + (f"; {numbers.share(far)} seen only far from their sender." if far else "."),
            doubts.note_udp(rows),
            "Left: median over the runs of a point; line: from the run with fewest to the one "
            "with most."
            if rows["runs"].max() > 1  # type: ignore[operator]
            else None,
            f"Right: point median, bar 10 to 90 %, tick 99 %, {numbers.TIMES} mean.",
            "Open points and ≥ are lower bounds or rest on guessed ends: do not compare them."
            if guessed[1] > MAX_GUESSED or bounds
            else None,
            f"{numbers.plural(doubtful, 'capture')} of grade C: {doubts.read_with_notes(doubtful)}"
            if doubtful
            else None,
            left_out,
            points.note_left_out(frames, "message_rate"),
        ),
        notes=sentence(
            "Inferred from headers. Writes that were queued together are one message, so numbers "
            "are lower bounds, and sizes upper ones"
            + (f". {_at_least(bounds)}" if bounds else f": {WITHIN}"),
            "A pause or a PUSH flag alone marks the end, and may lie within a message: "
            f"{numbers.shares(*guessed)} of the ends, per {context.terms.point}."
            + (
                f" Open points: more than {numbers.share(MAX_GUESSED)} of them, or a lower bound, "
                "so neither number nor size may be compared with others."
                if guessed[1] > MAX_GUESSED or bounds
                else ""
            ),
        ),
        chart=charts.concat(*panels, columns=2, align="each", spacing=GAP),
        rows=rows,
    )


def _is_bound(row: dict[str, Any]) -> bool:
    """Returns whether there may be many more messages than were counted."""
    most = row["messages_s_most"]
    return most is None or most > BOUND * row["messages_s"]


def _format_rate(row: dict[str, Any]) -> str:
    """Formats messages per second, with a sign if they are a lower bound."""
    rate = numbers.estimate(row["messages_s"])
    return rate if row["messages_s"] is None or not _is_bound(row) else AT_LEAST + rate


def _at_least(bounds: list[dict[str, Any]]) -> str:
    """Explains the points that may have many more messages."""
    shares = [row["merged_bytes_share"] for row in bounds]
    return (
        f"{AT_LEAST.strip()}: there may be more than {numbers.share(BOUND - 1)} more, because "
        f"{numbers.shares(min(shares), max(shares))} of the payload waited in a queue, or was "
        "not seen at its sender; the table has the most that it can be, where that is known."
    )


def _tooltip(name: str, row: dict[str, Any]) -> str:
    """Describes the messages at a point."""
    return tip(
        name,
        f"{_format_rate(row)} messages/s "
        f"({numbers.estimate(row['messages_s_min'])} to {numbers.estimate(row['messages_s_max'])})",
        f"payload: 10 % up to {numbers.size(row['p10_bytes'])}, "
        f"half up to {numbers.size(row['p50_bytes'])}, "
        f"90 % up to {numbers.size(row['p90_bytes'])}, "
        f"99 % up to {numbers.size(row['p99_bytes'])}",
    )


def _span(ends: Iterable[float | None]) -> tuple[float, float]:
    """Returns the range of the values above 0, with room for marks at its ends and two ticks."""
    above = [end for end in ends if end]
    least, most = min(above, default=1.0) / 1.4, max(above, default=1.0) * 1.4
    wider = max(1.0, math.sqrt(NARROWEST * least / most))
    return least / wider, most * wider


def _panels(
    rows: pl.DataFrame, one: Series, left: int, sizes: tuple[float, float], *, alone: bool
) -> list[Any]:
    names = dict(zip(map(tuple, rows.rows()), points.labels(rows), strict=True))
    shown = points.choose_drawn(rows)
    order = [names[row] for row in shown.rows()]
    per_second = _span([*shown["messages_s_min"], *shown["messages_s_max"]])
    marks = [
        {
            "point": name,
            # if a run has no messages, the line extends to the end of the axis
            "low": None
            if row["messages_s_min"] is None
            else max(row["messages_s_min"], per_second[0]),
            # 0 has no place on this axis
            "x": row["messages_s"] or None,
            "high": row["messages_s_max"],
            "rate": _format_rate(row),
            # a message has at least one byte; 0 has no place on this axis
            **{key: max(row[f"{key}_bytes"], 1) for key in ("p10", "p50", "p90", "p99", "mean")},
            "filled": row["guessed_share"] <= MAX_GUESSED and not _is_bound(row),
            TIP: _tooltip(name, row),
        }
        for name, row in zip(order, shown.iter_rows(named=True), strict=True)
    ]
    room = theme.FULL_WIDTH - left - GAP
    widths = (round(room * 0.4), round(room * 0.6))
    rate_axis = partial(axes.log_channel, "messages per second", per_second, 6)
    size_axis = partial(axes.log_channel, "payload of a message (bytes)", sizes, 6)
    panels = [
        _rate_panel(marks, one, rate_axis, _y(order, left)),
        _size_panel(marks, one, size_axis, _y(order, None)),
    ]
    height = ROW * len(order)
    panels = [
        panel.properties(width=width, height=height)
        for panel, width in zip(panels, widths, strict=True)
    ]
    if alone:
        return panels
    # The name may extend to the panel beside it, which repeats it.
    limits = (widths[0] + GAP, widths[1])
    return [
        panel.properties(
            title=charts.title(one.label, color=one.text_colour, frame="group", limit=limit - 24)
        )
        for panel, limit in zip(panels, limits, strict=True)
    ]


def _rate_panel(
    marks: list[dict[str, Any]], one: Series, x: Callable[[str], charts.Channel], y: charts.Channel
) -> Any:
    """Draws messages per second: the median of the runs, on a line from minimum to maximum."""
    base = charts.Chart(values(marks))
    words = base.mark("text", align="left", dx=5, fontSize=11, color=theme.MUTED)
    return charts.layer(
        base.mark("rule", strokeWidth=2, opacity=0.6, color=one.colour).encode(
            x=x("low:Q"), x2="high:Q", y=y
        ),
        *(dots.encode(x=x("x:Q"), y=y) for dots in _dots(marks, one)),
        words.encode(x=charts.field("high:Q"), y=y, text="rate:N"),
    )


def _size_panel(
    marks: list[dict[str, Any]], one: Series, x: Callable[[str], charts.Channel], y: charts.Channel
) -> Any:
    """Draws message sizes: a bar from the 10 % to the 90 % quantile, with median, 99 %, mean."""
    base = charts.Chart(values(marks))
    return charts.layer(
        base.mark("bar", height=6, opacity=0.35, color=one.colour).encode(
            x=x("p10:Q"), x2="p90:Q", y=y
        ),
        base.mark("tick", thickness=2, height=12, color=one.colour).encode(x=x("p99:Q"), y=y),
        base.mark("text", text=numbers.TIMES, fontSize=14, color=theme.TEXT).encode(
            x=x("mean:Q"), y=y
        ),
        *(dots.encode(x=x("p50:Q"), y=y) for dots in _dots(marks, one)),
    )


def _dots(marks: list[dict[str, Any]], one: Series) -> list[Any]:
    """Makes points, open if the number of messages is in doubt; the filled ones come first."""
    return [
        charts.Chart(values([row for row in marks if row["filled"] == is_filled])).mark(
            "point",
            shape=one.shape,
            size=45,
            color=one.colour,
            filled=is_filled,
            strokeWidth=1.5,
            **({} if is_filled else {"fill": theme.PAGE}),
        )
        for is_filled in (True, False)
    ]


def _y(order: list[str], left: int | None) -> charts.Channel:
    """Returns the axis of points, with their names in `left` pixels; None: without names."""
    axis = axes.axis(grid=True, labels=left is not None, minExtent=left or 0)
    return charts.field(
        "point:N", title=None, sort=order, scale=axes.scale(domain=order), axis=axis
    )
