"""Points whose runs are drawn together, and runs that are drawn alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from flowsweep.render import points

if TYPE_CHECKING:
    from flowsweep.render.figure import Context
    from flowsweep.render.theme import Series

#: A point, and a run if the point's runs are drawn apart.
Pool = tuple[int, str | None]


def pools(rows: pl.DataFrame, parts: str | None) -> dict[Pool, str]:
    """Returns the points of one application with their names; runs drawn alone each by itself."""
    keys = ["app", "run", "point", "is_baseline", *points.COLUMNS]
    every = rows.select(keys).unique(subset="point", maintain_order=True)
    names = dict(zip(every["point"], points.labels(every), strict=True))
    runs = rows.group_by("point", *([parts] if parts else [])).agg(pl.col("run").n_unique())
    apart = set(runs.filter(pl.col("run") > 1)["point"])
    found: dict[Pool, str] = {}
    for point, run in rows.select("point", "run").unique(maintain_order=True).iter_rows():
        name = names[point]
        if point in apart:
            found[point, run] = run if every.height == 1 else f"{run}, {name}"
        else:
            found[point, None] = name
    return found


def kept(context: Context, every: list[Pool], one: Series, most: int) -> list[Pool]:
    """Returns the baseline and the ends of each axis, or the first of runs drawn alone."""
    chosen = points.choose_extremes(context, one.app, one.problem, most)
    found = [pool for point in chosen for pool in every if pool[0] == point]
    return found[:most] or every[:most]


def select_pool(rows: pl.DataFrame, pool: Pool) -> pl.DataFrame:
    """Selects the rows of one point, or of one run that is drawn alone there."""
    point, run = pool
    own = rows.filter(pl.col("point") == point)
    return own if run is None else own.filter(pl.col("run") == run)
