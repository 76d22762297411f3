"""Table `run_quality`: each capture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.analysis import grades
from flowsweep.render.tables import (
    Column,
    badge,
    choose_listed,
    cut_note,
    grade,
    table,
    words,
)

if TYPE_CHECKING:
    from markupsafe import Markup

    from flowsweep.render.figure import Context

    Row = dict[str, Any]


def draw(context: Context) -> Markup | None:
    """Makes a row per capture file and interface: grade, counters, reasons."""
    every = [row for row in context.rows("run_quality").rows(named=True) if row["host"]]
    if not every:
        return None
    rows = choose_listed(every, _is_fine)

    def known(row: Row, key: str) -> str:
        return "?" if row[key] is None else numbers.count(row[key])

    emulator = [
        Column(
            "late (µs)",
            [numbers.estimate(row["emulator_late_p99_us"]) for row in rows],
            spanner="emulator",
        ),
        Column("dropped", [known(row, "emulator_dropped") for row in rows], spanner="emulator"),
        Column("unexplained", [_describe_unexplained(row) for row in rows], spanner="emulator"),
    ]
    if all(row["emulator_dropped"] is None for row in rows):
        emulator = []
    return table(
        "run_quality",
        [
            words("run", rows, lambda row: row["run"]),
            words("host", rows, lambda row: row["host"]),
            *_part_columns(rows),
            Column("grade", [grade(row["grade"]) for row in rows], is_number=False),
            Column("packets", [numbers.count(row["packets"]) for row in rows]),
            Column("kernel", [known(row, "dropped_kernel") for row in rows], spanner="dropped"),
            Column("NIC", [known(row, "dropped_interface") for row in rows], spanner="dropped"),
            Column("snap (B)", [known(row, "snaplen") for row in rows]),
            *emulator,
            words("notes", rows, lambda row: row["grade_reasons"]),
        ],
        fine=list(map(_is_fine, rows)),
    ) + cut_note(len(rows), len(every), "run_quality")


def _part_columns(rows: list[Row]) -> list[Column]:
    """Returns columns that distinguish the parts of a capture: its files and interfaces."""
    columns = []
    if _has_several(rows, "file", ("run", "host")):
        columns.append(words("file", rows, lambda row: Path(row["file"]).name))
    if _has_several(rows, "interface", ("run", "host", "file")):
        columns.append(Column("interface", [str(row["interface"]) for row in rows]))
    return columns


def _has_several(rows: list[Row], column: str, keys: tuple[str, ...]) -> bool:
    """Returns whether rows that are equal in `keys` differ in `column`."""
    alike = {tuple(row[key] for key in keys) for row in rows}
    return len({tuple(row[key] for key in (*keys, column)) for row in rows}) > len(alike)


def _is_fine(row: Row) -> bool:
    return bool(row["grade"] == "A" and row["status"] == "valid")


def heading(context: Context) -> str:
    """States captures by grade, and whether packets are conserved."""
    rows = context.rows("run_quality").filter(pl.col("host").is_not_null())
    counting = context.rows("run_table").filter("is_traffic_used")["run"].to_list()
    by_use = [rows.filter(pl.col("run").is_in(counting) == counts) for counts in (True, False)]
    parts = [
        f"{_by_grade(found)}{'' if counts else ' in runs that do not count'}"
        for found, counts in zip(by_use, (True, False), strict=True)
        if not found.is_empty()
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
            else f"; in {numbers.count(lost)} of {numbers.plural(total, 'run')} some packets sent "
            "between the sites neither arrived nor were dropped by the emulator"
        )
    return f"{_count_captures(rows)}: {'; '.join(parts)}{conserved}"


def _count_captures(rows: pl.DataFrame) -> str:
    """Returns `9 captures`, or `12 parts of 9 captures` if some have several parts."""
    captures = numbers.plural(rows.select("run", "host").n_unique(), "capture")
    if rows.select("run", "host").is_unique().all():
        return captures
    return f"{numbers.plural(rows.height, 'part')} (files, interfaces) of {captures}"


def _by_grade(rows: pl.DataFrame) -> str:
    return ", ".join(
        f"{numbers.count(number)} of grade {grade}"
        + (" (drops unknown)" if grade == grades.UNKNOWN else "")
        for grade, number in rows.group_by("grade").len().sort("grade").iter_rows()
        if grade is not None
    )


def note(context: Context) -> str | None:
    """Compares the bytes of the flows with what the application reports that it sent."""
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


def _describe_unexplained(row: Row) -> str:
    known = [row[key] for key in ("unexplained_frames", "unexplained_packets")]
    if all(value is None for value in known):
        return "?"
    total = sum(value or 0 for value in known)
    return "0" if total == 0 else badge(numbers.count(total), "note")
