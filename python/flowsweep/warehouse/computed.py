"""Warehouse tables that Python computes, because SQL cannot or Python needs the same rule.

A question names them like models. A stand-alone script contains their values.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowsweep.analysis import (
    against,
    axis_thresholds,
    capture_rules,
    claims,
    grades,
    line_intervals,
    need_points,
    rank_fits,
    side_by_side,
)
from flowsweep.runs import link_balance

if TYPE_CHECKING:
    import polars as pl

ESTIMATES = ("slowdown_intervals", "threshold_estimates")
#: The tables that each is computed from.
READS = {
    **{name: {"sweep_runs", "sweep_points", "run_outcomes"} for name in ESTIMATES},
    "line_intervals": {"axis_points", "compared_outcomes"},
    "name_ratios": {"name_pairs", "compared_outcomes"},
    "against_points": {"points", "run_outcomes"},
    "link_balances": {"stg_runs"},
    "need_points": {"stated_needs", "run_outcomes"},
    "rank_fits": {"rank_peaks"},
    "axis_threshold_estimates": {"axis_points", "run_outcomes"},
    "capture_grades": {"capture_facts"},
}

#: The modules that define a table; flowsweep.analysis.estimates defines the other tables.
MADE_BY: dict[str, Any] = {
    "against_points": against,
    "axis_threshold_estimates": axis_thresholds,
    "capture_grades": grades,
    "line_intervals": line_intervals,
    "link_balances": link_balance,
    "name_ratios": side_by_side,
    "need_points": need_points,
    "rank_fits": rank_fits,
}
#: The modules that decide the rows of a table that facts read.
SOURCES = {"capture_grades": (grades, capture_rules, claims), "link_balances": (link_balance,)}

#: The outcomes by which `against_points` compares two experiments.
OUTCOMES = """
select
    app, problem, point, outcome, unit, better,
    if(is_used, "value", null) as "value",
    cost,
    completion_s,
from run_outcomes
order by place, outcome, app, problem, point, "value"
"""
Rows = list[tuple[Any, ...]]
Select = Callable[[str], "pl.DataFrame"]


@dataclass(frozen=True)
class Definition:
    """The statement that creates the empty table, and a note on its content."""

    statement: str
    note: str


@dataclass(frozen=True)
class Other:
    """Another experiment: its name, points and outcomes."""

    name: str
    side: against.Side


def definition(name: str) -> Definition:
    """Returns the definition of the table `name`."""
    if name in MADE_BY:
        return Definition(_statement(name, MADE_BY[name].COLUMNS), MADE_BY[name].NOTE)
    from flowsweep.analysis import estimates

    return Definition(_statement(name, estimates.COLUMNS[name]), estimates.NOTES[name])


def source(name: str) -> str:
    """Returns the Python source that computes the table `name`; empty if no fact reads it."""
    return "".join(map(inspect.getsource, SOURCES.get(name, ())))


def _statement(name: str, columns: Mapping[str, str]) -> str:
    listed = ",\n    ".join(f"{column} {kind}" for column, kind in columns.items())
    return f"create or replace table {name} (\n    {listed}\n)"


def rows(name: str, select: Select, other: Other | None = None) -> dict[str, Rows]:
    """Returns the rows of the table `name`, and of the tables that are computed with it.

    Args:
        name: A key of `READS`.
        select: Runs a query over the tables that it is computed from.
        other: An experiment to compare with.
    """
    if name in _ROWS:
        return {name: _ROWS[name](select)}
    if name == "against_points":
        return {
            name: [] if other is None else against.rows(read_side(select), other.side, other.name)
        }
    from flowsweep.analysis import estimates

    made = estimates.estimate(
        runs=select("select * from sweep_runs order by all"),
        points=select("select * from sweep_points order by all"),
        used=select(
            "select app, problem, outcome, point, is_baseline, start_ns, cost from run_outcomes "
            "where is_used order by all"
        ),
    )
    return {table: frame.rows() for table, frame in made.items()}


def _link_balances(select: Select) -> Rows:
    return link_balance.rows(select("select run, json from stg_runs order by run").rows())


def _capture_grades(select: Select) -> Rows:
    return grades.rows(select("select * from capture_facts order by capture").rows(named=True))


def _line_intervals(select: Select) -> Rows:
    times = select(
        "select axis, axis_points.unit, line, outcome, point, x, is_reference, cost "
        "from axis_points inner join compared_outcomes using (app, problem, point) order by all"
    )
    return line_intervals.rows(times.rows(named=True))


def _rank_fits(select: Select) -> Rows:
    peaks = select("select * from rank_peaks order by app, problem, ranks, run")
    return rank_fits.rows(peaks.rows(named=True))


def _need_points(select: Select) -> Rows:
    needs = select("select * from stated_needs order by outcome").rows(named=True)
    runs = select(
        "select outcome, run_outcomes.unit, app, problem, point, value from run_outcomes "
        "inner join stated_needs using (outcome) where is_valid and not is_warmup order by all"
    )
    return need_points.rows(needs, runs.rows(named=True))


def _name_ratios(select: Select) -> Rows:
    pairs = select("select app, problem, axis, point, reference_point from name_pairs order by all")
    times = select("select outcome, app, problem, point, cost from compared_outcomes order by all")
    return side_by_side.rows(pairs.rows(named=True), times.rows(named=True))


def read_side(select: Select) -> against.Side:
    """Reads the points of an experiment and their outcomes, to compare them."""
    return against.Side(
        select("select * from points order by point").rows(named=True),
        select(OUTCOMES).rows(named=True),
    )


def _axis_thresholds(select: Select) -> Rows:
    times = select(
        "select axis, axis_points.unit, app, problem, outcome, point, x, is_reference, cost, "
        "is_used from axis_points inner join run_outcomes using (app, problem, point) "
        "where kind = 'number' and mildness != 0 and axis not in ('rtt', 'rate') "
        "and not is_warmup order by all"
    )
    return axis_thresholds.rows(times.rows(named=True))


_ROWS = {
    "axis_threshold_estimates": _axis_thresholds,
    "link_balances": _link_balances,
    "capture_grades": _capture_grades,
    "line_intervals": _line_intervals,
    "name_ratios": _name_ratios,
    "need_points": _need_points,
    "rank_fits": _rank_fits,
}
