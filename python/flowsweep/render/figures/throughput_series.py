"""Figure `throughput_series`: what the shown host sends and receives over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.analysis import grades
from flowsweep.render import axes, charts, cuts, doubts, merged, silences, theme
from flowsweep.render.figure import Context, Figure, panel_title, sentence, values
from flowsweep.render.panels import about

if TYPE_CHECKING:
    from flowsweep.render.theme import Series

from flowsweep.render.throughput import DIRECTIONS, describe_bins, describe_rates, host_names

OWN_SCALE = 10
#: The most runs drawn of captures alone: those with the most traffic.
MAX_RUNS = 8


def draw(context: Context) -> Figure | None:
    """Draws throughput of the shown host over time, one run of each application."""
    rows = context.rows("throughput_series")
    if rows.is_empty():
        return None
    outside = int(rows.filter(~pl.col("is_within"))["wire_bytes"].sum())
    passed = rows
    rows = rows.filter("is_within")
    shown = context.series_in(rows)
    every = len(shown)
    if context.stands_alone:
        shown = shown[:MAX_RUNS]
        rows = pl.concat([context.select_series(rows, one) for one in shown])
    alone = len(shown) == 1
    size = (theme.FULL_WIDTH, 96) if alone else (theme.HALF_WIDTH, 84)
    # Two applications side by side; for captures alone the two directions of each.
    together = 1 if context.stands_alone else 2
    panels = [
        _series_panel(
            context.select_series(rows, one), one, direction, size,
            is_last=direction == "in" or (together == 1 and not alone),
        )
        for first in range(0, len(shown), together)
        for direction in DIRECTIONS
        for one in shown[first : first + together]
    ]  # fmt: skip
    chart: Any = charts.concat(*panels, columns=1 if alone else 2, align="each", spacing=16)
    bin_ms = describe_bins(rows)
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
        heading=f"Throughput of {host_names(rows)} over time, {bin_ms} bins",
        caption=sentence(
            context.drawn_runs(runs),
            _own_address(context, rows),
            f"Time shown: {window}.",
            silences.caption(rows.filter(pl.col("cut_before_s") > 0).height),
            _describe_jumps(context, rows),
            merged.note(context, rows),
            doubts.note_traffic(context, rows),
            _scales(context, shown, rows),
            cuts.describe(len(shown), every, "runs are drawn", "throughput_series"),
        ),
        notes=sentence(
            drawn,
            f"{numbers.size(outside)} that passed before or after it are not drawn."
            if outside
            else None,
            "Wire bytes with link header.",
        ),
        chart=chart,
        rows=passed,
    )  # fmt: skip


def _own_address(context: Context, rows: pl.DataFrame) -> str:
    """States whose traffic is shown: the host, and whether its address is a guess."""
    if context.stands_alone:
        guess = ", which is a guess" if doubts.note_guessed(context, rows) else ""
        return f"Out and in are of the host's own address in the table above{guess}."
    return sentence(_captured_at(context, rows), doubts.note_guessed(context, rows))


def _describe_jumps(context: Context, rows: pl.DataFrame) -> str | None:
    """Describes the jumps in time of the shown captures."""
    drawn = rows.select("run", "host").unique()
    facts = context.model("capture_facts").join(drawn, on=["run", "host"])
    captions = {
        f"{row['run']}, {row['host']}: {text}"
        for row in facts.iter_rows(named=True)
        if (text := grades.describe_jump(row)) is not None
    }
    return " ".join(sorted(captions)) or None


def _scales(context: Context, shown: list[Series], rows: pl.DataFrame) -> str | None:
    """States between which panels scales differ."""
    peaks = rows.group_by("app", "problem", "direction").agg(pl.col("max_mbit_s").max())
    ends = peaks.group_by("app", "problem").agg(
        pl.col("max_mbit_s").min().alias("low"), pl.col("max_mbit_s").max().alias("high")
    )
    apart = ends.filter(pl.col("low") * OWN_SCALE < pl.col("high")).height > 0
    parts = [
        f"between {context.terms.series}" if len(shown) > 1 else "",
        f"between directions where one is more than {OWN_SCALE} times the other" if apart else "",
    ]
    differ = ", and ".join(part for part in parts if part)
    return f"Scales differ {differ}." if differ else None


def _captured_at(context: Context, rows: pl.DataFrame) -> str:
    """States where each run was captured, and why that host is shown."""
    drawn = rows.select("run", "host").unique().sort("run")
    text = drawn.join(context.model("shown_hosts"), on=["run", "host"], how="left")
    why = ", ".join(sorted(set(text["because"].drop_nulls())))
    if text["host"].n_unique() == 1:
        return f"Captured at {text['host'][0]} ({why})."
    places = "; ".join(f"{run} at {host}" for run, host in drawn.iter_rows())
    return f"Captured at one host of each run ({why}): {places}."


def _series_panel(
    rows: pl.DataFrame, one: Series, direction: str, size: tuple[int, int], *, is_last: bool
) -> Any:
    own = rows.filter(pl.col("direction") == direction).sort("start_s")
    peak = float(own["max_mbit_s"].max() or 0)  # type: ignore[arg-type]
    # Both directions share a scale, unless one of them would be a flat line.
    top = float(rows["max_mbit_s"].max() or 0)  # type: ignore[arg-type]
    if peak * OWN_SCALE < top:
        top = peak
    mean: float | None = own["run_mean_mbit_s"].max()  # type: ignore[assignment]
    own = silences.cut_silences(own, "cut_before_s")
    gaps = own.filter(pl.col("cut_before_s") > 0).select("start_s", "cut_before_s").rows()
    y_end = silences.end_of_axis(top, has_cuts=bool(gaps), height=size[1])
    steps = own.select("start_s", "max_mbit_s", "mean_mbit_s").to_dicts()
    # The last value is repeated at the end of its column, so that the line does not fall.
    if steps:
        steps.append({**steps[-1], "start_s": own["end_s"][-1]})
    end = float(own["end_s"].max() or 1)  # type: ignore[arg-type]
    unit, options = axes.since_start(end)
    x = charts.field(
        "start_s:Q",
        title=f"time since its start ({unit})" if is_last else None,
        scale=axes.scale(domain=[0, end], nice=False),
        axis=axes.axis(**options, labels=is_last, ticks=is_last),
    )

    def y(field: str) -> charts.Channel:
        return charts.field(
            field,
            title=None,
            scale=axes.scale(domain=[0, y_end or 1], nice=False),
            axis=axes.rate_axis(top, ticks=3),
        )

    data = values(steps)
    area = charts.Chart(data).mark(
        "area", interpolate="step-after", opacity=0.28, color=one.colour, clip=True
    )
    line = charts.Chart(data).mark(
        "line", interpolate="step-after", strokeWidth=1.25, color=one.colour, clip=True
    )
    sent = f"peak {numbers.rate(peak) if mean is None else describe_rates((peak, mean), top)}"
    if rows["is_borrowed"].any():
        sent = f"mean {numbers.rate(mean)}, no peak is known"
    return charts.layer(
        area.encode(x=x, y=y("mean_mbit_s:Q"), y2="max_mbit_s:Q"),
        line.encode(x=x, y=y("mean_mbit_s:Q")),
        *silences.marks(gaps, end, size[0], x),
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
