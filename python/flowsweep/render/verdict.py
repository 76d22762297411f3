"""Thresholds to the sentences that open the report, with what they do not tell.

Markup inside a sentence: `**number**` is printed bold, `[[interval]]` muted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flowsweep import numbers
from flowsweep.analysis.need import EMULATOR_OFF
from flowsweep.analysis.slowdown import MIN_RUNS
from flowsweep.experiment import axes

MAX_APPS = 4
# What a row of `requirement` and its thresholds have in common.
POINT = ("app", "problem", "buffer_bytes")
AXES = {
    name: (column.head, column.unit)
    for name in ("rate", "rtt")
    for column in axes.AXES[name].columns
}


@dataclass(frozen=True)
class Verdict:
    """What the sweep says.

    Attributes:
        sentences: The answer, one or two sentences for each application.
        unknown: What it does not tell, short clauses.
    """

    sentences: Sequence[str]
    unknown: Sequence[str]

    @property
    def first(self) -> str:
        """The first sentence without markup, for the terminal."""
        return plain(self.sentences[0]) if self.sentences else ""


def plain(text: str) -> str:
    """A sentence without its markup."""
    return re.sub(r"\*\*|\[\[|\]\]", "", text)


def verdict(
    thresholds: Sequence[dict[str, Any]],
    requirements: Sequence[dict[str, Any]],
    labels: dict[tuple[str, str], str],
    runs: Sequence[dict[str, Any]] = (),
) -> Verdict:
    """The sentences for all applications.

    Args:
        thresholds: Rows of the query `thresholds`.
        requirements: Rows of the query `requirement`.
        labels: Name of each application and problem, in the order of the report.
        runs: Rows of the query `run_table`, for why none counts.
    """
    sentences: list[str] = []
    few, orders = [], list(labels)
    rows = sorted(requirements, key=lambda row: orders.index((row["app"], row["problem"])))
    varied, fixed = [], []
    for row in rows:
        mine = [one for one in thresholds if all(one[name] == row[name] for name in POINT)]
        label = labels[row["app"], row["problem"]]
        own = [run for run in runs if (run["app"], run["problem"]) == (row["app"], row["problem"])]
        if not mine and any(run["is_traffic_used"] for run in own) and not _is_varied(own):
            fixed.append(label)
        elif mine or row["baseline_s"] is None:
            varied.append((label, row, mine))
        elif label not in fixed:
            fixed.append(label)
    for label, row, mine in varied[:MAX_APPS]:
        if row["baseline_s"] is None:
            sentences.append(_no_baseline(label, row, runs))
        else:
            sentences += _application(label, row, mine)
        if mine and min(one["runs_beside"] for one in mine) < MIN_RUNS:
            few.append(label)
    if len(varied) > MAX_APPS:
        sentences.append(f"{len(varied) - MAX_APPS} more are in the table below.")
    if fixed:
        sentences.append(_not_varied(fixed))
    return Verdict(sentences, _unknown(thresholds, rows, few))


def _is_varied(runs: Sequence[dict[str, Any]]) -> bool:
    """Whether these rows of `run_table` lie at several round-trip times or rates."""
    points = {(run["rtt_asked_ms"], run["rate_asked_mbit_s"]) for run in runs}
    return len(points) > 1


def _not_varied(labels: list[str]) -> str:
    named = [f"**{label}**" for label in labels[:MAX_APPS]]
    if len(labels) > MAX_APPS:
        named.append(f"{len(labels) - MAX_APPS} more")
    need = "it needs" if len(labels) == 1 else "they need"
    together = named[0] if len(named) == 1 else f"{'; '.join(named[:-1])} and {named[-1]}"
    said = f"sent, not what {need}: neither RTT nor rate was varied"
    return f"These captures show what {together} {said}."


def _no_baseline(label: str, row: dict[str, Any], runs: Sequence[dict[str, Any]]) -> str:
    """Why there is nothing to compare with, by the example of the first run at the baseline."""
    if any(
        run["is_traffic_used"]
        for run in runs
        if run["is_baseline"] and (run["app"], run["problem"]) == (row["app"], row["problem"])
    ):
        return (
            f"What **{label}** needs cannot be told: no run at the baseline has a completion time. "
            "These captures show what it sent."
        )
    reasons = [
        f" ({run['run']}: {run['reason']})"
        for run in runs
        if run["is_baseline"]
        and not run["is_warmup"]
        and run["reason"]
        and (run["app"], run["problem"]) == (row["app"], row["problem"])
    ]
    why = reasons[0] if reasons else ""
    return f"Nothing can be said about **{label}**: no run is valid at the baseline{why}."


def _application(label: str, row: dict[str, Any], mine: list[dict[str, Any]]) -> list[str]:
    name = f"**{label}**"
    by = {(one["axis"], one["level"] < 1.3): one for one in mine}
    axes = [axis for axis in AXES if (axis, True) in by]
    if row["baseline_packets"] == 0:
        return [f"Nothing can be said about {name}: its captures at the baseline hold no packet."]
    buffer = row["buffer_bytes"]
    found = []
    first = {axis: by[axis, True] for axis in axes}
    told = [axis for axis in axes if first[axis]["state"] in ("found", "one-sided")]
    if told:
        needs = [_need(first[axis]) for axis in told]
        sockets = f", with socket buffers of {numbers.size(buffer)}" if buffer else ""
        found.append(
            f"{name} needs {' and '.join(needs)} to stay within 10 % of its baseline time{sockets}."
        )
    never = [axis for axis in axes if first[axis]["state"] == "never"]
    if never:
        ranges = [_range(first[axis]) for axis in never]
        subject = "It" if told else name
        found.append(f"{subject} stayed within 10 % {', and '.join(ranges)}: no limit was reached.")
    found += [
        _exception(name, first[axis]) for axis in axes if axis not in told and axis not in never
    ]
    severe = [_severe(by[axis, False]) for axis in axes if (axis, False) in by]
    told_severe = [text for text in severe if text]
    if told_severe and (told or never):
        found.append(f"It is 50 % slower {' and '.join(told_severe)}.")
    return found


def _value(row: dict[str, Any]) -> str:
    """`**165 Mbit/s** [[ [124, 231] ]]`, or the points beside it where no interval is known."""
    unit = AXES[row["axis"]][1]
    text = f"**{numbers.estimate(row['estimate'])} {unit}**"
    if row["low"] is not None or row["high"] is not None:
        return f"{text} [[{numbers.interval(row['low'], row['high'])}]]"
    if row["runs_beside"] < MIN_RUNS:
        beside = sorted(end for end in (row["easier"], row["harder"]) if end is not None)
        tried = " and ".join(map(numbers.estimate, beside))
        return f"{text} [[(tried: {tried}; n = {row['runs_beside']}, no interval)]]"
    return text


def _need(row: dict[str, Any]) -> str:
    if row["axis"] == "rate":
        return f"at least {_value(row)}"
    return f"an RTT of at most {_value(row)}"


def _range(row: dict[str, Any]) -> str:
    value = numbers.estimate(row["hardest"])
    if row["axis"] == "rate":
        return f"at every rate tried, down to **{value} Mbit/s**"
    return f"at every RTT tried, up to **{value} ms**"


def _severe(row: dict[str, Any]) -> str | None:
    if row["state"] != "found":
        return None
    return f"{'below' if row['axis'] == 'rate' else 'above'} {_value(row)}"


def _exception(name: str, row: dict[str, Any]) -> str:
    noun, unit = AXES[row["axis"]]
    if row["state"] == "at once":
        return (
            f"{name} is already {numbers.estimate(row['first_slowdown'])} times slower at the "
            f"mildest {noun} after the baseline; what it needs was not tried."
        )
    if row["state"] == "not monotone":
        why = f" ({row['reason']})" if row["reason"] else ""
        return (
            f"{name} gets faster again between {numbers.estimate(row['mildest'])} and "
            f"{numbers.estimate(row['hardest'])} {unit}{why}: no single {noun} can be named."
        )
    closer, more = _bracket(row)
    said = f"The {noun} that {name} needs cannot be told{closer}: {row['reason']}.{more}"
    return said + _remedy(row, is_bracketed=bool(closer))


def _remedy(row: dict[str, Any], *, is_bracketed: bool) -> str:
    """Where more runs would help; they do not where the emulator missed what was asked."""
    if row["reason"] == EMULATOR_OFF:
        return ""
    if is_bracketed:
        return " More runs at the points between would help."
    if row["easier"] is None or row["harder"] is None:
        return ""
    low, high = map(numbers.estimate, sorted((row["easier"], row["harder"])))
    return f" More runs at {low} to {high} {AXES[row['axis']][1]} would help."


def _bracket(row: dict[str, Any]) -> tuple[str, str]:
    """What is sure of a threshold that cannot be told: how close, or what lies on one side."""
    noun, unit = AXES[row["axis"]]
    low, high = row["low"], row["high"]
    if low is not None and high is not None:
        return f" closer than {numbers.estimate(low)} to {numbers.estimate(high)} {unit}", ""
    is_rate = row["axis"] == "rate"
    mild, hard = (high, low) if is_rate else (low, high)
    direction = "down" if is_rate else "up"
    if mild is not None and mild != row["mildest"]:
        value = f"{numbers.estimate(mild)} {unit}"
        return "", f" It stayed within 10 % at every {noun} tried {direction} to {value}."
    if hard is not None:
        value = f"{numbers.estimate(hard)} {unit}"
        return "", f" It is 10 % slower at {value} and at every {noun} beyond that has valid runs."
    return "", ""


def _unknown(
    thresholds: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]], few: list[str]
) -> list[str]:
    found = []
    if few:
        found.append(
            f"how sure these numbers are: an interval needs {MIN_RUNS} valid runs at each point"
        )
    if any(row["estimate"] is not None and row["low"] != row["high"] for row in thresholds):
        found.append(
            "where between two tried points a limit lies: its number assumes a straight line, its "
            "bracket nothing"
        )
    axes = {row["axis"] for row in thresholds}
    if axes == {"rtt", "rate"}:
        found.append(
            "what long RTT and low rate do together: each was varied with the other at the baseline"
        )
    elif axes:
        missing = "rate" if "rtt" in axes else "RTT"
        found.append(f"which {missing} is needed: it was not varied")
    grades = {row["worst_grade"] for row in rows}
    if "D" in grades:
        found.append("traffic of the captures with grade D: see the quality table")
    if numbers.NONE in grades:
        found.append("whether packets were dropped: some captures have no manifest")
    return found
