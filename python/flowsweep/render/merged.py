"""States which times are too short for a rate: merged packets, coarse or borrowed times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from flowsweep import numbers
from flowsweep.lists import shorten_list
from flowsweep.render.figure import sentence

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowsweep.render.figure import Context

#: The most runs that are named.
MAX_NAMED = 4
MERGED = (
    "offloading merged packets, so that the largest takes so long at the rate of its direction. "
    "Its bytes are spread over the time since the packet before, and shorter bins are left out."
)
COARSE = "time stamps are coarser than a bin."


def note(context: Context, rows: pl.DataFrame) -> str | None:
    """States below which times no rate is measurable, and in which runs; None if there are none.

    Args:
        context: Provides the shortest time of each run whose rate is known.
        rows: Rows with the points or the runs in question.
    """
    drawn = _shortest(context, rows)
    timed = drawn.filter(~pl.col("is_borrowed"))
    is_merged = pl.col("largest_bytes").is_not_null()
    return (
        sentence(
            _note_shortest(timed.filter(is_merged), numbers.seconds, MERGED),
            _note_shortest(timed.filter(~is_merged), numbers.width, COARSE),
            note_borrowed(drawn.filter("is_borrowed")["run"]),
        )
        or None
    )


def note_borrowed(runs: pl.Series) -> str | None:
    """States which runs have packets without a time of their own; None if none has."""
    named = sorted(set(runs))
    if not named:
        return None
    text = ", ".join(named[:MAX_NAMED])
    if len(named) > MAX_NAMED:
        text += f" and {len(named) - MAX_NAMED} more"
    return (
        f"No peak is known of {text}: some packets there have no time of their own, but that of "
        "the packet before."
    )


def _shortest(context: Context, rows: pl.DataFrame) -> pl.DataFrame:
    """Selects the rows of `shortest_bins` of the runs that are drawn."""
    # The rows of a point with several runs name no run.
    runs = context.model("pool_runs").select("run", "point")
    key = "point" if "point" in rows.columns else "run"
    drawn = runs.join(rows.select(key).unique(), on=key, how="semi") if key == "point" else rows
    known = context.model("shortest_bins").filter(pl.col("way") != "through")
    return known.join(drawn.select("run").unique(), on="run", how="semi")


def _note_shortest(
    shortest: pl.DataFrame, describe: Callable[[float], str], reason: str
) -> str | None:
    found = (
        shortest.group_by("run")
        .agg(pl.col("shortest_ns").max())
        .sort("shortest_ns", "run", descending=[True, False])
    )
    if found.is_empty():
        return None
    times = [
        f"{describe(shortest / 1e9)} in {run}"
        for run, shortest in found.select("run", "shortest_ns").iter_rows()
    ]
    return f"Not measurable below {', '.join(shorten_list(times, MAX_NAMED))}: {reason}"
