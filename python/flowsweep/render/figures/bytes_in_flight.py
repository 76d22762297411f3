"""Figure `bytes_in_flight`: the maximum at a point against the bandwidth-delay product."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.render import axes, charts, theme
from flowsweep.render.figure import Context, Figure, panel_title, sentence, values
from flowsweep.render.panels import TIP, about, tip

if TYPE_CHECKING:
    from flowsweep.render.theme import Series

QUERY = "bytes_in_flight"
HEIGHT = 240
#: A smaller share of the largest value is not drawn: acknowledgements of a few bytes, or none.
LEAST_SHARE = 1e-4


def draw(context: Context) -> Figure | None:
    """Draws a panel for each application; None if no point has a known RTT and rate."""
    every = context.rows(QUERY)
    known = every.filter(pl.col("bdp_bytes") > 0)
    top = known.select(pl.max_horizontal("in_flight_bytes", "bdp_bytes").max()).item()
    drawn = known.filter(pl.col("in_flight_bytes") >= LEAST_SHARE * (top or 0))
    shown = context.series_in(drawn)
    if not shown:
        return None
    width = theme.FULL_WIDTH if len(shown) == 1 else theme.HALF_WIDTH
    panels = [
        _panel(
            context.select_series(drawn, one),
            one,
            drawn,
            width,
            name=one.label if len(shown) > 1 else "",
        )
        for one in shown
    ]
    hidden = every.height - drawn.height
    return Figure(
        name=QUERY,
        caption=sentence(
            "Each mark is one direction at a point: its connection with the most bytes in flight, "
            "median over the runs. Above the dashed line, more is in flight than the path holds, "
            "and the rest waits in queues or was dropped. Below it, this connection alone never "
            "filled the path.",
            "Ticks: the receiver's largest window." if _has_window(drawn) else None,
            f"Not drawn: {numbers.plural(hidden, 'row')} without a known bandwidth-delay product, "
            "or with hardly any bytes in flight."
            if hidden
            else None,
        ),
        chart=charts.concat(*panels, columns=2, align="all"),
        rows=every,
    )


def _has_window(rows: pl.DataFrame) -> bool:
    return rows["window_bytes"].drop_nulls().len() > 0


def _panel(rows: pl.DataFrame, one: Series, every: pl.DataFrame, width: int, *, name: str) -> Any:
    x_ends = _scale_ends(every["bdp_bytes"])
    # With these ends the line stays visible even if all marks are far below it.
    heights = ("in_flight_bytes", "window_bytes", "bdp_bytes")
    y_ends = _scale_ends(pl.concat([every[name].drop_nulls() for name in heights], how="vertical"))
    x = axes.log_channel("bandwidth-delay product (bytes)", x_ends, axes.MAX_TICKS, "x:Q")
    y = axes.log_channel("bytes in flight", y_ends, axes.MAX_TICKS, "y:Q")
    line = charts.Chart(values([{"x": end, "y": end} for end in x_ends]))
    dashed = line.mark("line", strokeDash=[4, 3], color=theme.MUTED, clip=True)
    layers = [dashed.encode(x=x, y=y)]
    windows = charts.Chart(
        values(
            [
                {"x": row["bdp_bytes"], "y": row["window_bytes"]}
                for row in rows.iter_rows(named=True)
                if row["window_bytes"]
            ]
        )
    )
    layers.append(
        windows.mark("tick", orient="horizontal", size=14, color=theme.MUTED).encode(x=x, y=y)
    )
    places = [
        {"x": row["bdp_bytes"], "y": row["in_flight_bytes"], TIP: _tooltip(row)}
        for row in rows.iter_rows(named=True)
    ]
    marks = charts.Chart(values(places)).mark(
        "point", size=50, shape=one.shape, color=one.colour, filled=True, opacity=0.85
    )
    layers.append(marks.encode(x=x, y=y))
    return charts.layer(*layers).properties(
        width=width,
        height=HEIGHT,
        title=panel_title("", name, one, width),
        description=about(application=one.label),
    )


def _scale_ends(sizes: pl.Series) -> tuple[float, float]:
    """Returns the ends of a log scale, a little beyond what is drawn."""
    return 0.7 * float(sizes.min()), 1.4 * float(sizes.max())  # type: ignore[arg-type]


def _tooltip(row: dict[str, Any]) -> str:
    """Describes a mark."""
    window = row["window_bytes"]
    return tip(
        f"{row['from_site']} → {row['to_site']}, {numbers.estimate(row['rtt_ms'])} ms, "
        f"{numbers.rate(row['rate_mbit_s'] or row['rate_asked_mbit_s'])}",
        f"{numbers.size(row['in_flight_bytes'])} in flight, "
        f"{numbers.estimate(row['of_bdp'])} times the bandwidth-delay product",
        f"receiver's window {numbers.size(window)}" if window else None,
        f"median of {numbers.plural(row['runs_used'], 'run')}",
    )
