"""Table `mpi_costs`: calls of MPI and the time in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.render.tables import (
    Column,
    application,
    cut_note,
    table,
)

if TYPE_CHECKING:
    from markupsafe import Markup

    from flowsweep.render.figure import Context

    Row = dict[str, Any]

from flowsweep.render.point_rows import AXES, kept_rows, labelled_rows

PRIMITIVES = ("send", "receive", "probe_failed", "probe_found")


def draw(context: Context) -> Markup | None:
    """Makes a row per point: calls and the time of one, over all its ranks and runs."""
    frame = context.rows("mpi_costs")
    if frame.is_empty():
        return None
    sums = frame.group_by("app", "problem", *AXES, "is_baseline", "primitive").agg(
        pl.col("calls").sum(),
        pl.col("total_s").sum(),
        pl.struct("run", "rank").n_unique().alias("ranks_counted"),
        pl.struct("run", "rank", "completion_s").unique().struct.field("completion_s").sum(),
    )
    found = {
        (row["app"], row["problem"], tuple(row[key] for key in [*AXES, "is_baseline"]),
         row["primitive"]): row
        for row in sums.iter_rows(named=True)
    }  # fmt: skip
    everything = labelled_rows(context, frame, [])
    labelled = kept_rows(everything)
    several = len(context.series_in(frame)) > 1
    columns = [application(context, labelled, once=True, brief=True)] if several else []
    columns.append(Column("point", [row["point"] for row in labelled], is_number=False))
    others = sorted(set(frame["primitive"]) - set(PRIMITIVES))
    present = [name for name in PRIMITIVES if name in set(frame["primitive"])] + others

    def cell(row: Row, name: str) -> Row | None:
        return found.get((row["app"], row["problem"], row["place"], name))

    for name in present:
        cells = [cell(row, name) for row in labelled]
        spanner = {"probe_failed": "probe: nothing", "probe_found": "found"}
        # probe_found has as many calls as receive
        if name != "probe_found":
            calls = [
                numbers.count(one["calls"] / one["ranks_counted"]) if one else numbers.NONE
                for one in cells
            ]
            columns.append(Column("calls", calls, spanner=spanner.get(name, name)))
        times = [
            numbers.estimate(one["total_s"] * 1e6 / one["calls"])
            if one and one["calls"]
            else numbers.NONE
            for one in cells
        ]
        columns.append(Column("µs", times, spanner=spanner.get(name, name)))
    shares = []
    for row in labelled:
        texts = [one for one in (cell(row, name) for name in present) if one]
        whole = texts[0]["completion_s"] if texts else None
        spent = sum(one["total_s"] for one in texts)
        shares.append(numbers.share(spent / whole) if whole else numbers.NONE)
    columns.append(Column("of time", shares))
    return table("mpi_costs", columns) + cut_note(len(labelled), len(everything), "mpi_costs")
