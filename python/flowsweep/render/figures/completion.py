"""Figure `completion`: slowdown along every axis of numbers, a panel each, one scale for all.

`outcome_slowdowns` draws other outcomes in the same way.

If only RTT and rate were varied, their own figures show all of it, and this one is not drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.outcome_names import COMPLETION
from flowsweep.render import axes, charts, cuts, outcome_words, theme
from flowsweep.render.axis_lines import lines_of
from flowsweep.render.completion import LEVELS
from flowsweep.render.figure import Context, Figure, empty, panel_title, sentence, values
from flowsweep.render.panels import TIP, about, tip

if TYPE_CHECKING:
    from flowsweep.render.axis_lines import Line
    from flowsweep.render.theme import Series

QUERY = "completion"
OWN_FIGURES = ("rtt", "rate")
COLUMNS, GAP, HEIGHT, LEFT, MAX_PANELS = 4, 8, 110, 30, 24


def draw(context: Context) -> Figure | None:
    """Draws the slowdown along every axis of numbers."""
    every = context.rows(QUERY)
    rows = every.filter(pl.col("kind") == "number")
    if rows.filter(~pl.col("axis").is_in(OWN_FIGURES)).is_empty():
        return None
    return _draw(
        context,
        every.with_columns(
            outcome=pl.lit(COMPLETION),
            better=pl.lit("less"),
            value="completion_s",
            outcome_unit=pl.lit("s"),
        ),
        QUERY,
    )


def draw_outcomes(context: Context, query: str) -> Figure | None:
    """Draws how much worse each other outcome gets along every axis of numbers."""
    every = context.rows(query)
    return (
        None
        if every.filter(pl.col("kind") == "number").is_empty()
        else _draw(context, every, query)
    )


def _draw(context: Context, every: pl.DataFrame, query: str) -> Figure:
    rows = every.filter(pl.col("kind") == "number")
    is_time = not outcome_words.has_others(every["outcome"])
    ratio = "completion time ÷ baseline" if is_time else "times worse than at the baseline"
    usable = rows.filter(pl.col("slowdown").is_not_null())
    found = [
        (line, one, own)
        for one in context.series_in(usable)
        for outcome in context.select_series(usable, one)["outcome"].unique(maintain_order=True)
        for line in lines_of(usable)
        if not (
            own := line.rows_of(
                context.select_series(usable, one).filter(pl.col("outcome") == outcome)
            )
        ).is_empty()
    ]
    drawn = found[:MAX_PANELS]
    columns = min(max(len(drawn), 2), COLUMNS)
    alone = len({one for _, one, _ in drawn}) == 1
    width = (theme.FULL_WIDTH - (LEFT + GAP) * columns) // columns
    panels = [
        _panel(
            own,
            line,
            one,
            usable["slowdown"],
            width,
            named=_panel_title(own, one, alone=alone, is_time=is_time),
        )
        for line, one, own in drawn
    ]
    chart: Any = (
        charts.concat(*panels, columns=columns, spacing=GAP, align="all").properties(
            title=charts.title(
                ratio, fontSize=12, fontWeight=500, color=theme.MUTED,
                offset=6, frame="bounds",
            )
        )
        if panels
        else empty("no valid run to compare", theme.FULL_WIDTH, HEIGHT)
    )  # fmt: skip
    hidden = rows.filter(pl.col("slowdown").is_null()).select("app", "problem", "point").n_unique()
    return Figure(
        name=query,
        caption=sentence(
            f"Median {'completion time' if is_time else 'of each outcome'} at the points that vary "
            "one axis alone, all else as at the baseline; straight lines join the medians.",
            "Vertical rules: 95 % interval." if _has_interval(usable) else None,
            f"Not drawn: {numbers.plural(hidden, 'point')} "
            + (
                "without a valid run, of its own or at the baseline."
                if is_time
                else "without a valid run, or with an outcome of 0, of its own or at the baseline."
            )
            if hidden
            else None,
            cuts.describe(len(drawn), len(found), "lines are drawn", query),
        ),
        chart=chart,
        rows=context.rows(query),
    )


def _panel_title(rows: pl.DataFrame, one: Series, *, alone: bool, is_time: bool) -> str:
    """Returns the title of a panel: the values by which it differs from other panels."""
    parts = [] if alone else [one.label]
    parts += [] if is_time else [outcome_words.quantity(rows.row(0, named=True))]
    return " ".join(parts)


def _has_interval(rows: pl.DataFrame) -> bool:
    return rows.filter(pl.col("slowdown_low").is_not_null() & ~pl.col("is_reference")).height > 0


def _panel(
    rows: pl.DataFrame, line: Line, one: Series, every: pl.Series, width: int, *, named: str
) -> Any:
    x = line.channel(rows)
    y = axes.slowdown_y(every, title=None)
    places = [
        {
            "x": line.at(row["x"]),
            "slowdown": row["slowdown"],
            "low": row["slowdown_low"],
            "high": row["slowdown_high"],
            TIP: _tooltip(row, line),
        }
        for row in rows.sort(pl.col("x"), nulls_last=True).iter_rows(named=True)
    ]
    layers: list[Any] = [
        charts.Chart(values([{"slowdown": level}])).mark("rule", strokeDash=[2, 2]).encode(y=y)
        for level, _ in LEVELS
        if level <= axes.slowdown_top(every)
    ]
    joined = charts.Chart(values([{key: row[key] for key in ("x", "slowdown")} for row in places]))
    layers.append(joined.mark("line", color=one.colour, clip=True).encode(x=x, y=y))
    spread = [{**row, "slowdown": row["low"]} for row in places if row["low"] is not None]
    if spread:
        rule = charts.Chart(values(spread)).mark(
            "rule", strokeWidth=2, opacity=0.6, color=one.colour, clip=True
        )
        layers.append(rule.encode(x=x, y=y, y2="high:Q"))
    mark = charts.Chart(values(places)).mark(
        "point", size=40, shape=one.shape, color=one.colour, filled=True
    )
    layers.append(mark.encode(x=x, y=y))
    return charts.layer(*layers).properties(
        width=width,
        height=HEIGHT,
        title=panel_title("", named, one, width),
        description=about(
            y=f"{outcome_words.noun(rows['outcome'][0])} ÷ baseline"
            if rows["better"][0] == "less"
            else f"baseline ÷ {outcome_words.noun(rows['outcome'][0])}",
            application=one.label,
            axis=line.head,
        ),
    )


def _tooltip(row: dict[str, Any], line: Line) -> str:
    """Describes a point."""
    low, high = row["slowdown_low"], row["slowdown_high"]
    has_interval = low is not None and not row["is_reference"]
    return tip(
        line.describe(row["x"]),
        f"{numbers.estimate(row['slowdown'])}{numbers.TIMES} "
        + ("the baseline" if row["outcome"] == COMPLETION else "worse")
        + (f" {numbers.interval(low, high)}" if has_interval else ""),
        f"{numbers.estimate(row['value'])} {row['outcome_unit']}".strip() + ", median of "
        f"{numbers.plural(row['runs_used'], 'run')}",
    )
