"""Figures `completion_by_<axis>`: slowdown along an axis.

The line between two medians is the one that the estimates of the thresholds assume (straight in
RTT and in 1/rate): if the medians rise, the drawn crossing is the printed one.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.analysis.need import ESTIMATED
from flowsweep.outcome_names import COMPLETION
from flowsweep.render import axes, brackets, charts, completion_caption, theme
from flowsweep.render.figure import Context, Figure, empty, sentence, values
from flowsweep.render.panels import TIP, about, tip

if TYPE_CHECKING:
    from flowsweep.experiment.axis import Axis
    from flowsweep.render.theme import Series

SAMPLES = 8
HEIGHT, HALF_HEIGHT = 260, 190
LEVELS = ((1.1, "1.1 gradual"), (1.5, "1.5 severe"))


def figure(context: Context, axis: Axis) -> Figure | None:
    """Draws completion time against one axis, the others at the baseline."""
    rows = context.rows(f"completion_by_{axis.name}")
    if rows.is_empty():
        return None
    shown = context.series_in(rows)
    usable = rows.filter(pl.col("slowdown").is_not_null() & (pl.col(axis.columns[0].shown) > 0))
    chart: Any
    if usable.is_empty():
        chart = empty("no valid run to compare", theme.FULL_WIDTH, HALF_HEIGHT)
    elif len(shown) == 1:
        size = (theme.FULL_WIDTH, HEIGHT)
        chart = _panel(context, axis, shown[0], shown, size)
    else:
        panels = [
            _panel(context, axis, one, shown, (theme.HALF_WIDTH, HALF_HEIGHT)).properties(
                title=charts.title(one.label, color=one.text_colour)
            )
            for one in shown
        ]
        chart = charts.concat(*panels, columns=2, align="all")
    return Figure(
        name=f"completion_by_{axis.name}",
        caption=completion_caption.caption(context, axis, rows),
        notes=sentence(
            None if rows["runs_left_out"].sum() else "No run at these points was left out.",
            f"Lines: linear in {'RTT' if axis.name == 'rtt' else '1/rate'}, as the thresholds.",
        ),
        chart=chart,
        rows=rows,
    )


def _panel(
    context: Context,
    axis: Axis,
    one: Series,
    shown: list[Series],
    size: tuple[int, int],
) -> Any:
    """Draws one application, with the others behind it as thin lines."""
    shown_column = axis.columns[0].shown
    everything = context.rows(f"completion_by_{axis.name}").filter(
        pl.col("slowdown").is_not_null() & (pl.col(shown_column) > 0)
    )
    runs = _runs_at_points(context, axis)
    drawn = pl.concat([runs["slowdown"], everything["slowdown"]])
    low, high = (float(value) for value in _ends(everything[shown_column]))
    span = (low * 0.94, high * 1.06)
    ticks = axes.log_ticks(low * 0.95, high * 1.05)
    x = _axis_channel(axis, span, ticks, is_measured=bool(runs["is_x_measured"].any()))
    y = axes.slowdown_y(drawn)
    mild_end = span[0] if axis.name == "rtt" else span[1]
    rows = context.select_series(everything, one)
    layers: list[Any] = [
        *_levels(x, y, axis, mild_end, axes.slowdown_top(drawn)),
        *(
            _context_line(context.select_series(everything, other), axis, x, y)
            for other in shown
            if other != one
        ),
        *_threshold_marks(context, axis, one, x, span),
        _own_line(rows, one, axis, x, y),
        *_runs(context.select_series(runs, one), one, x, y),
        *_points(rows, one, axis, x, y),
    ]
    return charts.layer(*layers).properties(
        width=size[0], height=size[1], description=about(application=one.label)
    )


def _ends(column: pl.Series) -> tuple[Any, Any]:
    return column.min(), column.max()


def _runs_at_points(context: Context, axis: Axis) -> pl.DataFrame:
    """Returns the runs along an axis, each at its point's x, so that only times scatter."""
    keys = ["app", "problem", "outcome", "axis", "buffer_bytes", "x_asked"]
    return (
        context.model("sweep_runs")
        .filter((pl.col("axis") == axis.name) & (pl.col("outcome") == COMPLETION))
        .drop("x")
        .join(context.model("sweep_points").select(*keys, "x"), on=keys, nulls_equal=True)
    )


