"""Figure `throughput_series`: what the shown host sends and receives over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.analysis import grades
from flowsweep.render import axes, doubts, theme
from flowsweep.render.figure import Context, Figure, panel_title, sentence, values
from flowsweep.render.panels import about

if TYPE_CHECKING:
    import altair as alt

    from flowsweep.render.theme import Series

from flowsweep.render.throughput import DIRECTIONS, bins_told, host_names

OWN_SCALE = 10


def draw(context: Context) -> Figure | None:
    """Throughput of the shown host over time, one run of each application."""
    import altair as alt

    rows = context.rows("throughput_series")
    if rows.is_empty():
        return None
    outside = int(rows.filter(~pl.col("is_within"))["wire_bytes"].sum())
    passed = rows
    rows = rows.filter("is_within")
    shown = context.series_in(rows)
    alone = len(shown) == 1
    width, height = (theme.FULL_WIDTH, 96) if alone else (theme.HALF_WIDTH, 84)
    panels = []
    for first in range(0, len(shown), 2):
        for direction in DIRECTIONS:
            panels += [
                _series_panel(context.of(rows, one), one, direction, (width, height))
                for one in shown[first : first + 2]
            ]
    chart: Any = alt.concat(*panels, columns=1 if alone else 2, align="each", spacing=16)
    bin_ms = bins_told(rows)
    bins = rows["bins"].max()
    drawn = (
        "Pale: the busiest bin of a column; line: mean of all its bins, empty ones included "
        f"(columns of up to {numbers.plural(bins, 'bin')})."
        if isinstance(bins, int) and bins > 1
        else f"Every bin of {bin_ms} is drawn."
    )
    runs = sorted(set(rows["run"]))
    windows = context.model("windows").filter(pl.col("run").is_in(runs))
    window = ", ".join(sorted(set(windows["covers"])))
    return Figure(
        name="throughput_series",
        heading=f"When it sends: throughput of {host_names(rows)}, {bin_ms} bins",
        caption=sentence(
            context.drawn_runs(runs),
            _captured_at(context, rows),
            f"Time shown: {window}.",
            _jumps(context, rows),
            drawn,
            f"{numbers.size(outside)} that passed before or after it are not drawn."
            if outside
            else None,
            doubts.of_traffic(context, rows),
            "Wire bytes with link header.",
            _scales(shown, rows),
        ),
        chart=chart,
        rows=passed,
    )  # fmt: skip


def _jumps(context: Context, rows: pl.DataFrame) -> str | None:
    """Which of the captures shown jump in time: their curve is not of one recording."""
    drawn = rows.select("run", "host").unique()
    facts = context.model("capture_facts").join(drawn, on=["run", "host"])
    told = {
        f"{row['run']}, {row['host']}: {text}"
        for row in facts.iter_rows(named=True)
        if (text := grades.jump(row)) is not None
    }
    return " ".join(sorted(told)) or None


def _scales(shown: list[Series], rows: pl.DataFrame) -> str | None:
    """Which panels have a scale of their own."""
    peaks = rows.group_by("app", "problem", "direction").agg(pl.col("max_mbit_s").max())
    ends = peaks.group_by("app", "problem").agg(
        pl.col("max_mbit_s").min().alias("low"), pl.col("max_mbit_s").max().alias("high")
    )
    apart = ends.filter(pl.col("low") * OWN_SCALE < pl.col("high")).height > 0
    parts = [
        "between applications" if len(shown) > 1 else "",
        f"between directions where one is more than {OWN_SCALE} times the other" if apart else "",
    ]
    differ = ", and ".join(part for part in parts if part)
    return f"Scales differ {differ}." if differ else None


def _captured_at(context: Context, rows: pl.DataFrame) -> str:
    """Where each run was captured, and why there."""
    drawn = rows.select("run", "host").unique().sort("run")
    told = drawn.join(context.model("shown_hosts"), on=["run", "host"], how="left")
    why = ", ".join(sorted(set(told["because"].drop_nulls())))
    if told["host"].n_unique() == 1:
        return f"Captured at {told['host'][0]} ({why})."
    places = "; ".join(f"{run} at {host}" for run, host in drawn.iter_rows())
    return f"Captured at one host of each run ({why}): {places}."


def _series_panel(rows: pl.DataFrame, one: Series, direction: str, size: tuple[int, int]) -> Any:
    import altair as alt

    mine = rows.filter(pl.col("direction") == direction).sort("start_s")
    peak = float(mine["max_mbit_s"].max() or 0)  # type: ignore[arg-type]
    # Both directions share a scale, unless one of them would be a flat line.
    top = float(rows["max_mbit_s"].max() or 0)  # type: ignore[arg-type]
    if peak * OWN_SCALE < top:
        top = peak
    top = max(top, 1e-3)
    weights = mine["bins"]
    mean = float((mine["mean_mbit_s"] * weights).sum()) / max(int(weights.sum()), 1)
    steps = mine.select("start_s", "max_mbit_s", "mean_mbit_s").to_dicts()
    # The last value is repeated at the end of its column, else the line falls.
    if steps:
        steps.append({**steps[-1], "start_s": mine["end_s"][-1]})
    end = float(mine["end_s"].max() or 1)  # type: ignore[arg-type]
    unit, options = axes.since_start(end)
    x = alt.X(
        "start_s:Q",
        title=f"time since its start ({unit})" if direction == "in" else None,
        scale=axes.scale(domain=[0, end], nice=False),
        axis=axes.axis(**options, labels=direction == "in", ticks=direction == "in"),
    )

    def y(field: str) -> alt.Y:
        return alt.Y(
            field,
            title=None,
            scale=axes.scale(domain=[0, top * 1.05], nice=False),
            axis=axes.axis(tickCount=3, format=",~f"),
        )

    data = values(steps)
    area = alt.Chart(data).mark_area(
        interpolate="step-after", opacity=0.28, color=one.colour, clip=True
    )
    line = alt.Chart(data).mark_line(
        interpolate="step-after", strokeWidth=1.25, color=one.colour, clip=True
    )
    sent = f"peak {numbers.estimate(peak)}, mean {numbers.estimate(mean)} Mbit/s"
    return alt.layer(
        area.encode(x=x, y=y("mean_mbit_s:Q"), y2="max_mbit_s:Q"),
        line.encode(x=x, y=y("mean_mbit_s:Q")),
    ).properties(
        width=size[0],
        height=size[1],
        title=panel_title(f"{one.label}, {direction}", sent, one, size[0]),
        description=about(
            x=f"time since its start ({unit})",
            y="throughput (Mbit/s)",
            application=one.label,
            host=host_names(rows),
            direction=direction,
        ),
    )
