"""Figure `flow_sizes`: payload of each flow direction against its duration."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from flowsweep import numbers
from flowsweep.render import axes, charts, doubts, equal_rates, theme
from flowsweep.render.figure import Context, Figure, sentence, values
from flowsweep.render.panels import TIP, about, tip

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from flowsweep.render.theme import Series

SMALL = 50
RATES = ((1e4, "10 kbit/s"), (1e6, "1 Mbit/s"), (1e8, "100 Mbit/s"))


def draw(context: Context) -> Figure | None:
    """Draws flow size against duration."""
    every = context.rows("flow_sizes")
    # One point has more flows than a reader can tell apart; the distributions cover the sweep.
    rows = every.join(context.model("shown_runs").select("run"), on="run", how="semi")
    if rows.is_empty():
        return None
    drawn = rows.drop_nulls("payload_bytes")
    if drawn.is_empty():
        return None
    return Figure(
        name="flow_sizes",
        caption=_caption(context, rows, drawn),
        chart=_draw_panels(context, drawn),
        rows=every,
    )


def _draw_panels(context: Context, drawn: pl.DataFrame) -> Any:
    applications = context.series_in(drawn)
    is_alone = len(applications) == 1
    panels = [
        _panel(context.select_series(drawn, one), drawn, one, alone=is_alone)
        for one in applications
    ]
    return panels[0] if is_alone else charts.concat(*panels, columns=2, align="all")


def _caption(context: Context, rows: pl.DataFrame, drawn: pl.DataFrame) -> str:
    unknown = int(rows["flows"].sum()) - int(drawn["flows"].sum())
    cut = int(drawn["censored_flows"].sum())
    return sentence(
        _describe_flows(rows),
        "Cells of 1/8 and 1/6 decade, area = number of flows."
        if rows["is_cell"].any()
        else "One point per direction.",
        f"Not drawn: {numbers.count(unknown)} whose payload Zeek does not record."
        if unknown
        else None,
        f"Open points: {numbers.count(cut)} without SYN, or without FIN and RST (UDP has "
        "neither): they may have begun before the capture, or ended after it."
        if cut
        else None,
        "Of Zeek's flows the duration is that of their connection."
        if drawn["is_of_zeek"].any()
        else None,
        doubts.note_traffic(context, rows),
        "Dotted: equal rate. A direction of one packet lasts 0 s.",
    )


def _describe_flows(rows: pl.DataFrame) -> str:
    """States which flows are drawn, and which captures they are taken from."""
    total = int(rows["flows"].sum())
    far = int(rows.filter("is_far_side")["flows"].sum())
    elsewhere = (
        f"; {numbers.plural(far, 'direction')} from elsewhere, whose sender was not captured"
    )
    return (
        f"{numbers.plural(total, 'flow direction')} of {', '.join(sorted(set(rows['run'])))}, all "
        f"hosts, each taken from the capture of the host that sent it{elsewhere if far else ''}."
    )


class Scale(NamedTuple):
    """A logarithmic axis of decades, with a band for 0 below them if a value is 0.

    Attributes:
        low, high: The ends of the decades.
        bottom: The lower end of the axis: below `low` if there is a band.
        band_end: The upper end of the band.
        zero: Where the marks of 0 are.
    """

    low: float
    high: float
    bottom: float
    band_end: float
    zero: float

    @classmethod
    def around(cls, column: pl.Series, ends: tuple[float, float], part: float) -> Scale:
        """Returns the scale of these values, or of `ends` if none is above 0; `part`: band size."""
        low, high = _span(column, *ends)
        # The band takes about a tenth of the axis, with the mark near its middle.
        step = (high / low) ** part
        bottom = low / step**2 if (column <= 0).any() else low
        return cls(low, high, bottom, low / step**0.4, low / step)

    @property
    def has_band(self) -> bool:
        """Whether a value is 0."""
        return self.bottom < self.low

    def place(self, value: float) -> float:
        """Returns where the mark of a value is."""
        return value if value > 0 else self.zero

    def ticks(self, most: int = axes.MAX_TICKS) -> list[float]:
        """Returns the values that are labelled on the axis."""
        zero = [self.zero] if self.has_band else []
        return [*zero, *axes.log_ticks(self.low, self.high, most)]


def _panel(rows: pl.DataFrame, everything: pl.DataFrame, one: Series, *, alone: bool) -> Any:
    width, height = (theme.FULL_WIDTH - 70, 280) if alone else (theme.HALF_WIDTH - 40, 220)
    durations = Scale.around(everything["duration_s"], (1e-3, 1.0), 0.06)
    sizes = Scale.around(everything["payload_bytes"], (10.0, 1e6), 0.08)
    x = _duration_axis(durations, 8 if alone else 5)
    y = _size_axis(sizes)
    slopes = [(rate / 8, name) for rate, name in RATES]
    spans = ((durations.low, durations.high), (sizes.low, sizes.high))
    layers = [
        *_draw_bands(durations, sizes, x, y),
        *equal_rates.draw_lines(slopes, x, y, spans, (5, -7)),
        *_draw_points(rows, one, (durations, sizes), (x, y)),
    ]
    panel = charts.layer(*layers).properties(
        width=width, height=height, description=about(application=one.label)
    )
    if not alone:
        panel = panel.properties(title=charts.title(one.label, color=one.text_colour))
    return panel


def _duration_axis(scale: Scale, most_ticks: int) -> charts.Channel:
    ticks = scale.ticks(most_ticks)
    if scale.has_band:  # the label of the lowest decade would touch that of 0
        ticks = [tick for tick in ticks if tick == scale.zero or tick > scale.low * 1.001]
    labels = axes.time_labels(ticks, {scale.zero: "0"})
    return charts.field(
        "x:Q",
        title="duration",
        scale=axes.scale(type="log", domain=[scale.bottom, scale.high], nice=False),
        axis=axes.axis(values=ticks, grid=True, labelExpr=labels),
    )


def _size_axis(scale: Scale) -> charts.Channel:
    ticks = scale.ticks()
    labels = axes.prefix_labels(ticks, {scale.zero: "none"})
    return charts.field(
        "y:Q",
        title="payload (bytes)",
        scale=axes.scale(type="log", domain=[scale.bottom, scale.high], nice=False),
        axis=axes.axis(values=ticks, labelExpr=labels),
    )


def _draw_bands(
    durations: Scale, sizes: Scale, x: charts.Channel, y: charts.Channel
) -> Iterator[charts.Chart]:
    """Draws the bands of flow directions of no duration, and of those without payload."""
    if durations.has_band:
        ends = [{"x": durations.bottom, "end": durations.band_end}]
        band = charts.Chart(values(ends)).mark("rect", color=theme.GRID)
        yield band.encode(x=x, x2="end:Q", y=charts.value(0), y2=charts.value("height"))
    if sizes.has_band:
        ends = [{"y": sizes.bottom, "end": sizes.band_end}]
        band = charts.Chart(values(ends)).mark("rect", color=theme.GRID)
        yield band.encode(y=y, y2="end:Q", x=charts.value(0), x2=charts.value("width"))


def _draw_points(
    rows: pl.DataFrame,
    one: Series,
    scales: tuple[Scale, Scale],
    channels: tuple[charts.Channel, charts.Channel],
) -> Iterator[charts.Chart]:
    """Draws a point for each row, open if the capture may lack part of its flows."""
    durations, sizes = scales
    x, y = channels
    points = [
        {
            "x": durations.place(row["duration_s"]),
            "y": sizes.place(row["payload_bytes"]),
            "cut": row["is_cut"],
            "flows": row["flows"],
            TIP: _tooltip(row),
        }
        for row in rows.iter_rows(named=True)
    ]
    size: Any = charts.value(22 if len(points) > SMALL else 45)
    if rows["is_cell"].any():
        size = charts.field("flows:Q", scale=axes.scale(type="log", range=[6, 90]), legend=None)
    for cut in (False, True):
        chosen = [point for point in points if point["cut"] == cut]
        if chosen:
            mark = charts.Chart(values(chosen)).mark(
                "point",
                shape=one.shape,
                filled=not cut,
                opacity=0.55,
                color=one.colour,
                strokeWidth=1.2,
            )
            yield mark.encode(x=x, y=y, size=size)


def _tooltip(row: dict[str, Any]) -> str:
    """Describes a flow direction, or a cell of several."""
    return tip(
        f"{numbers.plural(row['flows'], 'flow direction')}, geometric means"
        if row["is_cell"]
        else f"{row['source']} to {row['destination']}, {row['direction']}",
        f"{numbers.size(row['payload_bytes'])} of payload",
        numbers.seconds(row["duration_s"]),
        "begun before or open at the end of the capture" if row["is_cut"] else None,
    )


def _span(column: pl.Series, low: float, high: float) -> tuple[float, float]:
    """Returns decades around the positive values."""
    positive = column.filter(column > 0)
    if positive.is_empty():
        return low, high
    least, most = float(positive.min()), float(positive.max())  # type: ignore[arg-type]
    # A mark on the edge would be cut.
    bottom = 10.0 ** math.floor(math.log10(least / 1.5))
    top = 10.0 ** math.ceil(math.log10(most) + 1e-9)
    # A tight top: half a decade if that is above the largest value.
    if most * 1.15 < top / math.sqrt(10):
        top /= math.sqrt(10)
    return min(bottom, top / 100), top
