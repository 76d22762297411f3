"""Words that the figures of the shown host's throughput share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowsweep import numbers

if TYPE_CHECKING:
    import polars as pl

    from flowsweep.render.figure import Context

#: Below it a rate has a smaller unit.
SMALL_MBIT_S = 0.01
DIRECTIONS = ("out", "in")


def host_names(rows: pl.DataFrame) -> str:
    """The host of all rows, by its name if it is one."""
    hosts = sorted(set(rows["host"]))
    return str(hosts[0]) if len(hosts) == 1 else "one host each"


def select_shown_host(context: Context, rows: pl.DataFrame) -> pl.DataFrame:
    """Selects the rows of the shown host at each point, by its role where names differ."""
    import polars as pl

    hosts = context.model("shown_hosts").join(
        context.model("host_roles"), on=["run", "host"], how="left"
    )
    runs = context.model("pool_runs").select("run", "point")
    shown = hosts.join(runs, on="run").select("point", host=pl.coalesce("role", "host")).unique()
    return rows.join(shown, on=["point", "host"], how="semi")


def describe_rates(first: float, second: float, name: str = "mean") -> str:
    """`67.5, mean 1.04 Mbit/s`; where one is far below 1 Mbit/s each has a unit of its own."""
    if all(rate == 0 or rate >= SMALL_MBIT_S for rate in (first, second)):
        return f"{numbers.estimate(first)}, {name} {numbers.estimate(second)} Mbit/s"
    return f"{numbers.rate(first)}, {name} {numbers.rate(second)}"


def describe_bins(rows: pl.DataFrame) -> str:
    """Width of the bins, `10 ms`; of several the least and the greatest."""
    widths = sorted(set(rows["bin_ms"]))
    ends = dict.fromkeys((widths[0], widths[-1]))
    return f"{' to '.join(map(numbers.plain, ends))} ms"
