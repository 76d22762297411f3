"""Compares points that differ in a name alone: the table `name_ratios`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from flowsweep.analysis.ratios import ratios

NOTE = (
    "ratio of the medians of an outcome at two points that differ in one name alone, with its 95 % "
    "interval (flowsweep.analysis.ratios)"
)
COLUMNS = {
    "outcome": "varchar",
    "axis": "varchar",
    "point": "bigint",
    "ratio": "double",
    "low": "double",
    "high": "double",
    "noise": "varchar",
    "noise_reason": "varchar",
}


def rows(pairs: Sequence[dict[str, Any]], runs: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Returns the rows of the table.

    Args:
        pairs: `app, problem, axis, point, reference_point`, sorted by these.
        runs: `outcome, app, problem, point, cost` of each used run, sorted.
    """
    costs: dict[str, dict[tuple[str, str], dict[int, list[float]]]] = {}
    for run in runs:
        by_problem = costs.setdefault(run["outcome"], {})
        by_point = by_problem.setdefault((run["app"], run["problem"]), {})
        by_point.setdefault(run["point"], []).append(run["cost"])
    found: list[tuple[Any, ...]] = []
    for outcome, by_problem in costs.items():
        for key, group in itertools.groupby(pairs, key=lambda pair: (pair["app"], pair["problem"])):
            own = by_problem.get(key, {})
            known = [
                pair for pair in group if {pair["point"], pair["reference_point"]} <= own.keys()
            ]
            ends = [(pair["point"], pair["reference_point"]) for pair in known]
            found += [
                (outcome, pair["axis"], pair["point"], one.value, one.low, one.high, one.noise,
                 one.reason)
                for pair, one in zip(known, ratios(own, ends), strict=True)
            ]  # fmt: skip
    return found
