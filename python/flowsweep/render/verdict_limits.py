"""Writes what the verdict assumes, and what it leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowsweep import numbers
from flowsweep.analysis.drift import LEVEL
from flowsweep.analysis.need import ESTIMATED
from flowsweep.analysis.slowdown import MIN_RUNS
from flowsweep.experiment.axes import AXES
from flowsweep.lists import shorten_list
from flowsweep.outcome_names import COMPLETION
from flowsweep.render import brackets, outcome_words

MAX_NAMED = 4
LEAST_P = 0.001
#: A drift of less than this share cannot decide whether a limit of 10 % is crossed.
SMALL_DRIFT = 0.10


def assumed(
    thresholds: Sequence[dict[str, Any]],
    labels: dict[tuple[str, str], str],
    needs: Sequence[dict[str, Any]] = (),
) -> list[str]:
    """States what the intervals assume about scatter and drift, in short clauses.

    Args:
        thresholds: Rows of the query `thresholds`.
        labels: Name of each application and problem, in the order of the report.
        needs: Rows of the query `need`.
    """
    lines: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in thresholds:
        if row["noise"] is not None and (row["low"], row["high"]) != (None, None):
            key = (row["app"], row["problem"], row["buffer_bytes"], row["axis"], row["outcome"])
            lines.setdefault(key, row)
    alone: dict[str, list[str]] = {}
    pooled = []
    for (app, problem, buffer, axis, outcome), row in sorted(
        lines.items(), key=lambda item: list(labels).index(item[0][:2])
    ):
        name = f"{labels[app, problem]} over {AXES[axis].columns[0].head}"
        if buffer is not None:
            name += f" at {numbers.size(buffer)} buffers"
        if outcome != COMPLETION:
            name = f"{outcome} of {name}"
        if row["noise"] == "pooled":
            pooled.append(f"{name}: {numbers.share(row['spread'])}")
        else:
            alone.setdefault(row["noise_reason"] or "", []).append(name)
    varying = "value" if any(row["outcome"] != COMPLETION for row in lines.values()) else "time"
    found = []
    if pooled:
        found.append(
            f"runs of a line vary by the same share of their {varying} at every point "
            f"({_join_first(pooled)}), except points whose own runs clearly vary more"
        )
    for reason, names in alone.items():
        found.append(
            f"nothing about variation for {_join_first(names)}, where each point has its own runs: "
            f"{reason}"
        )
    limits = dict.fromkeys(row["outcome"] for row in needs if row["noise"] == "pooled")
    if limits:
        found.append(
            "runs vary by the same share of their value at every point of the sweep, not of a line "
            f"alone, where limits of the experiment file are judged ({_join_first(list(limits))})"
        )
    return found + _drifts(list(lines.values()), labels)


def _drifts(rows: Sequence[dict[str, Any]], labels: dict[tuple[str, str], str]) -> list[str]:
    """States that runs are assumed not to drift during a sweep, and the drifts that were found."""
    alike: list[str] = []
    undecided: list[str] = []
    unlike, unknown = [], []
    judged = {(row["app"], row["problem"], row["outcome"]): row for row in rows}
    names = list(labels)
    for key, row in sorted(judged.items(), key=lambda item: names.index(item[0][:2])):
        name = labels[key[:2]]
        if row["outcome"] != COMPLETION:
            name += f" ({row['outcome']})"
        if row["drift_p"] is None:
            unknown.append(name)
        elif row["drift_p"] < LEVEL:
            word = (outcome_words.slower if row["drift"] > 0 else outcome_words.faster)(row)
            size = numbers.share(abs(row["drift"]))
            p = f"p < {LEAST_P}" if row["drift_p"] < LEAST_P else f"p = {row['drift_p']:.2g}"
            runs = f"runs of {labels[key[:2]]} became"
            unlike.append(f"{runs} {size} {word} from first to last ({p})")
        else:
            ends = [row["drift_low"], row["drift_high"]]
            is_known = max(map(abs, ends)) < SMALL_DRIFT
            span = " to ".join(map(numbers.change, ends))
            (alike if is_known else undecided).append(f"{name} {span}")
    found = []
    if unlike:
        found.append(f"no drift, but {_join_first(unlike)}: the intervals do not cover that")
    change = "95 % interval of the change from first run to last"
    if alike:
        found.append(f"no drift, and none was found ({change}: {_join_first(alike)})")
    if undecided:
        found.append(
            f"no drift, which these runs neither show nor rule out ({change}: "
            f"{_join_first(undecided)})"
        )
    if unknown:
        found.append(f"no drift, which too few runs of {_join_first(unknown)} could show")
    return found


def _join_first(names: Sequence[str]) -> str:
    return ", ".join(shorten_list(names, MAX_NAMED))


def unknown(
    thresholds: Sequence[dict[str, Any]],
    rows: Sequence[dict[str, Any]],
    too_few: list[str],
    not_crossed: list[str],
) -> list[str]:
    """States what the sweep leaves open, in short clauses.

    Args:
        thresholds: Rows of the query `thresholds`.
        rows: Rows of the query `requirement`.
        too_few: Names of applications with too few runs for an interval.
        not_crossed: Names of applications whose RTT and rate were varied, but never at once.
    """
    found = []
    if too_few:
        found.append(
            f"how sure these numbers are: an interval needs {MIN_RUNS} valid runs at each point, "
            "or 2 at each of 3 points or more"
        )
    if any(
        row["state"] in ESTIMATED and brackets.has_interval(row) and brackets.is_located(row)
        for row in thresholds
    ):
        found.append(
            "where exactly between two tried points a limit lies (the number assumes a straight "
            "line, the interval does not)"
        )
    axes = {row["axis"] for row in thresholds}
    if not_crossed:
        whose = "" if len(not_crossed) == len(rows) else f" to {_join_first(not_crossed)}"
        found.append(
            f"what a long RTT and a low rate do together{whose} (each was varied with the other at "
            "the baseline)"
        )
    if len(axes) == 1:
        missing = "rate" if "rtt" in axes else "RTT"
        found.append(f"which {missing} is needed: it was not varied")
    grades = {row["worst_grade"] for row in rows}
    if "D" in grades:
        found.append("traffic of the captures with grade D: see the quality table")
    if numbers.NONE in grades:
        found.append("whether packets were dropped: some captures have no manifest")
    return found
