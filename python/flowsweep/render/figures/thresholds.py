"""Figure `thresholds`: the thresholds of every application as a strip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from flowsweep import numbers
from flowsweep.analysis.need import ESTIMATED
from flowsweep.analysis.slowdown import MIN_RUNS
from flowsweep.outcome_names import word_level
from flowsweep.render import axes, brackets, charts, cuts, outcome_words, theme
from flowsweep.render.figure import Context, Figure, sentence, values
from flowsweep.render.panels import TIP, tip

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flowsweep.render.theme import Series

ROW_HEIGHT = 24
WIDEST = 500
# Pixels for the names at the left, least and most, and for names and plot together.
LEAST_LEFT, MOST_LEFT, BOTH = 90, 290, 660
LETTER = 6.3
# Only the first of an application's two rows has its name.
ROW_NAME = " : ".join(
    [f"indexof(datum.label, ', {last}') > 0 ? '{last}'" for last in ("50 %", "67 %")]
    + ["datum.label"]
)
AXES = (("rate", "rate needed (Mbit/s)"), ("rtt", "RTT tolerated (ms)"))


def draw(context: Context) -> Figure | None:
    """Draws the rate and RTT that each application needs."""
    rows = context.rows("thresholds").join(
        context.model("baselines").select("app", "problem", "buffer_bytes"),
        on=["app", "problem", "buffer_bytes"],
        nulls_equal=True,
    )
    if rows.is_empty():
        return None
    shown = context.series_in(rows)
    several = len(shown) > 1
    entries = _entries(context, rows, several=several)
    longest = max(len(f"{name}, 10 %") for name, _, _ in entries)
    left = round(min(MOST_LEFT, max(LEAST_LEFT, LETTER * longest)))
    panels = [
        _panel(context, swept, title, left, several=several)
        for axis, title in AXES
        for swept in [rows.filter(pl.col("axis") == axis)]
        if not swept.is_empty()
    ]
    # Room at the right, because a browser's font may be wider than the measured one.
    room = {"left": 4 + left // 8, "top": 8, "right": 40, "bottom": 4}
    chart: Any = charts.vconcat(*panels, spacing=26).properties(padding=room)
    drawn = rows.rows(named=True)
    return Figure(
        name="thresholds",
        heading="What each application needs" if len(shown) > 1 else f"What {shown[0].label} needs",
        caption=sentence(
            "Where the median of each outcome is 10 % (filled) and 50 % (open) worse than at the "
            "baseline."
            if outcome_words.has_others(rows["outcome"])
            else "Where the median completion time is 10 % (filled) and 50 % (open) above the "
            "baseline.",
            outcome_words.MORE_IS_BETTER if outcome_words.grows_better(drawn) else None,
            "Bars: 95 % intervals, from one tried point to another."
            if any(map(_has_bar, drawn))
            else None,
            "The mark inside assumes a straight line between points."
            if any(_has_bar(row) and _is_located(row) for row in drawn)
            else None,
            f"Thin line: the tried points beside it, by their medians alone; an interval needs "
            f"{MIN_RUNS} runs a point."
            if any(map(_is_by_medians, drawn))
            else None,
            "The axis covers the range that was tried.",
            cuts.describe(
                rows.height,
                context.rows("thresholds").height,
                "thresholds, those with the socket buffer of the baseline, are drawn",
                "thresholds",
            ),
        ),
        chart=chart,
        rows=context.rows("thresholds"),
    )


def _entries(
    context: Context, rows: pl.DataFrame, *, several: bool
) -> list[tuple[str, Series, str]]:
    """Returns the name, application and outcome of each set of thresholds.

    `several`: the figure has several applications; a name is empty if there is only one entry.
    """
    found = []
    for one in context.series_in(rows):
        outcomes = context.select_series(rows, one)["outcome"].unique(maintain_order=True).to_list()
        named = outcome_words.has_others(outcomes)
        for outcome in outcomes:
            parts = [one.label] if several else []
            parts += [outcome_words.noun(outcome)] if named else []
            found.append((" ".join(parts), one, outcome))
    return found


def _row_name(name: str, row: dict[str, Any]) -> str:
    level = word_level(row["better"], row["level"])
    return f"{name}, {level}" if name else f"within {level}"


def _panel(context: Context, rows: pl.DataFrame, title: str, left: int, *, several: bool) -> Any:
    """Draws the thresholds of one axis, for the applications for which it was varied."""
    drawn = [
        (_row_name(name, row), one, row)
        for name, one, outcome in _entries(context, rows, several=several)
        for row in context.select_series(rows, one)
        .filter(pl.col("outcome") == outcome)
        .sort("level")
        .iter_rows(named=True)
    ]
    width = min(WIDEST, BOTH - left)
    ends = [value for name in ("mildest", "hardest") for value in rows[name] if value]
    if not ends:
        ends = [1.0, 10.0]
    low, high = min(ends), max(ends)
    if low == high:
        low, high = low / 2, high * 2
    ticks = axes.log_ticks(low, high)
    names = list(dict.fromkeys(name for name, _, _ in drawn))
    x = charts.field(
        "x:Q",
        title=title,
        scale=axes.scale(type="log", domain=[low / 1.04, high * 1.04], nice=False),
        axis=axes.axis(values=ticks, labelExpr=axes.number_labels(ticks), grid=True),
    )
    y = charts.field(
        "row:N",
        title=None,
        scale=axes.scale(domain=names),
        axis=axes.axis(
            grid=False,
            labelExpr=ROW_NAME,
            labelLimit=left,
            labelColor=theme.TEXT,
            minExtent=left,
        ),
    )
    layers: list[Any] = []
    for row_name, one, row in drawn:
        layers += _marks(row, one, Place(row_name, x, y, low, high, width))
    return charts.layer(*layers).properties(width=width, height=ROW_HEIGHT * len(names))


class Place(NamedTuple):
    """Where the marks of a threshold go: its row, the axes, and the ends and width of the plot."""

    row_name: str
    x: charts.Channel
    y: charts.Channel
    low: float
    high: float
    width: int


def _marks(row: dict[str, Any], one: Series, place: Place) -> list[charts.Chart]:
    """Draws the range of a threshold, its estimate, and both in words."""
    words = describe(row, row["unit"])
    about = _describe_place(row, place.row_name, words)
    return [
        *_draw_range(row, one, place, about),
        *_draw_estimate(row, one, place, about),
        _draw_words(row, one, place, words),
    ]


def _describe_place(row: dict[str, Any], row_name: str, words: str) -> str:
    tried = [row[end] for end in ("easier", "harder")]
    return tip(
        row_name,
        words,
        f"tried beside it: {numbers.estimate(tried[0])} and {numbers.estimate(tried[1])} "
        f"{row['unit']}"
        if None not in tried
        else None,
    )


def _draw_range(
    row: dict[str, Any], one: Series, place: Place, about: str
) -> Iterator[charts.Chart]:
    """Draws the interval as a bar or, with too few runs, the tried points as a thin line."""
    if _is_by_medians(row):
        easier = row["easier"] or (place.low if row["axis"] == "rtt" else place.high)
        between = charts.Chart(
            values([{"row": place.row_name, "x": easier, "end": row["harder"]}])
        ).mark("rule", strokeWidth=1, color=one.colour, opacity=0.7)
        yield between.encode(x=place.x, x2="end:Q", y=place.y)
    elif _has_bar(row):
        low, high = row["low"] or place.low, row["high"] or place.high
        bar = charts.Chart(
            values([{"row": place.row_name, "x": low, "end": high, TIP: about}])
        ).mark("bar", height=6, opacity=0.35, color=one.colour, clip=True)
        yield bar.encode(x=place.x, x2="end:Q", y=place.y)


def _draw_estimate(
    row: dict[str, Any], one: Series, place: Place, about: str
) -> Iterator[charts.Chart]:
    """Draws a point, filled for 10 %; an arrow at the edge if no tried point was that bad."""
    if _is_located(row):
        at = charts.Chart(values([{"row": place.row_name, "x": row["estimate"], TIP: about}]))
        shape: dict[str, Any] = {"size": 60, "shape": one.shape}
        if row["level"] < 1.3:
            shape |= {"filled": True, "color": one.colour}
        else:
            # An open point hides the line behind it.
            shape |= {"fill": theme.PAGE, "stroke": one.colour}
        yield at.mark("point", **shape, strokeWidth=1.8).encode(x=place.x, y=place.y)
    elif row["state"] == "never":
        direction = "triangle-right" if row["axis"] == "rtt" else "triangle-left"
        at = charts.Chart(values([{"row": place.row_name, "x": row["hardest"], TIP: about}]))
        arrow = at.mark("point", size=70, shape=direction, filled=False, color=one.colour)
        yield arrow.encode(x=place.x, y=place.y)


def _draw_words(row: dict[str, Any], one: Series, place: Place, words: str) -> charts.Chart:
    """Writes the threshold in words at the right, in italics if it has no estimate."""
    is_known = _is_located(row)
    text = charts.Chart(values([{"row": place.row_name, "text": words}])).mark(
        "text",
        align="left",
        fontStyle="normal" if is_known else "italic",
        color=one.text_colour if is_known else theme.MUTED,
    )
    return text.encode(x=charts.value(place.width + 12), y=place.y, text="text:N")


def _is_located(row: dict[str, Any]) -> bool:
    return row["state"] in ESTIMATED and brackets.is_located(row)


def _is_by_medians(row: dict[str, Any]) -> bool:
    """Returns whether a threshold is stated with too few runs for an interval."""
    return row["state"] in ESTIMATED and row["low"] is None and row["high"] is None


def _has_bar(row: dict[str, Any]) -> bool:
    return _is_bracketed(row) or (row["state"] in ESTIMATED and not _is_by_medians(row))


def _is_bracketed(row: dict[str, Any]) -> bool:
    """Returns whether a threshold is only known to be between two tried points."""
    ends = (row["low"], row["high"])
    return row["state"] == "cannot tell" and None not in ends


def describe(row: dict[str, Any], unit: str) -> str:
    """Describes one threshold in a few words."""
    state = row["state"]
    if state in ESTIMATED:
        return brackets.brief(row, unit)
    if state == "never":
        side = ">" if row["axis"] == "rtt" else "<"
        return f"{side} {numbers.estimate(row['hardest'])} {unit}: not reached"
    if state == "at once":
        return "already at the mildest point"
    if state == "not monotone":
        return f"{outcome_words.faster(row)} again"
    if _is_bracketed(row):
        low, high = (numbers.estimate(row[end]) for end in ("low", "high"))
        return f"{low} to {high} {unit}, no closer"
    return "cannot tell"
