"""Draws links that change while a program runs, in figures over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep.render import charts, theme
from flowsweep.render.figure import values

if TYPE_CHECKING:
    from flowsweep.render.figure import Context


def find_changing_runs(context: Context, rows: pl.DataFrame, without: set[str]) -> dict[str, str]:
    """Finds the first run of each point whose links change while it runs, and the point's label.

    Args:
        context: Provides links, points and runs.
        rows: Rows of the figure: runs that are not in it are left out.
        without: Runs that are drawn anyway.
    """
    counts = context.model("link_stretches").group_by("run", "site_a", "site_b").len()
    changing = set(counts.filter(pl.col("len") > 1)["run"]) & set(rows["run"]) - without
    labels = context.model("points").select("point", "label")
    runs = context.model("point_runs").join(labels, on="point").sort("point", "run")
    first = runs.filter(pl.col("run").is_in(changing)).unique("point", maintain_order=True)
    return dict(first.select("run", "label").iter_rows())


def select_pair(stretches: pl.DataFrame, run: str, pair: tuple[str, str]) -> pl.DataFrame:
    """Selects a pair's stretches in a run, with what they carry; none if links do not change."""
    own = stretches.filter(
        pl.col("run") == run, pl.col("site_a").is_in(pair), pl.col("site_b").is_in(pair)
    ).sort("start_s")
    carried = own.with_columns((pl.col("rate_mbit_s") * pl.col("links")).alias("mbit_s"))
    return carried if own.height > 1 else carried.clear()


def lines(stretches: pl.DataFrame, limits: tuple[float, float], x: Any, y: Any) -> list[Any]:
    """Draws what the links carry over time, each way; values beyond the panel are at its edge."""
    layers = []
    for sign, limit in zip((-1, 1), limits, strict=True):
        known = stretches.filter(pl.col("mbit_s").is_not_null())
        ends = [
            {"x": time, "mean": sign * min(row["mbit_s"], 1.05 * abs(limit))}
            for row in known.iter_rows(named=True)
            for time in (row["start_s"], row["end_s"])
        ]
        line = charts.Chart(values(ends)).mark(
            "line", interpolate="step-after", strokeDash=[2, 2], strokeWidth=1, color=theme.MUTED
        )
        layers.append(line.encode(x=x, y=y("mean:Q")))
    return layers
