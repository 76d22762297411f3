"""Figure `transfer_times`: how long transfers take, by size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.render import axes, charts, doubts, equal_rates, points, theme
from flowsweep.render.figure import Context, Figure, sentence, values
from flowsweep.render.figures import transfer_activity
from flowsweep.render.panels import TIP, tip

if TYPE_CHECKING:
    from flowsweep.render.theme import Series

RATES = ((1e6, "1 Mbit/s"), (1e7, "10"), (1e8, "100"), (1e9, "1 Gbit/s"))


def draw(context: Context) -> Figure | None:
    """How long transfers of each size take, at the baseline and where they take longest."""
    everything = context.rows("transfer_times")
    rows = everything.filter(pl.col("duration_s_p50") > 0)
    # between the sites, where there are such
    rows = rows.filter(
        (pl.col("from_site") != pl.col("to_site")).over("app", "problem")
        | ~(pl.col("from_site") != pl.col("to_site")).any().over("app", "problem")
    )
    known = {
        (row["app"], row["problem"])
        for row in context.query_figure(transfer_activity.NAME, transfer_activity.BUSY).iter_rows(
            named=True
        )
    }
    kept = [one for one in context.series_in(rows) if (one.app, one.problem) in known]
    if not kept:
        return None
    rows = pl.concat([context.select_series(rows, one) for one in kept])
    spans = _span(rows)
    alone = len(kept) == 1
    size = (theme.FULL_WIDTH - 70, 270) if alone else (theme.HALF_WIDTH - 20, 200)
    panels = [_times_panel(context.select_series(rows, one), one, spans, size) for one in kept]
    sources = set(rows["source"])
    known_apps = pl.concat([context.select_series(everything, one) for one in kept])
    less = int(known_apps["transfers"].sum()) - int(rows["transfers"].sum())
    return Figure(
        name="transfer_times",
        caption=sentence(
            f"{numbers.plural(int(rows['transfers'].sum()), 'transfer')} of the valid runs, "
            "between sites where there are several.",
            doubts.note_accompanied(context),
            "Classes of size from 1, 2 or 5 times a power of ten; one mark for each class and "
            "direction between two sites: median, and the line from 10 to 90 %. Filled: at the "
            "baseline; open: at the point where transfers take longest.",
            f"Not among them: {numbers.count(less)} that stayed within a site, or of whose class "
            "half took no time, as one packet does; all: flowsweep query transfer_times DIR."
            if less
            else None,
            doubts.note_traffic(context) if "connections" in sources else None,
            transfer_activity.note_omitted(context, rows, "transfer_times"),
            "Dotted: equal goodput."
            + (
                " Spans from the application's record."
                if sources == {"application"}
                else " Without such a record a transfer is a connection with payload."
            ),
        ),
        chart=panels[0] if alone else charts.concat(*panels, columns=2, align="all"),
        rows=context.rows("transfer_times"),
    )


def _span(rows: pl.DataFrame) -> tuple[tuple[float, float], tuple[float, float]]:
    """Bytes and seconds, whole decades around all marks."""

    def decades(low: float, high: float) -> tuple[float, float]:
        bottom, top = math.floor(math.log10(low)), math.ceil(math.log10(high) - 1e-9)
        return 10.0**bottom, 10.0 ** max(top, bottom + 1)

    least = float(rows.filter(pl.col("duration_s_p10") > 0)["duration_s_p10"].min() or 1e-3)  # type: ignore[arg-type]
    return (
        decades(float(rows["low_bytes"].min()), float(rows["high_bytes"].max())),  # type: ignore[arg-type]
        decades(least, float(rows["duration_s_p90"].max())),  # type: ignore[arg-type]
    )


def _times_panel(
    rows: pl.DataFrame,
    one: Series,
    spans: tuple[tuple[float, float], tuple[float, float]],
    size: tuple[int, int],
) -> Any:
    sizes, seconds = spans
    x_ticks, y_ticks = axes.log_ticks(*sizes), axes.log_ticks(*seconds)
    x = charts.field(
        "x:Q",
        title="size (bytes)",
        scale=axes.scale(type="log", domain=list(sizes), nice=False),
        axis=axes.axis(values=x_ticks, grid=True, labelExpr=axes.prefix_labels(x_ticks)),
    )

    def y(field: str) -> charts.Channel:
        return charts.field(
            field,
            title="duration",
            scale=axes.scale(type="log", domain=list(seconds), nice=False),
            axis=axes.axis(values=y_ticks, labelExpr=axes.time_labels(y_ticks)),
        )

    keys = points.COLUMNS
    by_point = rows.group_by([*keys, "is_baseline"], maintain_order=True).agg(
        pl.col("duration_s_p50").median().alias("typical")
    )
    names = points.labels(by_point)
    baseline = by_point["is_baseline"].to_list()
    base = baseline.index(True) if True in baseline else 0
    slowest = max(range(by_point.height), key=lambda place: (by_point["typical"][place], -place))
    slopes = [(8 / rate, name) for rate, name in RATES]
    layers: list[Any] = [*equal_rates.draw_lines(slopes, x, y("y:Q"), (sizes, seconds), (4, -6))]
    for place in dict.fromkeys([base, slowest]):
        point = by_point.row(place, named=True)
        same = pl.all_horizontal(pl.col(key).eq_missing(point[key]) for key in keys)
        # the two points stand beside each other
        shift = 0.95 if place == base else 1.05
        data = values(
            [
                {
                    "x": math.sqrt(row["low_bytes"] * row["high_bytes"]) * shift,
                    "low": max(row["duration_s_p10"], seconds[0]),
                    "y": row["duration_s_p50"],
                    "high": row["duration_s_p90"],
                    TIP: tip(
                        names[place],
                        f"{numbers.size(row['low_bytes'])} to {numbers.size(row['high_bytes'])}",
                        f"half within {numbers.estimate(row['duration_s_p50'])} s, 90 % within "
                        f"{numbers.estimate(row['duration_s_p90'])} s",
                    ),
                }
                for row in rows.filter(same).iter_rows(named=True)
            ]
        )
        marks = charts.Chart(data)
        layers.append(
            marks.mark("rule", strokeWidth=1.5, opacity=0.6, color=one.colour).encode(
                x=x, y=y("low:Q"), y2="high:Q"
            )
        )
        fill = one.colour if place == base else theme.PAGE
        layers.append(
            marks.mark(
                "point", shape=one.shape, size=45, stroke=one.colour, fill=fill, strokeWidth=1.5
            ).encode(x=x, y=y("y:Q"))
        )
    title = one.label if len(one.label) < 24 else one.app
    if slowest != base:
        title += f"; open: {names[slowest]}"
    return charts.layer(*layers).properties(
        width=size[0],
        height=size[1],
        title=charts.title(title, color=one.text_colour, fontSize=12, frame="group", limit=size[0]),
    )