def _axis_channel(
    axis: Axis, span: tuple[float, float], ticks: list[float], *, is_measured: bool
) -> charts.Channel:
    origin = "measured" if is_measured else "as asked"
    return charts.field(
        "x:Q",
        title=f"{axis.label} ({axis.columns[0].unit}, {origin})",
        scale=axes.scale(type="log", domain=list(span), nice=False),
        axis=axes.axis(values=ticks, labelExpr=axes.number_labels(ticks)),
    )


def _context_line(
    rows: pl.DataFrame, axis: Axis, x: charts.Channel, y: charts.Channel
) -> charts.Chart:
    """Draws the curve of another application, thin and grey."""
    line = charts.Chart(values(_interpolate(rows, axis))).mark(
        "line", color=theme.CONTEXT, strokeWidth=1, clip=True
    )
    return line.encode(x=x, y=y, detail="buffer:N")


def _own_line(
    rows: pl.DataFrame, one: Series, axis: Axis, x: charts.Channel, y: charts.Channel
) -> charts.Chart:
    """Draws the curve of the panel's application."""
    line = charts.Chart(values(_interpolate(rows, axis))).mark("line", color=one.colour, clip=True)
    return line.encode(x=x, y=y, strokeDash=_dash(rows), detail="buffer:N")


def _levels(
    x: charts.Channel, y: charts.Channel, axis: Axis, mild_end: float, top: float
) -> list[charts.Chart]:
    """Draws dotted rules at 1.1 and 1.5, with labels on the mild side, which has no curve there."""
    rows = [
        {"slowdown": level, "x": mild_end, "text": text} for level, text in LEVELS if level <= top
    ]
    data = values(rows)
    rule = charts.Chart(data).mark("rule", strokeDash=[2, 2], color=theme.MUTED).encode(y=y)
    words = charts.Chart(data).mark(
        "text",
        align="left" if axis.name == "rtt" else "right",
        dx=4 if axis.name == "rtt" else -4,
        dy=-6,
        fontSize=11,
        color=theme.MUTED,
    )
    return [rule, words.encode(x=x, y=y, text="text:N")]


def _interpolate(rows: pl.DataFrame, axis: Axis) -> list[dict[str, Any]]:
    """Samples each segment between two medians along the interpolant."""
    samples: list[dict[str, Any]] = []
    for buffer in sorted(rows["buffer_bytes"].unique().to_list(), key=lambda size: size or 0):
        line = rows.filter(pl.col("buffer_bytes").eq_missing(pl.lit(buffer))).sort(
            axis.columns[0].shown
        )
        points = list(zip(line[axis.columns[0].shown], line["slowdown"], strict=True))
        for (x0, y0), (x1, y1) in itertools.pairwise(points):
            for sample in range(SAMPLES + 1):
                part = sample / SAMPLES
                if axis.name == "rtt":
                    x = x0 + part * (x1 - x0)
                else:
                    x = 1 / (1 / x0 + part * (1 / x1 - 1 / x0))
                samples.append({"x": x, "slowdown": y0 + part * (y1 - y0), "buffer": str(buffer)})
    return samples


def _dash(rows: pl.DataFrame) -> Any:
    """Encodes the socket buffer as dashes, if there are several: the longer, the larger."""
    sizes = sorted(rows["buffer_bytes"].unique().to_list(), key=lambda size: size or 2**62)
    if len(sizes) < 2:
        return charts.value([1, 0])
    dashes = [[2, 3], [5, 3], [8, 3], [12, 3]][: len(sizes) - 1]
    return charts.field(
        "buffer:N",
        scale=axes.scale(domain=[str(size) for size in sizes], range=[*dashes, [1, 0]]),
        legend=None,
    )


def _runs(
    runs: pl.DataFrame, one: Series, x: charts.Channel, y: charts.Channel
) -> list[charts.Chart]:
    """Draws valid runs as small dots and others as crosses, never joined."""
    timed = runs.filter(pl.col("slowdown").is_not_null() & (pl.col("x") > 0))
    marks = []
    used = timed.filter("is_used")
    if 0 < used.height <= completion_caption.MAX_SINGLE_RUNS:
        dots = charts.Chart(values([_run(row) for row in used.iter_rows(named=True)])).mark(
            "point", size=14, opacity=0.45, color=one.colour, clip=True
        )
        marks.append(dots.encode(x=x, y=y))
    refused = timed.filter(~pl.col("is_used"))
    if not refused.is_empty():
        cross = charts.Chart(values([_run(row) for row in refused.iter_rows(named=True)])).mark(
            "point", shape="cross", angle=45, size=90, color=theme.BAD, filled=True
        )
        marks.append(cross.encode(x=x, y=y))
    return marks


