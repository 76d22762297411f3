"""Tables of the warehouse that are made in Python: SQL cannot compute them, or Python asks too.

A question names them like models. In a script that must stand alone they are values.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowsweep.analysis import grades, line_intervals, side_by_side
from flowsweep.runs import link_balance

if TYPE_CHECKING:
    import polars as pl

ESTIMATES = ("slowdown_intervals", "threshold_estimates")
#: What each is made from.
READS = {
    **{name: {"sweep_runs", "sweep_points", "runs"} for name in ESTIMATES},
    "line_intervals": {"axis_points", "runs"},
    "name_ratios": {"name_pairs", "runs"},
    "link_balances": {"stg_runs"},
    "capture_grades": {"capture_facts"},
}

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Definition:
    """The statement that makes the table, without rows, and what is in it."""

    statement: str
    note: str


def definition(name: str) -> Definition:
    """How the table `name` begins."""
    if name == "link_balances":
        return Definition(_statement(name, link_balance.COLUMNS), link_balance.NOTE)
    if name == "capture_grades":
        return Definition(_statement(name, grades.COLUMNS), grades.NOTE)
    if name == "line_intervals":
        return Definition(_statement(name, line_intervals.COLUMNS), line_intervals.NOTE)
    if name == "name_ratios":
        return Definition(_statement(name, side_by_side.COLUMNS), side_by_side.NOTE)
    from flowsweep.analysis import estimates

    return Definition(_statement(name, estimates.COLUMNS[name]), estimates.NOTES[name])


def source(name: str) -> str:
    """The Python that makes the table `name`, as text; empty for what is no such table."""
    made_by = {"link_balances": link_balance, "capture_grades": grades}.get(name)
    return inspect.getsource(made_by) if made_by else ""


def _statement(name: str, columns: Mapping[str, str]) -> str:
    listed = ",\n    ".join(f"{column} {kind}" for column, kind in columns.items())
    return f"create or replace table {name} (\n    {listed}\n)"


def rows(name: str, select: Callable[[str], pl.DataFrame]) -> dict[str, Rows]:
    """The rows of the table `name`, and of those that are made with it.

    Args:
        name: One of `READS`.
        select: Runs a query over the tables that it is made from.
    """
    if name == "link_balances":
        records = select("select run, json from stg_runs order by run").rows()
        return {name: link_balance.rows(records)}
    if name == "capture_grades":
        facts = select("select * from capture_facts order by capture").rows(named=True)
        return {name: grades.rows(facts)}
    if name == "line_intervals":
        times = select(
            "select axis, unit, line, point, x, is_reference, completion_s from axis_points "
            "inner join runs using (app, problem, point) where is_used order by all"
        )
        return {name: line_intervals.rows(times.rows(named=True))}
    if name == "name_ratios":
        pairs = select(
            "select app, problem, axis, point, reference_point from name_pairs order by all"
        )
        times = select(
            "select app, problem, point, is_baseline, completion_s from runs where is_used "
            "order by all"
        )
        return {name: side_by_side.rows(pairs.rows(named=True), times.rows(named=True))}
    from flowsweep.analysis import estimates

    made = estimates.estimate(
        runs=select("select * from sweep_runs order by all"),
        points=select("select * from sweep_points order by all"),
        baselines=select(
            "select app, problem, completion_s from runs where is_baseline and is_used order by all"
        ),
    )
    return {table: frame.rows() for table, frame in made.items()}
