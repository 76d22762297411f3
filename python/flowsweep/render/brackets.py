"""A threshold in words: the tried values first where they are far apart, else the estimate."""

from __future__ import annotations

from typing import Any

from flowsweep import numbers
from flowsweep.analysis.need import FAR


def ends(row: dict[str, Any]) -> tuple[float, float] | None:
    """The tried values on both sides of an estimate, the smaller one first.

    Those of its interval; where there are too few runs for one, those beside it.
    """
    if row["low"] is not None and row["high"] is not None:
        return row["low"], row["high"]
    if row["low"] is not None or row["high"] is not None:
        return None
    beside = [end for end in (row["easier"], row["harder"]) if end is not None]
    return (min(beside), max(beside)) if len(beside) == 2 else None


def far_ends(row: dict[str, Any]) -> str | None:
    """`16.0 to 32.0`, where the tried values are far apart."""
    between = ends(row)
    if between is None or between[1] <= FAR * between[0]:
        return None
    return f"{numbers.estimate(between[0])} to {numbers.estimate(between[1])}"


def brief(row: dict[str, Any], unit: str) -> str:
    """`16.0 to 32.0 ms (27.1)`, or `4.20 ms [3.90, 4.60]`."""
    estimate = numbers.estimate(row["estimate"])
    if far := far_ends(row):
        return f"{far} {unit} ({estimate})"
    text = f"{estimate} {unit}"
    if row["low"] is not None or row["high"] is not None:
        text += " " + numbers.interval(row["low"], row["high"], brief=True)
    return text
