"""Draws throughput between a pair of sites over time, one direction up, the other down."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.render import axes, charts, link_changes, silences, theme
from flowsweep.render.figure import panel_title, values
from flowsweep.render.panels import about
from flowsweep.render.throughput import describe_rates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowsweep.render.theme import Series

Pair = tuple[str, str]
#: The least height of a direction, as a share of the other's.
LEAST_SIDE = 0.15
#: The capacity is drawn if the peak reaches this share of it.
NEAR_CAPACITY = 0.6
ARROW = "→"


def draw_panel(
    rows: pl.DataFrame,
    one: Series,
    pair: Pair,
    size: tuple[int, int],
    steps_of_links: pl.DataFrame,
    *,
    name: str,
) -> Any:
    """Draws what crosses between a pair of sites in one run.

    Args:
        rows: Rows of the query `wan_throughput`, of this run.
        one: The run's application.
        pair: The sites; traffic from the first is drawn upwards.
        size: Width and height, pixels.
        steps_of_links: What the links carry, if that changes during the run; else no rows.
        name: First part of the title.
    """
    there, back = (
        silences.cut_silences(_select_direction(rows, way).sort("start_s"), "cut_before_s")
        for way in (pair, pair[::-1])
    )
    gaps = there.filter(pl.col("cut_before_s") > 0).select("start_s", "cut_before_s").rows()
    rates = _rates(rows, pair)
    peaks = rates[1:]
    # The last step is shorter than the others, and may be higher than the peak.
    tops = [float(side["max_mbit_s"].max() or 0) for side in (there, back)]  # type: ignore[arg-type]
    up = max(peaks[0], tops[0], peaks[1] * LEAST_SIDE, 1e-3)
    down = max(peaks[1], tops[1], peaks[0] * LEAST_SIDE, 1e-3)
    capacities = []
    for sign, near in zip((1, -1), peaks_near_capacity(rows, pair), strict=True):
        if near and rates[0] and steps_of_links.is_empty():
            capacities.append(sign * rates[0])
            up, down = (max(up, rates[0]), down) if sign > 0 else (up, max(down, rates[0]))
    end = float(there["end_s"].max())  # type: ignore[arg-type]
    unit, options = axes.since_start(end)
    x = partial(
        charts.field,
        title=f"time since its start ({unit})",
        scale=axes.scale(domain=[0, end], nice=False),
        axis=axes.axis(**options),
    )
    up_end = silences.end_of_axis(up, has_cuts=bool(gaps), height=size[1])
    scale = axes.scale(domain=[-down * 1.05, up_end], nice=False)
    axis = axes.rate_axis(max(up, down), ticks=5)

    def y(field: str) -> charts.Channel:
        return charts.field(field, title=None, scale=scale, axis=axis)

    layers = _direction_layers((there, back), one, x("x:Q"), y)
    layers.append(_rule([0.0], color=theme.AXIS).encode(y=y("y:Q")))
    if capacities:
        rule = _rule(capacities, strokeDash=[2, 2], color=theme.MUTED)
        layers.append(rule.encode(y=y("y:Q")))
    if not steps_of_links.is_empty():
        layers += link_changes.lines(steps_of_links, (-down, up), x("x:Q"), y)
    layers += silences.marks(gaps, end, size[0], x("start_s:Q"))
    text = f"peak {describe_rates(peaks, max(up, down), 'back')}"
    if rows.filter(pl.col("shortest_ms") > pl.col("step_ms")).height:
        text = f"peak not measurable in {numbers.plain(rows['step_ms'][0])} ms"
    sites = f"{pair[0]} {ARROW} {pair[1]}"
    return charts.layer(*layers).properties(
        width=size[0],
        height=size[1],
        title=panel_title(name, f"{sites} {text}", one, size[0]),
        description=about(
            y=f"Mbit/s, from {pair[0]} up, back down", application=one.label, sites=sites
        ),
    )


def peaks_near_capacity(rows: pl.DataFrame, pair: Pair) -> tuple[bool, bool]:
    """Returns whether the peaks there and back are near what the links carry."""
    capacity, there, back = _rates(rows, pair)
    least = NEAR_CAPACITY * capacity if capacity else float("inf")
    return there >= least, back >= least


def _rates(rows: pl.DataFrame, pair: Pair) -> tuple[float | None, float, float]:
    """Returns what all links carry, if known, and the peaks there and back, Mbit/s."""
    sides = [_select_direction(rows, way) for way in (pair, pair[::-1])]
    rate, links = sides[0]["rate_mbit_s"][0], sides[0]["links"][0]
    peaks = [float(side["run_peak_mbit_s"].max() or 0) for side in sides]  # type: ignore[arg-type]
    return rate * (links or 1) if rate else None, peaks[0], peaks[1]


def _select_direction(rows: pl.DataFrame, way: Pair) -> pl.DataFrame:
    return rows.filter((pl.col("from_site") == way[0]) & (pl.col("to_site") == way[1]))


def _direction_layers(
    sides: Sequence[pl.DataFrame], one: Series, x: charts.Channel, y: Any
) -> list[Any]:
    """Draws the mean of each step as a line, and the range up to its maximum as an area."""
    layers: list[Any] = []
    for side, sign in zip(sides, (1, -1), strict=True):
        if side.is_empty():
            continue
        steps = [
            {
                "x": row["start_s"],
                "mean": sign * row["mean_mbit_s"],
                "top": sign * row["max_mbit_s"],
            }
            for row in side.iter_rows(named=True)
        ]
        steps.append({**steps[-1], "x": side["end_s"][-1]})
        data = values(steps)
        area = charts.Chart(data).mark(
            "area", interpolate="step-after", opacity=0.28, color=one.colour, clip=True
        )
        line = charts.Chart(data).mark(
            "line", interpolate="step-after", strokeWidth=1.25, color=one.colour, clip=True
        )
        layers += [
            area.encode(x=x, y=y("mean:Q"), y2="top:Q"),
            line.encode(x=x, y=y("mean:Q")),
        ]
    return layers


def _rule(heights: Sequence[float], **style: Any) -> Any:
    return charts.Chart(values([{"y": height} for height in heights])).mark("rule", **style)
