"""Tables `lightpaths`, `mpi_costs`, `transfer_table` and `fairness`."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup

from flowsweep.render import cuts, numbers, points
from flowsweep.render.published import OTHER_HEADS, OTHER_KEYS
from flowsweep.render.tables import (
    Column,
    application,
    badge,
    cut_note,
    figures,
    key_columns,
    table,
)

if TYPE_CHECKING:
    from flowsweep.render.figure import Context

    Row = dict[str, Any]

MAX_ROWS = 60
#: More scales than these are told as a range.
FEW_SCALES = 3
PRIMITIVES = ("send", "receive", "probe_failed", "probe_found")
#: Classes of the heat table are doublings of the smallest time.
CLASSES = 7
AXES = points.COLUMNS


def _labelled(context: Context, frame: pl.DataFrame, keys: list[str]) -> list[Row]:
    """One row of each group of `keys` with the name of its point, in report order."""
    found = []
    for one in context.series_in(frame):
        mine = context.of(frame, one)
        by_point = mine.select([*AXES, "is_baseline"]).unique(maintain_order=True)
        names = dict(zip(by_point.rows(), points.labels(by_point), strict=True))
        for row in mine.unique(subset=[*AXES, *keys], maintain_order=True).iter_rows(named=True):
            place = tuple(row[key] for key in by_point.columns)
            found.append(row | {"point": names[place], "place": place})
    return found


def _kept(rows: list[Row]) -> list[Row]:
    """At most `MAX_ROWS`, shared among the applications; each keeps its baseline."""
    groups = {
        key: list(mine)
        for key, mine in itertools.groupby(rows, key=lambda row: (row["app"], row["problem"]))
    }
    room = cuts.fair([len(mine) for mine in groups.values()], MAX_ROWS)
    return [
        mine[place]
        for mine, number in zip(groups.values(), room, strict=True)
        for place in cuts.evenly(len(mine), number)
    ]


def lightpaths(context: Context) -> Markup | None:
    """How many lightpaths carry the demand between two sites, per point."""
    frame = context.rows("lightpaths")
    if frame.is_empty():
        return None
    everything = _labelled(context, frame, ["site_a", "site_b"])
    rows = _kept(everything)
    several = len(context.series_in(frame)) > 1
    scales = {row["lightpath_mbit_s"] for row in rows}
    columns = [application(context, rows, once=True, brief=True)] if several else []
    demand, paths = "busier direction (Mbit/s)", "lightpaths for"
    columns += [
        Column("point", [row["point"] for row in rows], is_number=False),
        Column("between", [f"{row['site_a']}, {row['site_b']}" for row in rows], is_number=False),
    ]
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
        Column("one enough", [numbers.share(row["share_of_time"]) for row in rows]),
        Column(
            "demand is",
            [badge("at least", "note") if row["is_supply_limited"] else "seen" for row in rows],
            is_number=False,
        ),
        Column("runs", [numbers.count(row["runs"]) for row in rows]),
    ]
    note = cut_note(len(rows), len(everything), "lightpaths")
    return table("lightpaths", columns) + note


def lightpaths_heading(context: Context) -> str:
    """The scale, as it is the assumption that all rests on."""
    frame = context.rows("lightpaths")
    scales = sorted(set(frame["lightpath_mbit_s"]))
    scale = (
        " or ".join(numbers.plain(value) for value in scales)
        if len(scales) <= FEW_SCALES
        else f"{numbers.plain(scales[0])} to {numbers.plain(scales[-1])}"
    )
    assumed = ", assumed: no rate is named" if frame["is_rate_assumed"].any() else ""
    return f"How many lightpaths of {scale} Mbit/s the demand needs{assumed}"


def mpi(context: Context) -> Markup | None:
    """Calls and the time of one, per point; ranks and runs of a point together."""
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
    everything = _labelled(context, frame, [])
    labelled = _kept(everything)
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
        # as many calls as of receive
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
        told = [one for one in (cell(row, name) for name in present) if one]
        whole = told[0]["completion_s"] if told else None
        spent = sum(one["total_s"] for one in told)
        shares.append(numbers.share(spent / whole) if whole else numbers.NONE)
    columns.append(Column("of time", shares))
    return table("mpi_costs", columns) + cut_note(len(labelled), len(everything), "mpi_costs")


def transfers(context: Context) -> Markup | None:
    """Seconds for a message: a row per loss or jitter, a column per latency."""
    frame = context.rows("transfer_table")
    if frame.is_empty():
        return None
    latencies = sorted(set(frame["latency_ms"]))
    # the queue follows from the latency; of two at one latency the note below tells
    keys = ["message_mb", "rate_asked_mbit_s", *OTHER_KEYS, "loss_percent", "jitter_fraction"]
    # A share of nothing has no row in the paper's tables.
    known = frame.filter(pl.col("jitter_fraction").is_not_null())
    rows = known.select(keys).unique(maintain_order=True).rows()
    cells = {
        (tuple(row[key] for key in keys), row["latency_ms"]): row["transfer_s"]
        for row in known.iter_rows(named=True)
    }
    least = {
        size: min(value for (key, _), value in cells.items() if key[0] == size)
        for size in {row[0] for row in rows}
    }
    heads = (
        ("MB", numbers.plain),
        ("Mbit/s", numbers.plain),
        *OTHER_HEADS,
        ("loss (%)", numbers.plain),
        ("jitter", numbers.plain),
    )
    columns = key_columns(rows, heads, always=("MB", "loss (%)", "jitter"))
    columns += [
        Column(
            f"{numbers.plain(latency)} ms",
            [_heat(cells.get((row, latency)), least[row[0]]) for row in rows],
            spanner="seconds at an added latency of",
        )
        for latency in latencies
    ]
    return table("transfer_table", columns) + cut_note(len(cells), frame.height, "transfer_table")


def fairness(context: Context) -> Markup | None:
    """What a TCP flow gets beside a transfer, per point."""
    frame = context.rows("fairness")
    if frame.is_empty():
        return None
    rows = _labelled(context, frame, ["transport"])
    columns = [application(context, rows, once=True, brief=True)]
    columns += [
        Column("point", [row["point"] for row in rows], is_number=False),
        Column("transfer by", [row["transport"] for row in rows], is_number=False),
        figures("transfer", [row["transfer_mbit_s"] for row in rows], "Mbit/s"),
        figures("TCP beside it", [row["beside_mbit_s"] for row in rows], "Mbit/s"),
        figures("alone", [row["tcp_alone_mbit_s"] for row in rows], "TCP at such a point"),
        figures("beside TCP", [row["tcp_beside_tcp_mbit_s"] for row in rows],
                "TCP at such a point"),
        Column("share of TCP", [numbers.share(row["beside_share"]) for row in rows]),
        Column("index", [numbers.fixed(row["jain_index"], 2) for row in rows]),
        Column("runs", [numbers.count(row["streams"]) for row in rows]),
    ]  # fmt: skip
    return table("fairness", columns)


def fairness_heading(context: Context) -> str:
    """The answer: how much of both goes to TCP, over all points."""
    frame = context.rows("fairness")
    parts = []
    for transport in dict.fromkeys(frame["transport"]):
        shares = frame.filter(pl.col("transport") == transport)["beside_share"].drop_nulls().sort()
        if len(shares):
            low, high = numbers.share(shares[0]), numbers.share(shares[-1])
            between = low if low == high else f"{low} to {high}"
            parts.append(f"beside {transport} {between}")
    return f"Is it fair? A TCP flow gets, of what both get, {'; '.join(parts)}"


def _heat(value: float | None, least: float) -> str:
    if value is None:
        return numbers.NONE
    place = min(1 + math.floor(math.log2(max(value / least, 1)) + 1e-9), CLASSES)
    return Markup('<span class="heat heat-{}">{}</span>').format(place, numbers.estimate(value))
