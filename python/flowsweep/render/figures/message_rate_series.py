"""Figure `message_rate_series`: messages per second over time, per point of the sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.render import axes, charts, cuts, distributions, silences, theme
from flowsweep.render.figure import Context, Figure, panel_title, sentence, values
from flowsweep.render.panels import about

if TYPE_CHECKING:
    from flowsweep.render.theme import Series

QUERY = "message_rate_series"
HEIGHT, LEFT = 76, 40
#: The most points of one application that are drawn, and of all.
MAX_POINTS, MAX_PANELS = 4, 12


def draw(context: Context) -> Figure | None:
    """Draws messages per second over the time of the runs of a point."""
    rows = context.rows(QUERY)
    if rows.is_empty():
        return None
    shown = context.series_in(rows)
    every = [distributions.pools(context.select_series(rows, one), None) for one in shown]
    given = cuts.share_room([min(len(own_rows), MAX_POINTS) for own_rows in every], MAX_PANELS)
    panels = []
    for one, own_rows, most in zip(shown, every, given, strict=True):
        own = context.select_series(rows, one)
        kept = distributions.kept(context, list(own_rows), one, most)
        frames = [distributions.select_pool(own, pool) for pool in kept]
        names = [own_rows[pool] for pool in kept]
        panels += _panels(frames, names, one, alone=len(shown) == 1 or context.stands_alone)
    title = charts.title(
        "messages per second", fontSize=12, fontWeight=500, color=theme.MUTED, offset=6,
        frame="bounds",
    )  # fmt: skip
    steps = sorted(
        {
            round(end - start, 9)
            for start, end in rows.group_by("point")
            .agg(pl.col("start_s").first(), pl.col("end_s").first())
            .select("start_s", "end_s")
            .rows()
        }
    )
    widths = " to ".join(dict.fromkeys(map(numbers.width, (steps[0], steps[-1]))))
    return Figure(
        name=QUERY,
        caption=sentence(
            f"{numbers.plural(int(rows['messages'].sum()), 'message')} as in the figures above, "
            f"in steps of {widths}, by when they began.",
            "Line: mean over the runs of the point that had not ended; pale: from the run with "
            "fewest to the one with most."
            if rows["runs"].max() > 1  # type: ignore[operator]
            else None,
            f"Scales differ between {context.terms.series}." if len(shown) > 1 else None,
            silences.caption(rows.filter(pl.col("cut_s") > 0).height),
            cuts.describe(
                len(panels), sum(map(len, every)), f"{context.terms.point}s are drawn", QUERY
            ),
        ),
        chart=charts.vconcat(*panels, spacing=10, title=title),
        rows=rows,
    )


def _panels(frames: list[pl.DataFrame], names: list[str], one: Series, *, alone: bool) -> list[Any]:
    whole = pl.concat(frames)
    end = float(whole["end_s"].max())  # type: ignore[arg-type]
    top = float(whole["messages_s_max"].max()) or 1.0  # type: ignore[arg-type]
    has_cuts = whole.filter(pl.col("cut_s") > 0).height > 0
    y_end = silences.end_of_axis(top, has_cuts=has_cuts, height=HEIGHT)
    unit, ticks = axes.since_start(end)
    found = []
    for number, (frame, name) in enumerate(zip(frames, names, strict=True)):
        is_last = number == len(frames) - 1
        x = charts.field(
            "x:Q",
            title=f"time ({unit})" if is_last else None,
            scale=axes.scale(domain=[0, end], nice=False),
            axis=axes.axis(labels=is_last, **ticks),
        )
        y = charts.field(
            "y:Q",
            title=None,
            scale=axes.scale(domain=[0, y_end], nice=False),
            axis=axes.axis(tickCount=3, format="~s", minExtent=LEFT, maxExtent=LEFT),
        )
        data = charts.Chart(values(_steps(frame)))
        layers: list[Any] = []
        if int(frame["runs"].max()) > 1:  # type: ignore[arg-type]
            band = data.mark("area", interpolate="step-after", opacity=0.22, color=one.colour)
            layers.append(band.encode(x=x, y=charts.field("low:Q"), y2="high:Q"))
        line = data.mark("line", interpolate="step-after", strokeWidth=1.25, color=one.colour)
        layers.append(line.encode(x=x, y=y))
        gaps = frame.filter(pl.col("cut_s") > 0).select("start_s", "cut_s").rows()
        width = theme.FULL_WIDTH - LEFT
        layers += silences.marks(gaps, end, width, charts.field("start_s:Q"))
        head = "" if alone or number else one.label
        found.append(
            charts.layer(*layers).properties(
                width=width,
                height=HEIGHT,
                title=panel_title(head, name, one, width),
                description=about(
                    x=f"time ({unit})", y="messages per second", application=one.label, point=name
                ),
            )
        )
    return found


def _steps(frame: pl.DataFrame) -> list[dict[str, float]]:
    """Returns a step for each row; a row that repeats the values of the last step adds none."""
    rows = frame.sort("start_s").select("start_s", "messages_s", "messages_s_min", "messages_s_max")
    found: list[dict[str, float]] = []
    for start, rate, low, high in rows.iter_rows():
        step = {"x": start, "y": rate, "low": low, "high": high}
        if not found or any(found[-1][key] != step[key] for key in ("y", "low", "high")):
            found.append(step)
    return [*found, found[-1] | {"x": float(frame["end_s"].max())}]  # type: ignore[arg-type]
