"""Table `totals` of captures alone: a row for each run, under its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup

from flowsweep import numbers
from flowsweep.render.axes import LONG_S
from flowsweep.render.tables import Column, application, cut_note, grade, table, words
from flowsweep.units import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowsweep.render.figure import Context

    Row = dict[str, Any]

MAX_ROWS = 60

#: The time of a run ends this long after its last packet.
BEHIND_LAST_S = 1e-9


def draw(context: Context, every: Sequence[Row]) -> Markup:
    """Makes a row per run: what its host sent and received, and the rate of its busiest bin.

    Args:
        context: Provides hosts, captures and peaks.
        every: Rows of the query `totals`, in the order of the page.
    """
    rows = every[:MAX_ROWS]
    peaks = {row["run"]: row for row in context.rows("requirement").rows(named=True)}
    hosts = {(row["run"], row["host"]): row for row in context.model("hosts").iter_rows(named=True)}
    spans = {row["run"]: row for row in context.model("run_windows").iter_rows(named=True)}
    are_guesses = all(row["is_guessed"] for row in hosts.values())
    columns = [
        _rename(application(context, rows, brief=True), "run"),
        words(
            "host, address (a guess)" if are_guesses else "host, address",
            rows,
            lambda row: _host(
                row["host"], hosts.get((row["run"], row["host"])), marked=not are_guesses
            ),
        ),
        words("begin, length", rows, lambda row: _span(spans.get(row["run"]))),
    ]
    for direction, key in (("in", "in"), ("out", "out")):
        columns += [
            Column("bytes", [_bytes(row[f"{key}_mb"]) for row in rows], spanner=direction),
            Column("rate", [numbers.rate(row[f"{key}_mbit_s"]) for row in rows], spanner=direction),
        ]
    columns += [
        Column("busiest bin", [_peak(peaks.get(row["run"])) for row in rows]),
        Column("packets", [numbers.count(row["all_packets"]) for row in rows]),
        Column("grade", [grade((peaks.get(row["run"]) or {}).get("worst_grade")) for row in rows]),
    ]
    return table("totals", columns) + cut_note(len(rows), len(every), "totals")


def _rename(column: Column, head: str) -> Column:
    return Column(head, column.cells, column.is_number, column.spanner)


def _host(name: str | None, known: Row | None, *, marked: bool) -> str | Markup | None:
    """Returns the host's name and, in small type below it, its addresses."""
    if name is None or known is None or known["address"] is None:
        return name
    lines = [_breakable(address) for address in known["addresses"]]
    if known["is_guessed"] and marked:
        lines[-1] += " (a guess)"
    return Markup("{}<small>{}</small>").format(name, Markup("<br>").join(lines))


def _breakable(address: str) -> Markup:
    """Lets an IPv6 address continue on a second line, after half of its groups."""
    groups = address.split(":")
    half = len(groups) // 2
    if not half:
        return Markup.escape(address)
    first, second = ":".join(groups[:half]) + ":", ":".join(groups[half:])
    return Markup("{}<wbr>{}").format(first, second)


def _span(span: Row | None) -> Markup | None:
    """Returns the day of the first packet and, in small type below it, the time to the last."""
    if span is None or span["start_ns"] is None:
        return None
    time = pl.Series([span["start_ns"]], dtype=pl.Int64).cast(pl.Datetime("ns"))
    day = time.dt.strftime("%Y-%m-%d")[0]
    return Markup("{}<small>{}</small>").format(day, _length(span))


def _length(span: Row) -> str:
    """Returns the time from first to last packet, none for a single packet."""
    if span["length_s"] is None:
        return numbers.NONE
    seconds = float(span["length_s"])
    if seconds <= BEHIND_LAST_S:
        return numbers.NONE
    if seconds < LONG_S:
        return numbers.seconds(seconds)
    return duration(seconds)


def _bytes(megabytes: float | None) -> str:
    return numbers.NONE if megabytes is None else numbers.size(1e6 * megabytes)


def _peak(peak: Row | None) -> str | Markup:
    if peak is None or peak["peak_mbit_s"] is None:
        return numbers.NONE
    rate = numbers.rate(peak["peak_mbit_s"])
    return Markup("{} <small>({})</small>").format(rate, numbers.width(peak["bin_ms"] / 1e3))
