"""What the verdict says of the axes beside RTT and rate: loss, jitter, queue and buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowsweep import numbers
from flowsweep.analysis.slowdown import MIN_RUNS
from flowsweep.outcome_names import COMPLETION
from flowsweep.render import brackets, outcome_words

Row = dict[str, Any]
#: What an application needs of an axis, with its article.
NOUNS = {"loss": "a loss", "queue": "a queue", "buffer": "socket buffers"}
MAX_APPS = 4


def sentences(rows: Sequence[Row], labels: dict[tuple[str, str], str]) -> list[str]:
    """A sentence for each outcome of an application that such an axis makes worse by 10 %.

    Args:
        rows: Rows of the query `axis_thresholds`.
        labels: Name of each application and problem, in the order of the report.
    """
    found = []
    for key, label in labels.items():
        own_rows = [
            row for row in rows if (row["app"], row["problem"]) == key and row["level"] < 1.3
        ]
        for outcome in dict.fromkeys(row["outcome"] for row in own_rows):
            own = [row for row in own_rows if row["outcome"] == outcome]
            needs = [need for row in own if (need := _need(row))]
            if needs:
                is_time = outcome == COMPLETION
                kept = "to stay within 10 %" if is_time else outcome_words.word_kept(own[0])
                found.append(
                    f"**{label}** needs {' and '.join(needs)} {kept}, all else as at the baseline."
                )
    if len(found) > MAX_APPS:
        left = len(found) - MAX_APPS
        verb = "needs" if left == 1 else "need"
        found[MAX_APPS:] = [f"What {left} more {verb} of such axes is in the table below."]
    return found


def _need(row: Row) -> str | None:
    """`a loss of at most 0 to 0.1 %`; None where no tried values lie on both sides of it."""
    between = brackets.ends(row) if row["state"] == "found" else None
    if between is None:
        return None
    side = "at most" if row["mildest"] < row["hardest"] else "at least"
    is_too_few = row["low"] is None and row["high"] is None and row["runs_beside"] < MIN_RUNS
    note = f" [[(n = {row['runs_beside']}, no interval)]]" if is_too_few else ""
    noun = NOUNS.get(row["axis"], f"a {row['axis']}")
    return f"{noun} of {side} **{_span(between, row['unit'])}**{note}"


def _span(between: tuple[float, float], unit: str) -> str:
    """Both ends in one unit, or each in its own where that depends on the size."""
    low, high = (numbers.quantity(end, unit) for end in between)
    if low == high:
        return low
    return f"{low if unit == 'bytes' else low.rpartition(' ')[0]} to {high}"
