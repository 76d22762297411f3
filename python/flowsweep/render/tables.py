"""Rows to HTML tables: requirement, totals, runs, quality.

All cells are text made by `numbers`; great_tables arranges them. Its own style sheet
is dropped, the page styles its classes once for all tables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep.render import numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowsweep.render.figure import Context

    Row = dict[str, Any]

STATUS_CLASS = {"valid": "ok", "invalid": "note", "failed": "bad"}
GRADE_CLASS = {"A": "ok", "B": "ok", "C": "note", "D": "bad", numbers.NONE: "muted"}
CHANGE_NOTED = 0.2
#: A longer description of a problem is cut; the run table and the rows have it whole.
MAX_PROBLEM = 60


@dataclass(frozen=True)
class Column:
    """One column: its head and its cells as HTML."""

    head: str
    cells: Sequence[str]
    is_number: bool = True
    spanner: str | None = None


def table(name: str, columns: Sequence[Column], fine: Sequence[bool] = ()) -> str:
    """The `<table>` element of cells that are HTML already.

    Args:
        name: Prefix of its ids.
        columns: From left to right.
        fine: Rows that say nothing special; they are not printed on paper.
    """
    from great_tables import GT

    frame = pl.DataFrame({f"c{index}": column.cells for index, column in enumerate(columns)})
    names = frame.columns
    built = GT(frame, id=name).cols_label(
        {key: column.head for key, column in zip(names, columns, strict=True)}
    )
    built = built.fmt_passthrough(columns=names, escape=False)
    left = [key for key, column in zip(names, columns, strict=True) if not column.is_number]
    right = [key for key, column in zip(names, columns, strict=True) if column.is_number]
    if left:
        built = built.cols_align("left", columns=left)
    if right:
        built = built.cols_align("right", columns=right)
    for spanner in dict.fromkeys(column.spanner for column in columns if column.spanner):
        under = [
            key for key, column in zip(names, columns, strict=True) if column.spanner == spanner
        ]
        built = built.tab_spanner(label=spanner, columns=under)
    html: str = built.as_raw_html()
    text = html[html.index("<table") : html.index("</table>") + len("</table>")]
    text = re.sub(r"<table [^>]*>", f'<table class="gt_table" id="{name}-table">', text)
    # What `headers` and `rowspan="1"` say, the structure of a small table says too.
    text = re.sub(r' (?:headers="[^"]*"|(?:row|col)span="1")', "", text)
    text = re.sub(r"gt_columns_(?:bottom|top)_border ?|gt_column_spanner_outer", "", text)
    text = re.sub(r"\n\s*", "\n", text)
    head, begin, body = text.partition("<tbody")
    for is_fine in fine:
        mark = '<tr class="is-fine">' if is_fine else "<tr >"
        body = body.replace("<tr>", mark, 1)
    return head + begin + body.replace("<tr >", "<tr>")


def words(head: str, rows: Sequence[Row], make: Callable[[Row], str | None], **more: Any) -> Column:
    """A column of escaped text."""
    cells = [escape(make(row) or numbers.NONE) for row in rows]
    return Column(head, cells, is_number=False, **more)


def figures(head: str, values: Sequence[float | None], spanner: str | None = None) -> Column:
    """A column of estimates with the same decimals."""
    return Column(head, numbers.column(list(values)), spanner=spanner)


def badge(text: str, kind: str | None) -> str:
    """A status in words, coloured."""
    return f'<span class="badge {kind or "muted"}">{escape(text)}</span>'


def requirement(context: Context) -> str | None:
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
    spanner = f"{_shown(context)}, {numbers.plain(bin_ms)} ms bins (Mbit/s)"
    columns += [
        figures("peak", [row["peak_mbit_s"] for row in rows], spanner),
        figures("p99", [row["p99_mbit_s"] for row in rows], spanner),
        figures("mean", [row["mean_mbit_s"] for row in rows], spanner),
        Column("base (s)", numbers.column([row["baseline_s"] for row in rows])),
        Column("runs", [numbers.count(row["runs_used"]) for row in rows]),
        Column("grade", [_grade(row["worst_grade"]) for row in rows]),
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
            second = numbers.interval(row["low"], row["high"], row["estimate"])
            second = re.sub(r"not bounded (above|below) by this sweep", "open", second)
        else:
            ends = (row["easier"] or row["mildest"], row["harder"])
            low, high = sorted(end for end in ends if end is not None)
            second = f"tried: {numbers.estimate(low)}, {numbers.estimate(high)}"
    elif state == "never":
        sign = "&gt;" if row["axis"] == "rtt" else "&lt;"
        first, second = f"{sign} {numbers.estimate(row['hardest'])}", "not reached"
    elif state == "at once":
        first, second = "at once", "at the mildest point"
    elif state == "not monotone":
        first, second = "no single", "crosses more than once"
    else:
        first, second = badge("cannot tell", "note"), escape(row["reason"] or "")
    return f"{first}<small>{second}</small>"


def totals(context: Context) -> str | None:
    """Traffic of the shown host per point of the sweep."""
    rows = ordered(context, context.rows("totals"))
    if not rows or all(row["all_mb"] is None for row in rows):
        return None
    has_buffers = len({row["buffer_bytes"] for row in rows}) > 1
    several = len(context.series) > 1
    columns = [application(context, rows, once=True)] if several else []
    columns += [
        Column(
            "point",
            ["baseline" if row["is_baseline"] else "" for row in rows],
            is_number=False,
        ),
        figures("RTT (ms)", [row["rtt_ms"] for row in rows]),
        figures("rate (Mbit/s)", [row["rate_mbit_s"] for row in rows]),
    ]
    if has_buffers:
        columns.append(Column("buffer", [numbers.size(row["buffer_bytes"]) for row in rows]))
    host = _shown(context)
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


def problems(context: Context) -> str | None:
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


def runs(context: Context) -> str | None:
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
        Column("reason", [escape(_reason(row)) for row in rows], is_number=False),
    ]
    return table("runs", columns, fine=[row["status"] == "valid" for row in rows])


def quality(context: Context) -> str | None:
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
            Column("grade", [_grade(row["grade"]) for row in rows], is_number=False),
            Column("packets", [numbers.count(row["packets"]) for row in rows]),
            Column("kernel", [known(row, "dropped_kernel") for row in rows], spanner="dropped"),
            Column("NIC", [known(row, "dropped_interface") for row in rows], spanner="dropped"),
            Column("snap (B)", [known(row, "snaplen") for row in rows]),
            *emulator,
            words("notes", rows, lambda row: row["grade_reasons"]),
        ],
        fine=[row["grade"] == "A" and row["status"] == "valid" for row in rows],
    )


def runs_heading(context: Context) -> str:
    """How many runs count, and what became of the others."""
    rows = context.rows("run_table").filter(~pl.col("is_warmup"))
    used = rows.filter("is_used").height
    if used == rows.height:
        return f"All {numbers.count(used)} runs count"
    status = rows.filter(~pl.col("is_used")).group_by("status").len().sort("status")
    others = ", ".join(f"{numbers.count(number)} {name}" for name, number in status.iter_rows())
    return f"{numbers.count(used)} of {numbers.count(rows.height)} runs count: {others}"


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
        conserved = (
            f"; in all {numbers.count(total)} runs every packet sent between the sites arrived "
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


def data(name: str, frame: pl.DataFrame, limit: int) -> str:
    """The first rows behind a figure, as they are."""
    head = frame.head(limit)
    columns = []
    for column in head.columns:
        is_number = head[column].dtype.is_numeric()
        cells = [
            numbers.NONE
            if value is None
            else f"{value:.6g}"
            if isinstance(value, float)
            else str(value)
            for value in head[column]
        ]
        columns.append(Column(escape(column), [escape(cell) for cell in cells], is_number))
    return table(f"{name}-data", columns)


def application(
    context: Context, rows: Sequence[Row], *, once: bool = False, brief: bool = False
) -> Column:
    """Name and colour.

    Args:
        context: Knows the applications.
        rows: Rows of a query.
        once: Only in the first of several rows.
        brief: Of the problem only what tells it from others.
    """
    labels = {(one.app, one.problem): one for one in context.series}
    cells: list[str] = []
    before = None
    for row in rows:
        one = labels[row["app"], row["problem"]]
        if once and one == before:
            cells.append("")
            continue
        before = one
        problem = ""
        name = one.label if brief else one.app
        if one.problem and not brief:
            short = one.problem[: MAX_PROBLEM - 1] + "…"
            fits = len(one.problem) <= MAX_PROBLEM
            problem = f" <small>{escape(one.problem if fits else short)}</small>"
        cells.append(f'<span class="app" style="--c: {one.colour}">{escape(name)}</span>{problem}')
    return Column("application", cells, is_number=False)


def ordered(context: Context, frame: pl.DataFrame) -> list[Row]:
    """Rows in the report's order of applications, otherwise as they come."""
    order = {(one.app, one.problem): one.index for one in context.series}
    return sorted(frame.rows(named=True), key=lambda row: order[row["app"], row["problem"]])


def _shown(context: Context) -> str:
    host = context.model("shown_host")["host"]
    return str(host[0]) if len(host) else "one host"


def _grade(grade: str | None) -> str:
    return numbers.NONE if grade is None else badge(grade, GRADE_CLASS.get(grade))


def _status(row: Row) -> str:
    if row["is_warmup"]:
        return badge("warm-up", "muted")
    return badge(row["status"], STATUS_CLASS.get(row["status"]))


def _reason(row: Row) -> str:
    if row["reason"]:
        return str(row["reason"])
    return "not counted: warm-up" if row["is_warmup"] else ""


def _change(value: float | None, row: Row) -> str:
    if row["is_baseline"]:
        return numbers.NONE
    text = numbers.change(value)
    return f"<b>{text}</b>" if value is not None and abs(value) > CHANGE_NOTED else text


def _unexplained(row: Row) -> str:
    known = [row[key] for key in ("unexplained_frames", "unexplained_packets")]
    if all(value is None for value in known):
        return "?"
    total = sum(value or 0 for value in known)
    return "0" if total == 0 else badge(numbers.count(total), "note")
