"""Figure `throughput_cdf`: the distribution (CDF) of the shown host's throughput, per point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from flowsweep import numbers
from flowsweep.render import axes, distributions, doubts, merged, theme
from flowsweep.render.figure import Context, Figure, empty, sentence
from flowsweep.render.throughput import describe_bins, host_names, select_shown_host

if TYPE_CHECKING:
    from typing import Any

QUANTITY = distributions.Quantity(
    query="throughput_cdf",
    column="mbit_s",
    title="throughput (bit/s)",
    counted="time",
    labels=axes.prefix_labels,
    scale=1e6,
)


def draw(context: Context) -> Figure | None:
    """Draws the share of time at or below a rate, with a place of its own for empty bins."""
    every = context.rows("throughput_cdf")
    rows = _select_drawn(context, every)
    if rows.is_empty():
        return None
    bin_ms = describe_bins(rows)
    drawn = None
    chart: Any = empty("no packet in these runs", theme.FULL_WIDTH, 120)
    if float(rows["mbit_s"].max() or 0) > 0:  # type: ignore[arg-type]
        chart, drawn = distributions.chart(context, rows, QUANTITY)
    bins = int(rows.unique(subset=["point", "run", "direction"])["bins"].sum()) // 2
    return Figure(
        name="throughput_cdf",
        heading=f"Throughput of {host_names(rows)}, {bin_ms} bins: distribution (CDF)",
        caption=sentence(
            f"Share of {bin_ms} bins at or below a rate, of the host in the figure above."
            if context.stands_alone
            else f"Share of {bin_ms} bins at or below a rate: {numbers.plural(bins, 'bin')} of the "
            "host in the figure above, at all points.",
            "Empty bins count: each line starts at their share.",
            drawn,
            merged.note(context, rows),
            doubts.note_traffic(context),
        ),
        chart=chart,
        rows=every,
    )


def _select_drawn(context: Context, rows: pl.DataFrame) -> pl.DataFrame:
    """Selects the narrowest bins of the shown host at each point."""
    own = select_shown_host(context, rows)
    least = pl.col("bin_ms").min().over("point", "host", "direction")
    return own.filter(pl.col("bin_ms") == least)
