"""Axes that the figures share: fixed ticks on log scales, a place for zero, slowdown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from flowsweep import numbers
from flowsweep.render import charts

if TYPE_CHECKING:
    import polars as pl

MAX_TICKS = 8
LONG_S, DAY_S = 10_000, 86_400
SLOWDOWN_TICKS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.1, 1.5, 2.0, 3.0, 5.0, 10.0)


def axis(**options: Any) -> dict[str, Any]:
    """Returns the options of a channel's `axis`."""
    return options


def scale(**options: Any) -> dict[str, Any]:
    """Returns the options of a channel's `scale`."""
    return options


def legend(**options: Any) -> dict[str, Any]:
    """Returns the options of a channel's `legend`."""
    return options


def log_ticks(low: float, high: float, most: int = MAX_TICKS) -> list[float]:
    """Returns 1-2-5 steps, or decades if those exceed `most`; even steps if there are too few."""
    if not 0 < low < high:
        return [low] if low > 0 else []
    steps: tuple[int, ...]
    for steps in ((1, 2, 5), (1,)):
        exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        ticks = [
            step * 10.0**exponent
            for exponent in exponents
            for step in steps
            if low * 0.999 <= step * 10.0**exponent <= high * 1.001
        ]
        if len(ticks) < 2:
            return _even_ticks(low, high)
        if len(ticks) <= most:
            return ticks
    return ticks[:: math.ceil(len(ticks) / most)]


def _even_ticks(low: float, high: float) -> list[float]:
    """Returns at least two ticks at even steps, for a range that lies inside a step of 1, 2, 5."""
    decade = 10.0 ** math.floor(math.log10(high - low))
    for step in (decade, decade / 2, decade / 5):
        first, last = math.ceil(low / step * 0.999999), math.floor(high / step * 1.000001)
        if last > first:
            return [float(f"{number * step:.10g}") for number in range(first, last + 1)]
    return [low, high]


def log_channel(title: str, span: tuple[float, float], most: int, field: str) -> charts.Channel:
    """Returns a field on a log axis over `span`, with at most this many ticks, and k, M, G."""
    ticks = log_ticks(*span, most)
    return charts.field(
        field,
        title=title,
        scale=scale(type="log", domain=list(span), nice=False),
        axis=axis(values=ticks, labelExpr=prefix_labels(ticks)),
    )


def number_labels(ticks: list[float]) -> str:
    """Returns a label expression: plain numbers with a comma."""
    return given_labels({tick: numbers.tick(tick) for tick in ticks})


def prefix_labels(
    ticks: list[float], special: dict[float, str] | None = None, scale: float = 1
) -> str:
    """Returns a label expression with k, M, G; `scale` is the axis' unit in one without prefix."""
    labels = {}
    for tick in ticks:
        whole = tick * scale
        text = numbers.tick(whole)
        for prefix, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
            if whole >= size:
                text = f"{whole / size:.10g} {prefix}"
                break
        labels[tick] = text
    return given_labels(labels | (special or {}))


def time_labels(ticks: list[float], special: dict[float, str] | None = None) -> str:
    """Returns a label expression for seconds on a log axis: 10 µs, 1 ms, 1 s."""
    labels = {}
    for tick in ticks:
        for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9)):
            if tick * factor >= 0.999 or unit == "ns":
                labels[tick] = f"{tick * factor:,.10g} {unit}"
                break
    return given_labels(labels | (special or {}))


def since_start(end_s: float) -> tuple[str, dict[str, Any]]:
    """Returns unit and options of a linear axis from 0 to `end_s`, in s, or h or days if long.

    The data stay in seconds.
    """
    if end_s < LONG_S:
        return "s", {"tickCount": 6, "format": ",~f"}
    unit, size = ("h", 3600) if end_s < 2 * DAY_S else ("days", DAY_S)
    most = end_s / size
    decade = 10.0 ** math.floor(math.log10(most / 6))
    step = next(step for step in (decade, 2 * decade, 5 * decade, 10 * decade) if most / step <= 7)
    ticks = [number * step * size for number in range(math.floor(most / step) + 1)]
    return unit, {"values": ticks, "labelExpr": f"format(datum.value / {size}, ',~f')"}


def rate_unit(top_mbit_s: float) -> tuple[float, str]:
    """Returns size (Mbit/s) and name of the unit for an axis up to this rate, for its title."""
    units = ((1.0, "Mbit/s"), (1e-3, "kbit/s"))
    return next((one for one in units if top_mbit_s >= one[0]), (1e-6, "bit/s"))


def rate_axis(top_mbit_s: float, ticks: int) -> dict[str, Any]:
    """Returns a linear axis up to this rate, labelled in its `rate_unit`; for 0 with 0 alone."""
    if not top_mbit_s:
        return axis(values=[0])
    size, _ = rate_unit(top_mbit_s)
    return axis(tickCount=ticks, labelExpr=f"format(abs(datum.value) / {size!r}, ',.3~r')")


def given_labels(labels: dict[float, str]) -> str:
    """Returns a label expression: the entry within 0.1 %, because a scale rounds its ticks."""
    expression = "''"
    for value, text in labels.items():
        near = f"abs(datum.value / {value!r} - 1) < 1e-3"
        expression = f"{near} ? '{text}' : {expression}"
    return expression


def slowdown_y(
    drawn: pl.Series, title: str | None = "completion time ÷ baseline", **options: Any
) -> charts.Channel:
    """Returns a log axis that covers these slowdowns, with ticks at 1, 1.1, 1.5, 2 and beyond."""
    known = [float(one) for one in drawn if one is not None]
    bottom, top = min([0.9, *(one / 1.06 for one in known)]), slowdown_top(drawn)
    ticks = [tick for tick in SLOWDOWN_TICKS if bottom <= tick <= top]
    if top > 12 * bottom:  # 1 and 1.1 would overlap
        ticks = log_ticks(bottom, top)
    return charts.field(
        "slowdown:Q",
        title=title,
        scale=scale(type="log", domain=[bottom, top], nice=False),
        axis=axis(values=ticks, labelExpr=number_labels(ticks)),
        **options,
    )


def slowdown_top(drawn: pl.Series) -> float:
    """Returns the upper end of the axis of slowdowns."""
    return max(1.6, 1.06 * max((float(one) for one in drawn if one is not None), default=1.0))
