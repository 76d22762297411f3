"""Phrases that the figures of the shown host's throughput share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowsweep import numbers
from flowsweep.render import axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from flowsweep.render.figure import Context

#: A rate below this share of the unit gets a unit of its own.
LEAST_SHOWN = 0.01
DIRECTIONS = ("out", "in")


def host_names(rows: pl.DataFrame) -> str:
    """Names the host of all rows, if there is only one."""
    hosts = sorted(set(rows["host"]))
    return str(hosts[0]) if len(hosts) == 1 else "one host each"


def select_shown_host(context: Context, rows: pl.DataFrame) -> pl.DataFrame:
    """Selects the rows of the shown host at each point, by its role if names differ."""
    import polars as pl

    hosts = context.model("shown_hosts").join(
        context.model("host_roles"), on=["run", "host"], how="left"
    )
    runs = context.model("pool_runs").select("run", "point")
    shown = hosts.join(runs, on="run").select("point", host=pl.coalesce("role", "host")).unique()
    return rows.join(shown, on=["point", "host"], how="semi")


def describe_rates(rates: Sequence[float], top: float, name: str = "mean") -> str:
    """Returns `67.5, mean 1.04 Mbit/s`, in the unit of an axis up to `top` unless far smaller.

    Args:
        rates: A peak, and the rate that is called `name`, Mbit/s.
        top: Upper end of the axis, Mbit/s.
        name: Name of the second rate.
    """
    size, unit = axes.rate_unit(top)
    first, second = (rate / size for rate in rates)
    if all(rate == 0 or rate >= LEAST_SHOWN for rate in (first, second)):
        return f"{numbers.estimate(first)}, {name} {numbers.estimate(second)} {unit}"
    return f"{numbers.estimate(first)} {unit}, {name} {numbers.rate(rates[1])}"


def describe_bins(rows: pl.DataFrame) -> str:
    """Returns the width of the bins, `10 ms`; of several the least and the greatest."""
    widths = sorted(set(rows["bin_ms"]))
    ends = dict.fromkeys((widths[0], widths[-1]))
    return f"{' to '.join(map(numbers.plain, ends))} ms"
