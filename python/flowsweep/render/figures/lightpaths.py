"""Table `lightpaths`: how many lightpaths the demand between two sites needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowsweep import numbers
from flowsweep.render import doubts, merged
from flowsweep.render.figure import sentence
from flowsweep.render.tables import (
    Column,
    application,
    badge,
    cut_note,
    figures,
    table,
)

if TYPE_CHECKING:
    from markupsafe import Markup

    from flowsweep.render.figure import Context

    Row = dict[str, Any]

from flowsweep.render.point_rows import kept_rows, labelled_rows

#: More scales than this are written as a range.
FEW_SCALES = 3


def draw(context: Context) -> Markup | None:
    """Makes a row per point: how many lightpaths carry the demand between two sites."""
    frame = context.rows("lightpaths")
    if frame.is_empty():
        return None
    everything = labelled_rows(context, frame, ["site_a", "site_b"])
    rows = kept_rows(everything)
    several = len(context.series_in(frame)) > 1
    scales = {row["lightpath_mbit_s"] for row in rows}
    columns = [application(context, rows, once=True, brief=True)] if several else []
    demand, paths = "busier direction (Mbit/s)", "lightpaths for"
    columns.append(Column("point", [row["point"] for row in rows], is_number=False))
    pairs = [f"{row['site_a']}, {row['site_b']}" for row in rows]
    if len(set(pairs)) > 1:
        columns.append(Column("between", pairs, is_number=False))
    if len(scales) > 1:
        columns.append(
            Column("lightpath (Mbit/s)", [numbers.plain(row["lightpath_mbit_s"]) for row in rows])
        )
    columns += [
        figures("median", [row["p50_mbit_s"] for row in rows], demand),
        figures("p99", [row["p99_mbit_s"] for row in rows], demand),
        figures("peak", [row["peak_mbit_s"] for row in rows], demand),
        Column("95 %", [str(row["p95_lightpaths"]) for row in rows], spanner=paths),
        Column("99 %", [str(row["p99_lightpaths"]) for row in rows], spanner=paths),
        Column("peak", [str(row["peak_lightpaths"]) for row in rows], spanner=paths),
        Column("one suffices", [numbers.share(row["share_of_time"]) for row in rows]),
        Column(
            "demand is",
            [badge("at least", "note") if row["is_supply_limited"] else "seen" for row in rows],
            is_number=False,
        ),
        Column("runs", [numbers.count(row["runs"]) for row in rows]),
    ]
    note = cut_note(len(rows), len(everything), "lightpaths")
    return table("lightpaths", columns) + note


def heading(context: Context) -> str:
    """States the rate of a lightpath, because the whole table rests on it."""
    frame = context.rows("lightpaths")
    scales = sorted(set(frame["lightpath_mbit_s"]))
    scale = (
        " or ".join(numbers.plain(value) for value in scales)
        if len(scales) <= FEW_SCALES
        else f"{numbers.plain(scales[0])} to {numbers.plain(scales[-1])}"
    )
    assumed = ", assumed: no rate is named" if frame["is_rate_assumed"].any() else ""
    hosts = "" if context.has_sites else " between hosts, as no sites are known"
    return f"How many lightpaths of {scale} Mbit/s the demand{hosts} needs{assumed}"


def note(context: Context) -> str | None:
    """Describes doubts about the captures, and the shortest time for which traffic is known."""
    return (
        sentence(
            doubts.note_unplaced(context),
            merged.note(context, context.rows("lightpaths")),
            doubts.note_traffic(context),
        )
        or None
    )
