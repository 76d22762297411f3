"""Tables `run_table` and `run_quality`: each run, each capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep.render import numbers
from flowsweep.render.tables import (
    Column,
    badge,
    figures,
    grade,
    table,
    words,
)

if TYPE_CHECKING:
    from markupsafe import Markup

    from flowsweep.render.figure import Context

    Row = dict[str, Any]

STATUS_CLASS = {"valid": "ok", "invalid": "note", "failed": "bad"}


def runs(context: Context) -> Markup | None:
    """Run by run, in the order in which they were made."""
    rows = context.rows("run_table").rows(named=True)
    if not rows:
        return None
    columns = [
        words("run", rows, lambda row: row["run"]),
        Column("status", [_status(row) for row in rows], is_number=False),
        Column("asked", [numbers.plain(row["rtt_asked_ms"]) for row in rows], spanner="RTT (ms)"),
        figures("measured", [row["rtt_measured_ms"] for row in rows], "RTT (ms)"),
        Column(
            "asked",
            [numbers.plain(row["rate_asked_mbit_s"]) for row in rows],
            spanner="rate (Mbit/s)",
        ),
        figures("measured", [row["rate_measured_mbit_s"] for row in rows], "rate (Mbit/s)"),
    ]
    if any(row["buffer_bytes"] for row in rows):
        columns.append(Column("buffer", [numbers.size(row["buffer_bytes"]) for row in rows]))
    columns += [
        figures("time (s)", [row["completion_s"] for row in rows]),
        Column(
            "÷ baseline",
            [numbers.fixed(row["slowdown"], 2) if row["is_used"] else numbers.NONE for row in rows],
        ),
        Column("reason", [_reason(row) for row in rows], is_number=False),
    ]
    return table("runs", columns, fine=[row["status"] == "valid" for row in rows])


def runs_heading(context: Context) -> str:
    """How many runs count, and what became of the others."""
    rows = context.rows("run_table").filter(~pl.col("is_warmup"))
    used = rows.filter("is_used").height
    traffic = rows.filter(pl.col("is_traffic_used") & ~pl.col("is_used")).height
    if not rows.height:
        return "No run but warm-ups"
    if used == rows.height:
        return "The only run counts" if used == 1 else f"All {numbers.count(used)} runs count"
    rest = rows.filter(~pl.col("is_traffic_used"))
    status = rest.group_by("status").len().sort("status")
    parts = [f"{numbers.count(number)} {name}" for name, number in status.iter_rows()]
    if traffic:
        parts.insert(0, f"{numbers.count(traffic)} for traffic alone, without a completion time")
        if not used:
            return f"{numbers.plural(rows.height, 'run')}: {', '.join(parts)}"
    verb = "counts" if 1 in (used, rows.height) else "count"
    of_all = f"{numbers.count(used)} of {numbers.plural(rows.height, 'run')}"
    return f"{of_all} {verb}: {', '.join(parts)}"


def quality(context: Context) -> Markup | None:
    """One row per capture file: grade, counters, reasons."""
    rows = [row for row in context.rows("run_quality").rows(named=True) if row["host"]]
    if not rows:
        return None

    def known(row: Row, key: str) -> str:
        return "?" if row[key] is None else numbers.count(row[key])

    emulator = [
        Column(
            "late (µs)",
            [numbers.estimate(row["emulator_late_p99_us"]) for row in rows],
            spanner="emulator",
        ),
        Column("dropped", [known(row, "emulator_dropped") for row in rows], spanner="emulator"),
        Column("unexplained", [_unexplained(row) for row in rows], spanner="emulator"),
    ]
    if all(row["emulator_dropped"] is None for row in rows):
        emulator = []
    return table(
        "run_quality",
        [
            words("run", rows, lambda row: row["run"]),
            words("host", rows, lambda row: row["host"]),
            Column("grade", [grade(row["grade"]) for row in rows], is_number=False),
            Column("packets", [numbers.count(row["packets"]) for row in rows]),
            Column("kernel", [known(row, "dropped_kernel") for row in rows], spanner="dropped"),
            Column("NIC", [known(row, "dropped_interface") for row in rows], spanner="dropped"),
            Column("snap (B)", [known(row, "snaplen") for row in rows]),
            *emulator,
            words("notes", rows, lambda row: row["grade_reasons"]),
        ],
        fine=[row["grade"] == "A" and row["status"] == "valid" for row in rows],
    )


def quality_heading(context: Context) -> str:
    """Captures by grade, and whether packets are conserved."""
    rows = context.rows("run_quality").filter(pl.col("host").is_not_null())
    grades = rows.group_by("grade").len().sort("grade")
    parts = [
        f"{numbers.count(number)} of grade {grade}"
        for grade, number in grades.iter_rows()
        if grade is not None
    ]
    known = rows.filter(pl.col("unexplained_packets").is_not_null())
    lost = known.filter(pl.col("unexplained_packets") > 0)["run"].n_unique()
    conserved = ""
    if not known.is_empty():
        total = known["run"].n_unique()
        all_runs = "the run" if total == 1 else f"all {numbers.count(total)} runs"
        conserved = (
            f"; in {all_runs} every packet sent between the sites arrived "
            "or was dropped by the emulator"
            if lost == 0
            else f"; in {numbers.plural(lost, 'run')} of {numbers.count(total)} packets between "
            "the sites are unexplained"
        )
    return f"{numbers.plural(rows.height, 'capture')}: {', '.join(parts)}{conserved}"


def framing(context: Context) -> str | None:
    """How the bytes of the flows compare with what the application says it sent."""
    rows = context.rows("run_quality").filter(
        pl.col("is_used") & pl.col("framing_share").is_not_null()
    )
    if rows.is_empty():
        return None
    shares = rows["framing_share"].sort()
    low, high = numbers.change(shares[0]), numbers.change(shares[-1])
    between = low if low == high else f"{low} to {high}"
    runs = numbers.plural(rows["run"].n_unique(), "run")
    return (
        "Payload of the flows between the hosts against the bytes that the ranks say they sent: "
        f"{between} (MPI's start-up and headers), in {runs}."
    )


def _status(row: Row) -> Markup:
    if row["is_warmup"]:
        return badge("warm-up", "muted")
    return badge(row["status"], STATUS_CLASS.get(row["status"]))


def _reason(row: Row) -> str:
    if row["reason"]:
        return str(row["reason"])
    return "not counted: warm-up" if row["is_warmup"] else ""


def _unexplained(row: Row) -> str:
    known = [row[key] for key in ("unexplained_frames", "unexplained_packets")]
    if all(value is None for value in known):
        return "?"
    total = sum(value or 0 for value in known)
    return "0" if total == 0 else badge(numbers.count(total), "note")
