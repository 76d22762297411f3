"""Figure `throughput_per_core`: what a rank sends to and receives from other sites."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.render import axes, charts, doubts, merged, points, theme
from flowsweep.render.figure import Context, Figure, sentence, values
from flowsweep.render.panels import TIP, tip

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowsweep.render.theme import Series

ROW = 24
PADDING = {"left": 4, "top": 8, "right": 44, "bottom": 4}


def draw(context: Context) -> Figure | None:
    """Draws what a rank sends to other sites, per point of the sweep."""
    everything = context.rows("throughput_per_core")
    rows = everything.filter(~pl.col("is_ranks_guessed"))
    guessed = everything.height - rows.height
    whole = rows.filter(pl.col("site").is_null())
    if whole.is_empty():
        return None
    shown = context.series_in(whole)
    frames = [context.select_series(whole, one) for one in shown]
    names = [points.labels(frame) for frame in frames]
    left = max(map(points.width, names))
    panels = [
        _core_panel(context.select_series(rows, one), frame, one, left, alone=len(shown) == 1)
        for frame, one in zip(frames, shown, strict=True)
    ]
    ranks = sorted({int(row) for row in whole["ranks"]})
    count = f"{ranks[0]} ranks" if len(ranks) == 1 else f"{ranks[0]} to {ranks[-1]} ranks"
    widest = int(context.model("wan_steps")["step_ns"].max())  # type: ignore[arg-type]
    steps = numbers.plain(widest / 1e6)
    known = whole.filter("is_peak_known")["sent_peak_mbit_s"].to_list()
    chart: Any = panels[0] if len(panels) == 1 else charts.concat(*panels, columns=1, align="each")
    return Figure(
        name="throughput_per_core",
        caption=sentence(
            "Dot: mean over the run, all sites together. Bar: from the site with the least traffic "
            f"per rank to the site with the most. Tick: the busiest {steps} ms.",
            f"Medians over the runs, divided by all {count}, idle ones included."
            if ranks != [1]
            else None,
            f"The largest peak is {numbers.estimate(max(known))} Mbit/s, "
            f"{numbers.estimate(max(known) / 8)} MB/s per rank."
            if known
            else None,
            merged.note(context, whole),
            doubts.note_traffic(context),
            points.note_left_out(frames, "throughput_per_core"),
            f"Not drawn: {numbers.plural(guessed, 'row')} whose number of ranks is guessed; all: "
            "flowsweep query throughput_per_core DIR."
            if guessed
            else None,
        ),
        chart=chart.properties(padding=PADDING),
        rows=context.rows("throughput_per_core"),
    )


def _core_panel(
    rows: pl.DataFrame, whole: pl.DataFrame, one: Series, left: int, *, alone: bool
) -> Any:
    """Draws a line for each point: mean, range over the sites, and peak."""
    names = dict(zip(map(tuple, whole.rows()), points.labels(whole), strict=True))
    drawn = points.choose_drawn(whole)
    marks = [
        _mark(names[row], full, _select_sites(rows, full))
        for row, full in zip(drawn.rows(), drawn.iter_rows(named=True), strict=True)
    ]
    top = max(mark["end"] for mark in marks) or 1.0
    x = partial(
        charts.field,
        title="Mbit/s per rank",
        scale=axes.scale(domain=[0, top * 1.02], nice=False),
        axis=axes.axis(tickCount=6, format=",~f", grid=True),
    )
    order = [mark["point"] for mark in marks]
    y = charts.field(
        "point:N",
        title=None,
        sort=order,
        scale=axes.scale(domain=order),
        axis=axes.axis(grid=False, labelLimit=left, minExtent=left),
    )
    panel = charts.layer(*_layers(values(marks), one, x, y)).properties(
        width=theme.FULL_WIDTH - left - 130, height=ROW * len(order)
    )
    if not alone:
        panel = panel.properties(title=charts.title(one.label, color=one.text_colour))
    return panel


def _select_sites(rows: pl.DataFrame, whole: dict[str, Any]) -> pl.DataFrame:
    """Selects the rows of the single sites at the point of a row of all sites."""
    keys = set(points.COLUMNS) - {"ranks"}
    is_same = pl.all_horizontal(pl.col(key).eq_missing(whole[key]) for key in keys)
    return rows.filter(is_same & pl.col("site").is_not_null())


def _mark(name: str, whole: dict[str, Any], sites: pl.DataFrame) -> dict[str, Any]:
    """Returns the mark of a point."""
    peak = whole["sent_peak_mbit_s"] if whole["is_peak_known"] else None
    rate = "not known" if peak is None else numbers.estimate(peak)
    mean = whole["sent_mbit_s"]
    means = [*sites["sent_mbit_s"], *sites["received_mbit_s"], mean]
    return {
        "point": name,
        "low": min(means),
        "x": mean,
        "high": max(means),
        "peak": peak,
        "text": f"{numbers.estimate(mean)}, peak {rate}",
        TIP: tip(
            name,
            f"mean {numbers.estimate(mean)} Mbit/s per rank",
            f"peak {rate}{'' if peak is None else ' Mbit/s per rank'}",
            f"sites and directions: {numbers.estimate(min(means))} to "
            f"{numbers.estimate(max(means))} Mbit/s per rank",
        ),
        "end": max(*means, peak or 0.0),
    }


def _layers(
    data: Any, one: Series, x: Callable[[str], charts.Channel], y: charts.Channel
) -> list[charts.Chart]:
    """Draws a bar for the sites, a tick for the peak, a dot for the mean, and a text."""
    base = charts.Chart(data)
    bar = base.mark("bar", height=6, opacity=0.35, color=one.colour)
    tick = base.filtered("isValid(datum.peak)").mark(
        "tick", thickness=2, height=12, color=one.colour
    )
    dot = base.mark("point", shape=one.shape, size=45, color=one.colour, filled=True)
    text = base.mark("text", align="left", dx=8, fontSize=11, color=theme.MUTED)
    return [
        bar.encode(x=x("low:Q"), x2="high:Q", y=y),
        tick.encode(x=x("peak:Q"), y=y),
        dot.encode(x=x("x:Q"), y=y),
        text.encode(x=x("end:Q"), y=y, text="text:N"),
    ]
