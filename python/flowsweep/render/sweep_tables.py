"""Tables `requirement`, `totals` and `completion_by_problem`: what the sweep shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from flowsweep.render import numbers, points
from flowsweep.render.tables import (
    Column,
    application,
    badge,
    figures,
    grade,
    ordered,
    shown_host,
    table,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowsweep.render.figure import Context

    Row = dict[str, Any]

CHANGE_NOTED = 0.2


def requirement(context: Context) -> Markup | None:
    """What each application needs, estimate above interval."""
    rows = ordered(context, context.rows("requirement"))
    if not rows:
        return None
    thresholds = context.rows("thresholds").rows(named=True)
    columns = [application(context, rows)]
    for axis, noun in (("rate", "rate needed (Mbit/s)"), ("rtt", "RTT tolerated (ms)")):
        for level, head in ((1.1, "for 10 %"), (1.5, "for 50 %")):
            cells = [
                _threshold_cell(
                    [
                        one
                        for one in thresholds
                        if (one["app"], one["problem"]) == (row["app"], row["problem"])
                        and one["buffer_bytes"] == row["buffer_bytes"]
                        and (one["axis"], one["level"]) == (axis, level)
                    ]
                )
                for row in rows
            ]
            columns.append(Column(head, cells, spanner=noun))
    if any(row["buffer_bytes"] for row in rows):
        cells = [numbers.size(row["buffer_bytes"]) for row in rows]
        columns.append(Column("socket buffer", cells))
    bin_ms = next((row["bin_ms"] for row in rows if row["bin_ms"]), 10.0)
    spanner = f"{shown_host(context)}, {numbers.plain(bin_ms)} ms bins (Mbit/s)"
    columns += [
        figures("peak", [row["peak_mbit_s"] for row in rows], spanner),
        figures("p99", [row["p99_mbit_s"] for row in rows], spanner),
        figures("mean", [row["mean_mbit_s"] for row in rows], spanner),
        Column("base (s)", numbers.column([row["baseline_s"] for row in rows])),
        Column("runs", [numbers.count(row["runs_used"]) for row in rows]),
        Column("grade", [grade(row["worst_grade"]) for row in rows]),
    ]
    return table("requirement", columns)


def _threshold_cell(found: list[Row]) -> str:
    if not found:
        return numbers.NONE
    row = found[0]
    state = row["state"]
    if state in ("found", "one-sided"):
        first = numbers.estimate(row["estimate"])
        if row["low"] is not None or row["high"] is not None:
            second = numbers.interval(row["low"], row["high"], brief=True)
        else:
            ends = (row["easier"] or row["mildest"], row["harder"])
            low, high = sorted(end for end in ends if end is not None)
            second = f"tried: {numbers.estimate(low)}, {numbers.estimate(high)}"
    elif state == "never":
        sign = ">" if row["axis"] == "rtt" else "<"
        first, second = f"{sign} {numbers.estimate(row['hardest'])}", "not reached"
    elif state == "at once":
        first, second = "at once", "at the mildest point"
    elif state == "not monotone":
        first, second = "no single", "faster again"
    else:
        first, second = badge("cannot tell", "note"), row["reason"] or ""
        if row["low"] is not None and row["high"] is not None:
            second = f"{numbers.interval(row['low'], row['high'])}: {second}"
    return Markup("{}<small>{}</small>").format(first, second)


def totals(context: Context) -> Markup | None:
    """Traffic of the shown host per point of the sweep."""
    rows = ordered(context, context.rows("totals"))
    if not rows or all(row["all_mb"] is None for row in rows):
        return None
    several = len(context.series) > 1
    hosts = {row["host"] for row in rows}
    columns = [application(context, rows, once=True, brief=True)] if several else []
    columns += [
        Column(
            "point",
            ["baseline" if row["is_baseline"] else "" for row in rows],
            is_number=False,
        ),
        figures("RTT (ms)", [row["rtt_ms"] for row in rows]),
        figures("rate (Mbit/s)", [row["rate_mbit_s"] for row in rows]),
    ]
    columns += [_axis(name, say, rows) for _, name, say in points.AXES[2:] if _varies(name, rows)]
    # the queue follows from RTT and rate, unless nothing else tells two points apart
    told = {tuple(row[name] for _, name, _ in points.AXES) for row in rows}
    if len(told) < len(
        {(*(row[name] for _, name, _ in points.AXES), row["queue_bytes"]) for row in rows}
    ):
        columns.append(Column("queue", [numbers.size(row["queue_bytes"]) for row in rows]))
    if len(hosts) > 1:
        columns.append(words("host shown", rows, lambda row: row["host"] or numbers.NONE))
    host = shown_host(context)
    for direction, key in ((f"into {host}", "in"), (f"out of {host}", "out")):
        columns += [
            figures("MB", [row[f"{key}_mb"] for row in rows], direction),
            figures("Mbit/s", [row[f"{key}_mbit_s"] for row in rows], direction),
        ]
    spanner = "all hosts"
    columns += [
        figures("MB", [row["all_mb"] for row in rows], spanner),
        Column("change", [_change(row["bytes_change"], row) for row in rows], spanner=spanner),
        Column("packets", [numbers.count(row["all_packets"]) for row in rows], spanner=spanner),
        figures("time (s)", [row["completion_s"] for row in rows]),
        Column("runs", [numbers.count(row["runs_used"]) for row in rows]),
    ]
    return table("totals", columns)


def _varies(name: str, rows: list[Row]) -> bool:
    return len({row[name] for row in rows}) > 1


def _axis(name: str, say: Callable[[Any], str], rows: list[Row]) -> Column:
    """One axis of the sweep beside RTT and rate."""
    cells = [numbers.NONE if row[name] is None else say(row[name]) for row in rows]
    return Column(name.removesuffix("_bytes").removesuffix("_ms").replace("_", " "), cells)


def problems(context: Context) -> Markup | None:
    """How time and traffic grow with the problem, where there are several."""
    rows = ordered(context, context.rows("completion_by_problem"))
    if not rows:
        return None
    return table(
        "completion_by_problem",
        [
            words("application", rows, lambda row: row["app"]),
            words("problem", rows, lambda row: row["problem"]),
            figures("time (s)", [row["completion_s"] for row in rows]),
            figures("traffic (MB)", [row["traffic_mb"] for row in rows]),
            figures("Mbit/s", [row["mbit_s"] for row in rows]),
            Column("packets", [numbers.count(row["packets"]) for row in rows]),
            Column("runs", [numbers.count(row["runs_used"]) for row in rows]),
        ],
    )


def _change(value: float | None, row: Row) -> str:
    if row["is_baseline"]:
        return numbers.NONE
    text = numbers.change(value)
    noted = value is not None and abs(value) > CHANGE_NOTED
    return Markup("<b>{}</b>").format(text) if noted else text
