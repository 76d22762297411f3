"""Rows of tables with a row for each point, and how many of them are printed."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from flowsweep.render import cuts, points

if TYPE_CHECKING:
    import polars as pl

    from flowsweep.render.figure import Context

    Row = dict[str, Any]

MAX_ROWS = 60
AXES = points.COLUMNS


def labelled_rows(context: Context, frame: pl.DataFrame, keys: list[str]) -> list[Row]:
    """Returns one row of each point and group of `keys`, with its point's name, in report order."""
    found = []
    for one in context.series_in(frame):
        own = context.select_series(frame, one)
        by_point = own.select([*AXES, "is_baseline"]).unique(maintain_order=True)
        names = dict(zip(by_point.rows(), points.labels(by_point), strict=True))
        for row in own.unique(subset=[*AXES, *keys], maintain_order=True).iter_rows(named=True):
            place = tuple(row[key] for key in by_point.columns)
            found.append(row | {"point": names[place], "place": place})
    return found


def kept_rows(rows: list[Row]) -> list[Row]:
    """Keeps at most `MAX_ROWS` rows, shared among applications; each keeps its baseline."""
    groups = {
        key: list(own)
        for key, own in itertools.groupby(rows, key=lambda row: (row["app"], row["problem"]))
    }
    room = cuts.share_room([len(own) for own in groups.values()], MAX_ROWS)
    return [
        own[place]
        for own, number in zip(groups.values(), room, strict=True)
        for place in cuts.choose_evenly(len(own), number)
    ]
