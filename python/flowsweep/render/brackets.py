"""A threshold in words: its estimate, then its interval or the tried values beside it."""

from __future__ import annotations

from typing import Any

from flowsweep import numbers
from flowsweep.analysis.slowdown import MIN_RUNS


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


def note(row: dict[str, Any], *, is_first: bool = True) -> str:
    """`95 % interval 59.5 to 100`, or what stands in its place; empty where nothing is known.

    Args:
        row: A row of the query `thresholds`.
        is_first: Says what the two numbers are.
    """
    low, high = row["low"], row["high"]
    if low is not None or high is not None:
        return ("95 % interval " if is_first else "") + span(low, high)
    between = ends(row)
    tried = (
        f"between the tried {numbers.estimate(between[0])} and {numbers.estimate(between[1])}"
        if between
        else ""
    )
    missing = f"n = {row['runs_beside']}, no interval" if row["runs_beside"] < MIN_RUNS else ""
    return "; ".join(part for part in (tried, missing) if part)


def span(low: float | None, high: float | None) -> str:
    """`59.5 to 100`; `59.5 or more` where this sweep does not bound it."""
    if low is None or high is None:
        end = high if low is None else low
        return f"{numbers.estimate(end)} or {'less' if low is None else 'more'}"
    return f"{numbers.estimate(low)} to {numbers.estimate(high)}"


def brief(row: dict[str, Any], unit: str) -> str:
    """`27.1 ms (16.0 to 32.0)`: an estimate, and its interval or the tried values beside it."""
    text = f"{numbers.estimate(row['estimate'])} {unit}"
    if row["low"] is not None or row["high"] is not None:
        return f"{text} ({span(row['low'], row['high'])})"
    between = ends(row)
    return f"{text} ({span(*between)})" if between else text
