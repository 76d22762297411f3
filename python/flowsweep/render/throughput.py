"""Figures `throughput_series` and `throughput_cdf`: traffic of one host over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep.analysis import grades
from flowsweep.render import axes, doubts, numbers, theme
from flowsweep.render.figure import Context, Figure, empty, panel_title, sentence, values

if TYPE_CHECKING:
    import altair as alt

    from flowsweep.render.theme import Series

DIRECTIONS = ("out", "in")
# Rate 0 has no place on a log axis: it gets a band left of the first decade.
ZERO = 150.0
OWN_SCALE = 10
# More lines than these have their words beside the plot, which is so wide, so far apart.
FEW = 5
WIDE, LINE = 440, 16
FIRST_DECADE = 1e3


def series(context: Context) -> Figure | None:
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
    bin_ms = _bins(rows)
    bins = rows["bins"].max()
    drawn = (
        "Pale: the busiest bin of a column; line: mean of all its bins, empty ones included "
        f"(R1: columns of up to {numbers.plural(bins, 'bin')})."
        if isinstance(bins, int) and bins > 1
        else f"Every bin of {bin_ms} is drawn."
    )
    runs = sorted(set(rows["run"]))
    windows = context.model("windows").filter(pl.col("run").is_in(runs))
    window = ", ".join(sorted(set(windows["covers"])))
    return Figure(
        name="throughput_series",
        heading=f"When it sends: throughput of {_hosts(rows)}, {bin_ms} bins",
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


def _hosts(rows: pl.DataFrame) -> str:
    """The host of all rows, by its name if it is one."""
    hosts = sorted(set(rows["host"]))
    return str(hosts[0]) if len(hosts) == 1 else "one host each"


def _bins(rows: pl.DataFrame) -> str:
    """Width of the bins, `10 ms`; of several the least and the greatest."""
    widths = sorted(set(rows["bin_ms"]))
    ends = dict.fromkeys((widths[0], widths[-1]))
    return f"{' to '.join(map(numbers.plain, ends))} ms"


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
        scale=alt.Scale(domain=[0, end], nice=False),
        axis=alt.Axis(**options, labels=direction == "in", ticks=direction == "in"),
    )

    def y(field: str) -> alt.Y:
        return alt.Y(
            field,
            title=None,
            scale=alt.Scale(domain=[0, top * 1.05], nice=False),
            axis=alt.Axis(tickCount=3, format=",~f"),
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
    )


def cdf(context: Context) -> Figure | None:
    """Share of time at or below a rate, with the empty bins as their own place."""
    import altair as alt

    rows = context.rows("throughput_cdf")
    if rows.is_empty():
        return None
    shown = context.series_in(rows)
    largest = float(rows["mbit_s"].max() or 0) * 1e6  # type: ignore[arg-type]
    high = 10.0 ** _decade_above(max(largest, 1e6))
    panels = [_cdf_panel(context, rows, shown, direction, high) for direction in DIRECTIONS]
    bin_ms = _bins(rows)
    chart: Any = alt.concat(*panels, columns=1 if len(shown) > FEW else 2, align="all")
    if largest <= 0:
        chart = empty("no packet in these runs", theme.FULL_WIDTH, 120)
    counts = "; ".join(
        f"{one.label}: {numbers.plural(context.of(rows, one)['bins'][0], 'bin')}" for one in shown
    )
    return Figure(
        name="throughput_cdf",
        heading=f"How often it sends how much: distribution of {bin_ms} bins of {_hosts(rows)}",
        caption=sentence(
            f"Share of {bin_ms} bins at or below a rate; runs, time and capture point as in the "
            f"figure before ({counts}).",
            "Empty bins count: their share is where the line begins.",
            "R2: 120 quantiles of the busy bins and the tail, drawn as steps.",
            doubts.of_traffic(context, rows),
        ),
        chart=chart,
        rows=rows,
    )


def _decade_above(value: float) -> int:
    import math

    return math.ceil(math.log10(value) - 1e-9)


def _cdf_panel(
    context: Context, rows: pl.DataFrame, shown: list[Series], direction: str, high: float
) -> Any:
    import altair as alt

    ticks = [ZERO, *(10.0**k for k in range(3, _decade_above(high) + 1))]
    low = ZERO / 2
    x = alt.X(
        "x:Q",
        title="throughput (bit/s)",
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=alt.Axis(values=ticks, labelExpr=axes.prefix_labels(ticks, {ZERO: "empty"})),
    )
    y = alt.Y(
        "share:Q",
        title=f"share of time (%), {direction}",
        scale=alt.Scale(domain=[0, 100], nice=False),
        axis=alt.Axis(values=[0, 25, 50, 75, 90, 100]),
    )
    band = alt.Chart(values([{"x": low, "end": ZERO * 2}])).mark_rect(color=theme.GRID)
    layers: list[Any] = [band.encode(x=x, x2="end:Q", y=alt.value(0), y2=alt.value("height"))]
    labels = []
    for one in shown:
        mine = context.of(rows, one).filter(pl.col("direction") == direction).sort("mbit_s")
        steps = [
            {"x": max(row["mbit_s"] * 1e6, ZERO), "share": row["share"] * 100}
            for row in mine.iter_rows(named=True)
        ]
        if not steps:
            continue
        start = {"x": low, "share": steps[0]["share"]}
        line = alt.Chart(values([start, *steps, {"x": high, "share": 100.0}])).mark_line(
            interpolate="step-after", strokeWidth=2, color=one.colour, strokeDash=one.dash
        )
        layers.append(line.encode(x=x, y=y))
        text = f"{one.label} {numbers.share(mine['share'][0])} empty"
        labels.append([steps[0]["share"], text, one.text_colour])
    # From the line that begins at the top down.
    labels.sort(key=lambda label: -label[0])
    if len(shown) > FEW:
        # Beside the plot: inside it so many words would stand on the curves.
        for number, (_, text, colour) in enumerate(labels):
            words = alt.Chart(values([{"text": text}])).mark_text(align="left", color=colour)
            y_words = alt.value(8 + LINE * number)
            layers.append(words.encode(x=alt.value(WIDE + 14), y=y_words, text="text:N"))
        height = max(210, LINE * len(labels))
        return alt.layer(*layers).properties(width=WIDE, height=height)
    # Right of the band, at least 14 px apart.
    places = _apart([label[0] for label in labels])
    for place, (_, text, colour) in zip(places, labels, strict=True):
        data = values([{"x": ZERO * 2.4, "share": place, "text": text}])
        words = alt.Chart(data).mark_text(align="left", color=colour)
        layers.append(words.encode(x=x, y=y, text="text:N"))
    return alt.layer(*layers).properties(width=theme.HALF_WIDTH, height=210)


def _apart(shares: list[float]) -> list[float]:
    """Places for the words of lines that begin at `shares`, descending: apart, inside the plot."""
    step = min(8.0, 94 / max(len(shares), 1))
    places: list[float] = []
    for share in shares:
        # below the line where there is room, so that the curve does not run through it
        beside = share - 5 if share > 12 else share + 6
        places.append(min(beside, places[-1] - step) if places else beside)
    for back, place in enumerate(reversed(places)):
        places[len(places) - 1 - back] = max(place, 3 + step * back)
    return places
