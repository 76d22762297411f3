"""Writes the verdict's sentences on axes other than RTT and rate: loss, jitter, queue, buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowsweep.render import brackets, outcome_words

Row = dict[str, Any]
#: What an application needs of an axis, with its article.
NOUNS = {"loss": "a loss", "queue": "a queue", "buffer": "socket buffers"}
MAX_APPS = 4


def sentences(rows: Sequence[Row], labels: dict[tuple[str, str], str]) -> list[str]:
    """Writes a sentence for each outcome of an application that such an axis makes 10 % worse.

    Args:
        rows: Rows of the query `axis_thresholds`.
        labels: Name of each application and problem, in the order of the report.
    """
    found = []
    for key, label in labels.items():
        own_rows = [
            row
            for row in rows
            if (row["app"], row["problem"]) == key and row["level"] < 1.3 and _is_between(row)
        ]
        for outcome in dict.fromkeys(row["outcome"] for row in own_rows):
            own = [row for row in own_rows if row["outcome"] == outcome]
            found.append(f"**{label}** {_needs(own)}, all else as at the baseline.")
    if len(found) > MAX_APPS:
        left = len(found) - MAX_APPS
        verb = "needs" if left == 1 else "need"
        found[MAX_APPS:] = [f"What {left} more {verb} of such axes is in the table below."]
    return found


def _is_between(row: Row) -> bool:
    """Returns whether tried values lie on both sides of the limit."""
    return row["state"] == "found" and None not in brackets.ends(row)


def _needs(rows: Sequence[Row]) -> str:
    """Returns `tolerates a loss of about 0.05 % (95 % interval ...) before it is 10 % slower`."""
    tolerated = [row for row in rows if row["mildest"] < row["hardest"]]
    needed = [row for row in rows if row not in tolerated]
    ordered = [*needed, *tolerated]
    parts = []
    for verb, own in (("needs", needed), ("tolerates", tolerated)):
        limits = [_limit(row, is_first=row is ordered[0]) for row in own]
        parts += [f"{verb} {' and '.join(limits)}"] if limits else []
    end = outcome_words.word_tolerated if tolerated else outcome_words.word_kept
    return f"{' and '.join(parts)} {end(rows[0])}"


def _limit(row: Row, *, is_first: bool) -> str:
    """Returns `a loss of about 0.05 % (95 % interval 0.01 to 0.1 %)`; ends alone if not first."""
    noun = NOUNS.get(row["axis"], f"a {row['axis']}")
    unit = row["unit"]
    if brackets.is_located(row):
        text = f"{noun} of about **{brackets.estimate(row, unit)}**"
    else:
        text = f"{noun} somewhere {brackets.between(row, unit, '**{}**')}"
    return f"{text} [[({brackets.note(row, is_first=is_first, unit=unit)})]]"
