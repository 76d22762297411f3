"""Figure `transfer_times`: how long transfers take, by size."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.render import axes, charts, doubts, equal_rates, points, theme
from flowsweep.render.figure import Context, Figure, sentence, values
from flowsweep.render.figures import transfer_activity
from flowsweep.render.panels import TIP, tip

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowsweep.render.theme import Series

#: The ends of the axes: bytes, and seconds.
Spans = tuple[tuple[float, float], tuple[float, float]]
NAME = "transfer_times"
RATES = ((1e6, "1 Mbit/s"), (1e7, "10"), (1e8, "100"), (1e9, "1 Gbit/s"))


def draw(context: Context) -> Figure | None:
    """Draws how long transfers of each size take, at the baseline and the slowest point."""
    everything = context.rows(NAME)
    rows = _select_transfers(everything)
    applications = _list_busy(context, rows)
    if not applications:
        return None
    rows = pl.concat([context.select_series(rows, one) for one in applications])
    return Figure(
        name=NAME,
        caption=sentence(
            f"{numbers.plural(int(rows['transfers'].sum()), 'transfer')} of the valid runs, "
            "between sites where there are several.",
            doubts.note_accompanied(context),
            "Classes of size from 1, 2 or 5 times a power of ten; one mark for each class and "
            "direction between two sites: median, and the line from 10 to 90 %. Filled: at the "
            "baseline; open: at the point where transfers take longest.",
            _describe_left_out(context, everything, rows, applications),
            doubts.note_traffic(context) if "connections" in set(rows["source"]) else None,
            transfer_activity.note_omitted(context, rows, NAME),
            _describe_sources(set(rows["source"])),
        ),
        chart=_draw_panels(context, rows, applications),
        rows=everything,
    )


def _select_transfers(rows: pl.DataFrame) -> pl.DataFrame:
    """Selects transfers that take time; only those between sites if the application has any."""
    is_between = pl.col("from_site") != pl.col("to_site")
    keys = ("app", "problem")
    timed = rows.filter(pl.col("duration_s_p50") > 0)
    return timed.filter(is_between.over(*keys) | ~is_between.any().over(*keys))


def _list_busy(context: Context, rows: pl.DataFrame) -> list[Series]:
    """Lists the applications whose transfers come and go."""
    busy = context.query_figure(transfer_activity.NAME, transfer_activity.BUSY)
    names = set(busy.select("app", "problem").rows())
    return [one for one in context.series_in(rows) if (one.app, one.problem) in names]


def _draw_panels(context: Context, rows: pl.DataFrame, applications: list[Series]) -> Any:
    spans = _span(rows)
    is_alone = len(applications) == 1
    size = (theme.FULL_WIDTH - 70, 270) if is_alone else (theme.HALF_WIDTH - 20, 200)
    panels = [
        _times_panel(context.select_series(rows, one), one, spans, size) for one in applications
    ]
    return panels[0] if is_alone else charts.concat(*panels, columns=2, align="all")


def _describe_left_out(
    context: Context, everything: pl.DataFrame, rows: pl.DataFrame, applications: list[Series]
) -> str | None:
    """States how many transfers of these applications are not drawn, and why."""
    every = pl.concat([context.select_series(everything, one) for one in applications])
    left_out = int(every["transfers"].sum()) - int(rows["transfers"].sum())
    if not left_out:
        return None
    return (
        f"Not among them: {numbers.count(left_out)} that stayed within a site, or of whose class "
        f"half took no time, as one packet does; all: flowsweep query {NAME} DIR."
    )


def _describe_sources(sources: set[str]) -> str:
    if sources == {"application"}:
        return "Dotted: equal goodput. Spans from the application's record."
    return "Dotted: equal goodput. Without such a record a transfer is a connection with payload."


def _span(rows: pl.DataFrame) -> Spans:
    """Returns the ends of bytes and seconds, in whole decades around all marks."""

    def decades(low: float, high: float) -> tuple[float, float]:
        bottom, top = math.floor(math.log10(low)), math.ceil(math.log10(high) - 1e-9)
        return 10.0**bottom, 10.0 ** max(top, bottom + 1)

    least = float(rows.filter(pl.col("duration_s_p10") > 0)["duration_s_p10"].min() or 1e-3)  # type: ignore[arg-type]
    return (
        decades(float(rows["low_bytes"].min()), float(rows["high_bytes"].max())),  # type: ignore[arg-type]
        decades(least, float(rows["duration_s_p90"].max())),  # type: ignore[arg-type]
    )


def _times_panel(rows: pl.DataFrame, one: Series, spans: Spans, size: tuple[int, int]) -> Any:
    """Draws the baseline filled, and the point where transfers take longest open."""
    x, y = _size_axis(spans[0]), _time_axis(spans[1])
    by_point = rows.group_by([*points.COLUMNS, "is_baseline"], maintain_order=True).agg(
        pl.col("duration_s_p50").median().alias("typical")
    )
    names = points.labels(by_point)
    baseline, slowest = _find_baseline(by_point), _find_slowest(by_point)
    slopes = [(8 / rate, name) for rate, name in RATES]
    layers = equal_rates.draw_lines(slopes, x, y("y:Q"), spans, (4, -6))
    for place in dict.fromkeys([baseline, slowest]):
        at_point = _select_point(rows, by_point.row(place, named=True))
        is_baseline = place == baseline
        # The marks of the two points are side by side.
        shift = 0.95 if is_baseline else 1.05
        data = values(_marks(at_point, names[place], shift, spans[1][0]))
        layers += _draw_marks(data, one, one.colour if is_baseline else theme.PAGE, x, y)
    title = one.label if len(one.label) < 24 else one.app
    if slowest != baseline:
        title += f"; open: {names[slowest]}"
    return charts.layer(*layers).properties(
        width=size[0],
        height=size[1],
        title=charts.title(title, color=one.text_colour, fontSize=12, frame="group", limit=size[0]),
    )


def _size_axis(span: tuple[float, float]) -> charts.Channel:
    ticks = axes.log_ticks(*span)
    return charts.field(
        "x:Q",
        title="size (bytes)",
        scale=axes.scale(type="log", domain=list(span), nice=False),
        axis=axes.axis(values=ticks, grid=True, labelExpr=axes.prefix_labels(ticks)),
    )


def _time_axis(span: tuple[float, float]) -> Callable[[str], charts.Channel]:
    """Returns the vertical axis, for any field."""
    ticks = axes.log_ticks(*span)
    return partial(
        charts.field,
        title="duration",
        scale=axes.scale(type="log", domain=list(span), nice=False),
        axis=axes.axis(values=ticks, labelExpr=axes.time_labels(ticks)),
    )


def _find_baseline(by_point: pl.DataFrame) -> int:
    """Returns the row of the baseline, or the first."""
    are_baseline = by_point["is_baseline"].to_list()
    return are_baseline.index(True) if True in are_baseline else 0


def _find_slowest(by_point: pl.DataFrame) -> int:
    """Returns the row of the point where transfers take longest; of several the first."""
    return max(range(by_point.height), key=lambda place: (by_point["typical"][place], -place))


def _select_point(rows: pl.DataFrame, point: dict[str, Any]) -> pl.DataFrame:
    is_same = (pl.col(key).eq_missing(point[key]) for key in points.COLUMNS)
    return rows.filter(pl.all_horizontal(is_same))


def _marks(
    rows: pl.DataFrame, point: str, shift: float, least_seconds: float
) -> list[dict[str, Any]]:
    """Returns the mark of each class of sizes."""
    return [
        {
            "x": math.sqrt(row["low_bytes"] * row["high_bytes"]) * shift,
            "low": max(row["duration_s_p10"], least_seconds),
            "y": row["duration_s_p50"],
            "high": row["duration_s_p90"],
            TIP: tip(
                point,
                f"{numbers.size(row['low_bytes'])} to {numbers.size(row['high_bytes'])}",
                f"half within {numbers.estimate(row['duration_s_p50'])} s, 90 % within "
                f"{numbers.estimate(row['duration_s_p90'])} s",
            ),
        }
        for row in rows.iter_rows(named=True)
    ]


def _draw_marks(
    data: Any, one: Series, fill: str, x: charts.Channel, y: Callable[[str], charts.Channel]
) -> list[charts.Chart]:
    """Draws points at the medians, and lines from 10 to 90 %."""
    marks = charts.Chart(data)
    line = marks.mark("rule", strokeWidth=1.5, opacity=0.6, color=one.colour)
    point = marks.mark(
        "point", shape=one.shape, size=45, stroke=one.colour, fill=fill, strokeWidth=1.5
    )
    return [line.encode(x=x, y=y("low:Q"), y2="high:Q"), point.encode(x=x, y=y("y:Q"))]