def _run(row: dict[str, Any]) -> dict[str, Any]:
    """Returns the mark of a run."""
    reason = None if row["is_used"] else f"does not count: {row['reason'] or row['status']}"
    words = tip(row["run"], f"{numbers.estimate(row['slowdown'])}{numbers.TIMES}", reason)
    return {"x": row["x"], "slowdown": row["slowdown"], TIP: words}


def _median(row: dict[str, Any], axis: Axis) -> str:
    """Describes a point."""
    unit = axis.columns[0].unit
    low, high = row["slowdown_low"], row["slowdown_high"]
    size = row["buffer_bytes"]
    return tip(
        f"{numbers.estimate(row['x'])} {unit}",
        f"asked for {numbers.plain(row[axis.columns[0].asked])} {unit}"
        if row[axis.columns[0].asked] is not None
        else None,
        f"{numbers.estimate(row['slowdown'])}{numbers.TIMES} the baseline"
        + ("" if low is None or row["is_baseline"] else f" {numbers.interval(low, high)}"),
        f"{numbers.estimate(row['completion_s'])} s, median of "
        f"{numbers.plural(row['runs_used'], 'run')}",
        f"{numbers.plural(row['runs_left_out'], 'run')} left out" if row["runs_left_out"] else None,
        f"socket buffer {numbers.size(size)}" if size else None,
    )


def _points(
    rows: pl.DataFrame, one: Series, axis: Axis, x: charts.Channel, y: charts.Channel
) -> list[charts.Chart]:
    """Draws medians and their intervals."""
    data = rows.rename({axis.columns[0].shown: "x"})
    marks = []
    ranges = data.filter(pl.col("slowdown_low").is_not_null() & ~pl.col("is_baseline"))
    if not ranges.is_empty():
        columns = ranges.select("x", "slowdown_low", "slowdown_high").to_dicts()
        for row in columns:
            row["slowdown"] = row.pop("slowdown_low")
        rule = charts.Chart(values(columns)).mark(
            "rule", strokeWidth=2, opacity=0.6, color=one.colour, clip=True
        )
        marks.append(rule.encode(x=x, y=y, y2="slowdown_high:Q"))
    inside = [
        {"x": row["x"], "slowdown": row["slowdown"], TIP: _median(row, axis)}
        for row in data.iter_rows(named=True)
    ]
    point = charts.Chart(values(inside)).mark("point", size=45, shape=one.shape, color=one.colour)
    marks.append(point.encode(x=x, y=y))
    return marks


def _threshold_marks(
    context: Context, axis: Axis, one: Series, x: charts.Channel, span: tuple[float, float]
) -> list[charts.Chart]:
    """Draws a rule at each located threshold, a band for its interval if it has one, its number."""
    thresholds = context.select_series(context.rows("thresholds"), one).filter(
        (pl.col("axis") == axis.name)
        & (pl.col("outcome") == COMPLETION)
        & pl.col("state").is_in(ESTIMATED)
    )
    if thresholds["buffer_bytes"].n_unique() > 1:
        return []
    marks: list[charts.Chart] = []
    for row in filter(brackets.is_located, thresholds.iter_rows(named=True)):
        level = f"{(row['level'] - 1) * 100:.0f} %"
        words = f"{level}: {brackets.brief(row, axis.columns[0].unit)}"
        if row["low"] is not None and row["high"] is not None:
            band = charts.Chart(values([{"x": row["low"], "end": row["high"]}])).mark(
                "rect", opacity=0.16, color=one.colour, clip=True
            )
            marks.append(band.encode(x=x, x2="end:Q", y=charts.value(0), y2=charts.value("height")))
        data = values([{"x": row["estimate"], "text": words}])
        rule = charts.Chart(data).mark("rule", strokeWidth=1.5, color=one.colour, opacity=0.55)
        marks.append(rule.encode(x=x))
        # On the side with more room, near the top: on the mild side the curve is below it.
        part = math.log(row["estimate"] / span[0]) / math.log(span[1] / span[0])
        is_left = part > (0.4 if axis.name == "rtt" else 0.6)
        text = charts.Chart(data).mark(
            "text",
            align="right" if is_left else "left",
            dx=-5 if is_left else 5,
            color=one.text_colour,
            fontSize=11,
        )
        place = 8 if row["level"] < 1.3 else 24
        marks.append(text.encode(x=x, y=charts.value(place), text="text:N"))
    return marks
