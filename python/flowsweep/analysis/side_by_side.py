"""Runs of points that differ in a name alone to the table `name_ratios`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from flowsweep.analysis.ratios import ratios

NOTE = (
    "ratio of median completion times of two points that differ in one name alone, with its 95 % "
    "interval (flowsweep.analysis.ratios)"
)
COLUMNS = {
    "axis": "varchar",
    "point": "bigint",
    "ratio": "double",
    "low": "double",
    "high": "double",
    "noise": "varchar",
    "noise_reason": "varchar",
}


def rows(pairs: Sequence[dict[str, Any]], runs: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """The rows of the table.

    Args:
        pairs: `app, problem, axis, point, reference_point`, sorted by these.
        runs: `app, problem, point, completion_s` of each run that counts, sorted.
    """
    times: dict[tuple[str, str], dict[int, list[float]]] = {}
    for run in runs:
        key = (run["app"], run["problem"])
        times.setdefault(key, {}).setdefault(run["point"], []).append(run["completion_s"])
    found: list[tuple[Any, ...]] = []
    for key, group in itertools.groupby(pairs, key=lambda pair: (pair["app"], pair["problem"])):
        own = times.get(key, {})
        known = [pair for pair in group if {pair["point"], pair["reference_point"]} <= own.keys()]
        ends = [(pair["point"], pair["reference_point"]) for pair in known]
        found += [
            (pair["axis"], pair["point"], one.value, one.low, one.high, one.noise, one.reason)
            for pair, one in zip(known, ratios(own, ends), strict=True)
        ]
    return found
