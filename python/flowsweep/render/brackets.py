"""Describes a threshold: its estimate, then its interval or the tried values around it."""

from __future__ import annotations

import math
from typing import Any

from flowsweep import numbers
from flowsweep.analysis.slowdown import MIN_RUNS

Row = dict[str, Any]
Ends = tuple[float | None, float | None]
#: An estimate has three digits; two if its interval spans more than the first factor, and one if it
#: spans the second or is open.
TWO_DIGITS, ONE_DIGIT = 1.5, 4.0


def has_interval(row: Row) -> bool:
    """Returns whether a threshold has an interval."""
    return row["low"] is not None or row["high"] is not None


def ends(row: Row) -> Ends:
    """Returns the ends of its interval, the smaller one first, None for an open end.

    With too few runs for an interval, they are the tried values around the estimate.
    """
    if has_interval(row):
        return row["low"], row["high"]
    easier, harder = row["easier"], row["harder"]
    if easier is None or harder is None:  # a rate without a limit is the mildest
        return harder, None
    return min(easier, harder), max(easier, harder)


def is_located(row: Row) -> bool:
    """Returns whether the sweep narrows a threshold to less than the whole range tried."""
    return set(ends(row)) != {row["mildest"], row["hardest"]}


def estimate(row: Row, unit: str | None = None) -> str:
    """Formats the estimate, with a unit if one is given; a narrow interval gives it more digits.

    It has more digits than that if fewer would round it out of the interval.
    """
    low, high = ends(row)
    factor = high / low if low and high else math.inf
    fewest = 1 if factor >= ONE_DIGIT else 2 if factor > TWO_DIGITS else 3
    for digits in range(fewest, 4):
        rounded = float(f"{row['estimate']:.{digits - 1}e}")
        if (low or 0) <= rounded <= (math.inf if high is None else high):
            break
    return _write(rounded, unit, digits)


def between(row: Row, unit: str | None = None, frame: str = "{}") -> str:
    """Returns `between 5.00 and 100 Mbit/s` or `above 5.00 Mbit/s`; `frame` wraps numbers."""
    low, high = ends(row)
    if low is None or high is None:
        end = frame.format(_write(high if low is None else low, unit))
        return f"below {end}" if low is None else f"above {end}"
    return f"between {frame.format(_pair(low, high, 'and', unit))}"


def note(row: Row, *, is_first: bool = True, unit: str | None = None) -> str:
    """Returns `95 % interval 59.5 to 100`, or the words in its place.

    Args:
        row: A row of the query `thresholds`, or of `axis_thresholds`.
        is_first: Whether to say what the two numbers are.
        unit: Unit of the two numbers, if they need one.
    """
    head = "95 % interval" if is_first and has_interval(row) else ""
    if not is_located(row):
        found = f"{head}: the whole range tried".removeprefix(": ")
    elif has_interval(row):
        found = f"{head} {span(row['low'], row['high'], unit)}".lstrip()
    else:
        found = between(row, unit, "the tried {}")
    if has_interval(row):
        return found
    is_too_few = row["runs_beside"] < MIN_RUNS
    return f"{found}; n = {row['runs_beside']}, no interval" if is_too_few else found


def span(low: float | None, high: float | None, unit: str | None = None) -> str:
    """Returns `59.5 to 100`; `59.5 or more` if this sweep does not bound it."""
    if low is None or high is None:
        end = _write(high if low is None else low, unit)
        return f"{end} or {'less' if low is None else 'more'}"
    return _pair(low, high, "to", unit)


def brief(row: Row, unit: str) -> str:
    """Returns `27 ms (16.0 to 32.0)`: estimate, and interval or the tried values around it."""
    if not is_located(row):
        return f"{span(*ends(row), unit)}, no closer"
    return f"{estimate(row, unit)} ({span(*ends(row))})"


def _pair(low: float, high: float, word: str, unit: str | None) -> str:
    """Joins two numbers with one unit after them; byte sizes have a unit each."""
    first, last = _write(low, unit), _write(high, unit)
    return f"{first if unit in (None, 'bytes') else first.rpartition(' ')[0]} {word} {last}"


def _write(value: float | None, unit: str | None, digits: int = 3) -> str:
    if unit is None or value is None:
        return numbers.estimate(value, digits)
    return numbers.quantity(value, unit, digits)
