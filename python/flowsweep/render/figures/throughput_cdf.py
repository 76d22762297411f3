"""Figure `throughput_cdf`: the distribution (CDF) of the shown host's throughput."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.render import axes, doubts, theme
from flowsweep.render.figure import Context, Figure, empty, sentence, values

if TYPE_CHECKING:
    from flowsweep.render.theme import Series

from flowsweep.render.throughput import DIRECTIONS, bins_told, host_names

# Rate 0 has no place on a log axis: it gets a band left of the first decade.
ZERO = 150.0
# More lines than these have their words beside the plot, which is so wide, so far apart.
FEW = 5
WIDE, LINE = 440, 16


def draw(context: Context) -> Figure | None:
    """Share of time at or below a rate, with the empty bins as their own place."""
    import altair as alt

    rows = context.rows("throughput_cdf")
    if rows.is_empty():
        return None
    shown = context.series_in(rows)
    largest = float(rows["mbit_s"].max() or 0) * 1e6  # type: ignore[arg-type]
    high = 10.0 ** _decade_above(max(largest, 1e6))
    panels = [_cdf_panel(context, rows, shown, direction, high) for direction in DIRECTIONS]
    bin_ms = bins_told(rows)
    chart: Any = alt.concat(*panels, columns=1 if len(shown) > FEW else 2, align="all")
    if largest <= 0:
        chart = empty("no packet in these runs", theme.FULL_WIDTH, 120)
    counts = "; ".join(
        f"{one.label}: {numbers.plural(context.of(rows, one)['bins'][0], 'bin')}" for one in shown
    )
    return Figure(
        name="throughput_cdf",
        heading=f"How often it sends how much: distribution of {bin_ms} bins of {host_names(rows)}",
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
