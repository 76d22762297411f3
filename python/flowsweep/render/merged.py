"""Which times are too short for a rate, because offloading merged packets: in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from flowsweep import numbers

if TYPE_CHECKING:
    from flowsweep.render.figure import Context

#: Of more runs these are named.
MAX_NAMED = 4


def note(context: Context, rows: pl.DataFrame) -> str | None:
    """Says below which times nothing is measurable, and of which runs; None of whole packets.

    Args:
        context: Knows which packets were merged.
        rows: Of the runs of these points, or of these runs.
    """
    # A point of several runs has no run in its rows.
    runs = context.model("pool_runs").select("run", "point")
    key = "point" if "point" in rows.columns else "run"
    drawn = runs.join(rows.select(key).unique(), on=key, how="semi") if key == "point" else rows
    known = context.model("shortest_bins").filter(pl.col("way") != "through")
    found = (
        known.join(drawn.select("run").unique(), on="run", how="semi")
        .group_by("run")
        .agg(pl.col("shortest_ns").max())
        .sort("shortest_ns", "run", descending=[True, False])
    )
    if found.is_empty():
        return None
    told = [
        f"{numbers.seconds(shortest / 1e9)} in {run}"
        for run, shortest in found.head(MAX_NAMED).select("run", "shortest_ns").iter_rows()
    ]
    if found.height > MAX_NAMED:
        told.append(f"{found.height - MAX_NAMED} more")
    return (
        f"Not measurable below {', '.join(told)}: offloading merged packets, so that the largest "
        "takes so long at the rate of its direction. Its bytes are spread over the time since the "
        "packet before, and shorter bins are left out."
    )
