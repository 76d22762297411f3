"""A row of `thresholds` in the words of the verdict."""

from __future__ import annotations

from typing import Any

from flowsweep import numbers
from flowsweep.analysis.need import EMULATOR_OFF
from flowsweep.analysis.slowdown import MIN_RUNS
from flowsweep.experiment import axes
from flowsweep.outcome_names import COMPLETION
from flowsweep.render import brackets, outcome_words

AXES = {
    name: (column.head, column.unit)
    for name in ("rate", "rtt")
    for column in axes.AXES[name].columns
}


def _value(row: dict[str, Any]) -> str:
    """`**16 to 32 ms** [[(straight between them: 27)]]`, or `**165 Mbit/s** [[ [150, 180] ]]`.

    The bracket comes first where its ends are far apart.
    """
    unit = AXES[row["axis"]][1]
    estimate = numbers.estimate(row["estimate"])
    few = f"n = {row['runs_beside']}, no interval" if row["runs_beside"] < MIN_RUNS else ""
    has_interval = row["low"] is not None or row["high"] is not None
    if far := brackets.far_ends(row):
        said = f"straight between them: {estimate}"
        if few and not has_interval:
            said += f"; {few}"
        return f"**{far} {unit}** [[({said})]]"
    text = f"**{estimate} {unit}**"
    if has_interval:
        return f"{text} [[{numbers.interval(row['low'], row['high'])}]]"
    if few:
        beside = sorted(end for end in (row["easier"], row["harder"]) if end is not None)
        tried = " and ".join(map(numbers.estimate, beside))
        return f"{text} [[(tried: {tried}; {few})]]"
    return text


def need(row: dict[str, Any]) -> str:
    """The rate or the RTT that it needs."""
    if row["axis"] == "rate":
        return f"at least {_value(row)}"
    return f"an RTT of at most {_value(row)}"


def within(row: dict[str, Any]) -> str:
    """Where it stayed within the level."""
    value = numbers.estimate(row["hardest"])
    if row["axis"] == "rate":
        return f"at every rate tried, down to **{value} Mbit/s**"
    return f"at every RTT tried, up to **{value} ms**"


def severe(row: dict[str, Any]) -> str | None:
    """Where it becomes 50 % slower, if that was found."""
    if row["state"] != "found":
        return None
    return f"{'below' if row['axis'] == 'rate' else 'above'} {_value(row)}"


def exception(name: str, row: dict[str, Any]) -> str:
    """The sentence on a threshold that is none."""
    noun, unit = AXES[row["axis"]]
    if row["state"] == "at once":
        times = numbers.estimate(row["first_slowdown"])
        return (
            f"{name} is already {times} times {outcome_words.slower(row)} at the mildest {noun} "
            "after the baseline; what it needs was not tried."
        )
    if row["state"] == "not monotone":
        why = f" ({row['reason']})" if row["reason"] else ""
        low, high = (numbers.estimate(row[end]) for end in ("mildest", "hardest"))
        return (
            f"{name} gets {outcome_words.faster(row)} again between {low} and {high} {unit}{why}: "
            f"no single {noun} can be named."
        )
    closer, more = _bracket(row)
    purpose = "" if row["outcome"] == COMPLETION else f" {outcome_words.kept(row)}"
    said = f"The {noun} that {name} needs{purpose} cannot be told{closer}: {row['reason']}.{more}"
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
        worse = outcome_words.slower(row)
        return "", f" It is 10 % {worse} at {value} and at every {noun} beyond that has valid runs."
    return "", ""
