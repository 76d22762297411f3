"""Table `requirement`: the rate that is needed and the RTT that is tolerated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup

from flowsweep import numbers
from flowsweep.analysis.estimates import LEVELS
from flowsweep.analysis.need import ESTIMATED, TOO_FEW
from flowsweep.render import brackets, outcome_words
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
from flowsweep.render.templates import NBSP
from flowsweep.render.verdict import POINT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowsweep.render.figure import Context

    Row = dict[str, Any]


def draw(context: Context) -> Markup | None:
    """Makes a row per application: what it needs, with the estimate above the interval."""
    rows = ordered(context, context.rows("requirement"))
    if not rows:
        return None
    thresholds = context.rows("thresholds").rows(named=True)
    columns = [application(context, rows)]
    is_mixed = outcome_words.has_others(row["outcome"] for row in rows)
    if is_mixed:
        columns.append(words("outcome", rows, outcome_words.quantity))
    heads = {level: f"for {level - 1:.0%}".replace("%", " %") for level in LEVELS}
    if outcome_words.grows_better(rows):
        heads = {level: f"{level:g}{numbers.TIMES} worse" for level in LEVELS}
    for axis, noun in (("rate", "rate needed (Mbit/s)"), ("rtt", "RTT tolerated (ms)")):
        for level, head in heads.items():
            cells = [
                _threshold_cell(
                    [
                        one
                        for one in thresholds
                        if all(one[name] == row[name] for name in POINT)
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
        figures("mean", [row["mean_mbit_s"] for row in rows], spanner),
        *([Column("base", [_value(row["baseline_value"]) for row in rows])] if is_mixed else []),
        Column("runs", [numbers.count(row["runs_used"]) for row in rows]),
        Column("grade", [grade(row["worst_grade"]) for row in rows]),
    ]
    return table("requirement", columns)


def _value(value: float | None) -> str:
    return numbers.NONE if value is None else numbers.estimate(value)


def _threshold_cell(found: list[Row]) -> str:
    if not found:
        return numbers.NONE
    row = found[0]
    state = row["state"]
    if state in ESTIMATED:
        tried = "" if brackets.has_interval(row) else "tried: "
        first, second = brackets.estimate(row), tried + brackets.span(*brackets.ends(row))
        if not brackets.is_located(row):
            first, second = brackets.span(*brackets.ends(row)), "no closer"
        if tried:
            second += f"; n\u00a0=\u00a0{row['runs_beside']}"
    elif state == "never":
        sign = ">" if row["axis"] == "rtt" else "<"
        first, second = f"{sign} {numbers.estimate(row['hardest'])}", "not reached"
    elif state == "at once":
        first, second = "at once", "at the mildest point"
    elif state == "not monotone":
        first, second = "no single", f"{outcome_words.faster(row)} again"
    else:
        first, second = badge("cannot tell", "note"), row["reason"] or ""
        if TOO_FEW in second:  # the verdict states where
            second = f"too few runs: n\u00a0=\u00a0{row['runs_beside']}"
        if row["low"] is not None and row["high"] is not None:
            second = f"{numbers.interval(row['low'], row['high'])}: {second}"
    # An interval stays on one line.
    return Markup("{}<small>{}</small>").format(first, second.replace(" to ", f"{NBSP}to{NBSP}"))


def note(context: Context) -> str | None:
    """States the limits that apply where more is better, and what differs from other figures."""
    rows = context.rows("requirement").rows(named=True)
    limits = outcome_words.MORE_IS_BETTER if outcome_words.grows_better(rows) else None
    medians = _explain_medians(context) if limits else None
    texts = (limits, medians, _explain_peaks(rows), _explain_means(context, rows))
    return " ".join(text for text in texts if text) or None


def _explain_medians(context: Context) -> str | None:
    """Says why a ratio may not be that of the medians that are shown."""
    medians = context.model("point_outcomes").filter(
        (pl.col("better") == "more") & (pl.col("runs_used") > 0) & (pl.col("runs_used") % 2 == 0)
    )
    if medians.is_empty():
        return None
    return (
        "There, how many times worse an outcome is, is the ratio of the medians of 1/value; of an "
        "even number of runs, that is not exactly the ratio of the medians of the values."
    )


def _explain_means(context: Context, rows: Sequence[Row]) -> str | None:
    """Says why a mean may be less than in the traffic totals, which spread no packet."""
    timed = [row for row in rows if None not in (row["mean_mbit_s"], row["shortest_ms"])]
    if not timed or context.stands_alone:
        return None
    merged = context.model("shortest_bins").filter(pl.col("largest_bytes").is_not_null())
    hosts = context.model("shown_hosts").select("run", "host")
    shown = context.model("shown_runs").select("app", "problem", "run").join(hosts, on="run")
    known = shown.join(merged, on=["run", "host"]).select("app", "problem", "way")
    ways = set(known.iter_rows())
    if not any((row["app"], row["problem"], row["busier_direction"]) in ways for row in timed):
        return None
    return (
        "Bytes of merged packets are spread over the time before them; the mean leaves out those "
        "that fall before the run, which the traffic totals include."
    )


def _explain_peaks(rows: Sequence[Row]) -> str | None:
    above = [
        row
        for row in rows
        if row["peak_mbit_s"] is not None
        and row["baseline_rate_mbit_s"] is not None
        and row["peak_mbit_s"] > row["baseline_rate_mbit_s"]
    ]
    if not above:
        return None
    rates = sorted({row["baseline_rate_mbit_s"] for row in above})
    rate = " to ".join(dict.fromkeys(numbers.estimate(one) for one in (rates[0], rates[-1])))
    directions = {row["busier_direction"] for row in above}
    why = {
        "out": "the host's capture sees a burst before it queues for the link",
        "in": "the emulator or the host delivered packets late and caught up",
    }
    causes = [words for direction, words in why.items() if direction in directions]
    return (
        f"A peak can exceed the rate of the link ({rate} Mbit/s): {'; '.join(causes)}, and traffic "
        "within a site never crosses it."
    )
