"""Makes the head of the page: the question, how much was captured, when, and how well."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.analysis import grades
from flowsweep.render import tables

if TYPE_CHECKING:
    from pathlib import Path

    from flowsweep.render.figure import Context


def describe(context: Context, directory: Path, source: str, title: str) -> dict[str, Any]:
    """Returns the values of the template."""
    runs = context.rows("run_table")
    counted = runs.filter(~pl.col("is_warmup"))
    valid = counted.filter(pl.col("is_traffic_used") | (pl.col("status") == "valid")).height
    unknown = counted.filter(pl.col("status") == "no record").height
    quality = context.model("captures")
    graded = quality.filter(
        pl.col("run").is_in(counted.filter("is_traffic_used")["run"].to_list())
    ).sort("grade_rank", descending=True)
    hosts = context.model("hosts").select("host", "site").unique().sort("site", "host")
    sites = hosts["site"].drop_nulls().n_unique()
    parts = [
        f"{numbers.plural(counted.height, 'run')}, {numbers.count(valid)} valid"
        + (f", {numbers.count(unknown)} without run.json" if unknown else ""),
        numbers.plural(hosts["host"].n_unique(), "host")
        + (f" in {numbers.plural(sites, 'site')}" if sites else ""),
    ]
    if context.stands_alone:
        # The same name may mean another machine in another run.
        captures = quality.select("run", "host").n_unique()
        parts = [numbers.plural(counted.height, "run"), numbers.plural(captures, "capture")]
    if days := _days(context):
        parts.append(f"captured {days}")
    worst = str(graded["grade"][0]) if graded.height else ""
    return {
        "question": _question(context),
        "name": directory.absolute().name,
        "title": title,
        "facts": parts,
        "left_out": int(context.model("left_out")["is_recorded"].sum()),
        "grade": worst,
        "has_unknown_drops": worst == grades.UNKNOWN,
        "grade_class": tables.GRADE_CLASS.get(worst, ""),
        "hash": hashlib.sha256(source.encode()).hexdigest()[:12] if source else "",
    }


def _question(context: Context) -> str:
    if context.stands_alone:
        several = context.model("captures").select("run", "host").n_unique() > 1
        return "What do these captures hold?" if several else "What does this capture hold?"
    if len({one.app for one in context.series}) > 1:
        return "What network do these applications need?"
    return "What network does this application need?"


def _days(context: Context) -> str | None:
    """Returns first and last day, by run.json, else by the packets; a single day once."""
    for model, ends in (("runs", ("start_ns", "end_ns")), ("captures", ("first_ns", "last_ns"))):
        frame = context.model(model)
        times = [time for name in ends for time in frame[name].drop_nulls()]
        if times:
            break
    else:
        return None
    span = pl.Series([min(times), max(times)], dtype=pl.Int64).cast(pl.Datetime("ns"))
    days = span.dt.strftime("%Y-%m-%d").to_list()
    return " to ".join(dict.fromkeys(days))
