"""Words that the figures of the shown host's throughput share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowsweep import numbers

if TYPE_CHECKING:
    import polars as pl


DIRECTIONS = ("out", "in")


def host_names(rows: pl.DataFrame) -> str:
    """The host of all rows, by its name if it is one."""
    hosts = sorted(set(rows["host"]))
    return str(hosts[0]) if len(hosts) == 1 else "one host each"


def bins_told(rows: pl.DataFrame) -> str:
    """Width of the bins, `10 ms`; of several the least and the greatest."""
    widths = sorted(set(rows["bin_ms"]))
    ends = dict.fromkeys((widths[0], widths[-1]))
    return f"{' to '.join(map(numbers.plain, ends))} ms"
