"""Phrases a row of `thresholds` for the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowsweep import numbers
from flowsweep.analysis.need import EMULATOR_OFF
from flowsweep.experiment import axes
from flowsweep.outcome_names import COMPLETION
from flowsweep.render import brackets, outcome_words

AXES = {
    name: (column.head, column.unit)
    for name in ("rate", "rtt")
    for column in axes.AXES[name].columns
}


def _value(row: dict[str, Any], *, is_first: bool = False) -> str:
    """Returns `about **69 Mbit/s** [[(95 % interval 59.5 to 100)]]`; only the ends if not first.

    It is `somewhere between **5.00 and 100 Mbit/s**` if the sweep does not locate it.
    """
    unit = AXES[row["axis"]][1]
    if brackets.is_located(row):
        text = f"about **{brackets.estimate(row, unit)}**"
    else:
        text = f"somewhere {brackets.between(row, unit, '**{}**')}"
    return f"{text} [[({brackets.note(row, is_first=is_first)})]]"


def need(row: dict[str, Any], *, is_first: bool = True) -> str:
    """States the rate that an application needs, or the RTT that it tolerates."""
    if row["axis"] == "rate":
        return f"needs {_value(row, is_first=is_first)}"
    preposition = "of " if brackets.is_located(row) else ""
    return f"tolerates an RTT {preposition}{_value(row, is_first=is_first)}"


def within(row: dict[str, Any]) -> str:
    """States where an application stayed within the level."""
    value = numbers.estimate(row["hardest"])
    if row["axis"] == "rate":
        return f"at every rate tried, down to **{value} Mbit/s**"
    return f"at every RTT tried, up to **{value} ms**"


def severe(row: dict[str, Any]) -> str | None:
    """States where an application becomes 50 % slower, if that was found."""
    if row["state"] != "found":
        return None
    limit = "" if brackets.is_located(row) else "a limit "
    return f"{'below' if row['axis'] == 'rate' else 'above'} {limit}{_value(row)}"


def exceptions(name: str, rows: Sequence[dict[str, Any]]) -> list[str]:
    """Returns sentences on missing thresholds; one on rate and RTT if both have one reason."""
    subjects: dict[str, list[str]] = {}
    for row in rows:
        subject, predicate = _exception(name, row)
        subjects.setdefault(predicate, []).append(subject)
    found = (f"{' and '.join(own)} {predicate}" for predicate, own in subjects.items())
    return [text[0].upper() + text[1:] for text in found]


def _exception(name: str, row: dict[str, Any]) -> tuple[str, str]:
    """Returns subject and predicate of the sentence on a missing threshold."""
    noun, unit = AXES[row["axis"]]
    if row["state"] == "at once":
        times = numbers.estimate(row["first_slowdown"])
        return name, (
            f"is already {times} times {outcome_words.slower(row)} at the mildest {noun} after the "
            "baseline; what it needs was not tried."
        )
    if row["state"] == "not monotone":
        why = f" ({row['reason']})" if row["reason"] else ""
        low, high = (numbers.estimate(row[end]) for end in ("mildest", "hardest"))
        return name, (
            f"gets {outcome_words.faster(row)} again between {low} and {high} {unit}{why}: "
            f"no single {noun} can be named."
        )
    closer, more = _bracket(name, row)
    verb, word_purpose = (
        ("needs", outcome_words.word_kept)
        if row["axis"] == "rate"
        else ("tolerates", outcome_words.word_tolerated)
    )
    limit = f"the {noun} that {name} {verb}"
    if row["outcome"] != COMPLETION:
        limit += f" {word_purpose(row)}"
    remedy = _remedy(row, is_bracketed=bool(closer))
    return limit, f"cannot be determined{closer}: {row['reason']}.{more}{remedy}"


def _remedy(row: dict[str, Any], *, is_bracketed: bool) -> str:
    """States where more runs would help; they do not if the emulator missed its request."""
    if row["reason"] == EMULATOR_OFF:
        return ""
    if is_bracketed:
        return " More runs at the points between would help."
    if row["easier"] is None or row["harder"] is None:
        return ""
    low, high = map(numbers.estimate, sorted((row["easier"], row["harder"])))
    return f" More runs at {low} to {high} {AXES[row['axis']][1]} would help."


def _bracket(name: str, row: dict[str, Any]) -> tuple[str, str]:
    """States what is certain about an unknown threshold: its bracket, or one side of it."""
    noun, unit = AXES[row["axis"]]
    low, high = row["low"], row["high"]
    if low is not None and high is not None:
        return f" more closely than {numbers.estimate(low)} to {numbers.estimate(high)} {unit}", ""
    is_rate = row["axis"] == "rate"
    mild, hard = (high, low) if is_rate else (low, high)
    direction = "down" if is_rate else "up"
    if mild is not None and mild != row["mildest"]:
        value = f"{numbers.estimate(mild)} {unit}"
        stayed = outcome_words.word_stayed(row, name, is_named=True)
        return "", f" {stayed} at every {noun} tried {direction} to {value}."
    if hard is not None:
        value = f"{numbers.estimate(hard)} {unit}"
        broken = outcome_words.word_broken(row)
        return "", f" {broken} at {value} and at every {noun} beyond that has valid runs."
    return "", ""
