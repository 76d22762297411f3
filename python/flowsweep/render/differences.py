"""Describes how the outcomes of two experiments differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from flowsweep import numbers
from flowsweep.lists import shorten_list
from flowsweep.render import markup, outcome_words

Row = dict[str, Any]
MAX_NAMED = 4


def first(rows: Sequence[Row]) -> str | None:
    """Answers in one sentence: at how many points this experiment is slower or faster.

    Args:
        rows: Rows of the query `against`.
    """
    if not rows:
        return None
    name = rows[0]["against"]
    compared = [row for row in rows if row["ratio"] is not None]
    if not compared:
        return f"No point can be compared with **{name}**: none has valid runs in both."
    bounded = [row for row in compared if row["ratio_low"] is not None]
    slower = [row for row in bounded if row["ratio_low"] > 1]
    faster = [row for row in bounded if row["ratio_high"] < 1]
    open_ended = len(compared) - len(bounded)
    same = len(bounded) - len(slower) - len(faster)
    words = ("slower", "faster", "times as long")
    if outcome_words.has_others(row["outcome"] for row in compared):
        words = ("worse", "better", "times as bad")
    parts = [
        f"{word} at {len(own)} ({_range(own)} {words[-1]})" if own else ""
        for word, own in zip(words, (slower, faster), strict=False)
    ]
    parts += [
        f"no difference found at {same}" if same else "",
        f"no interval at {open_ended}, of too few runs" if open_ended else "",
    ]
    shared = _points(compared)
    points = numbers.plural(len(shared), "shared point")
    if len(compared) > len(shared):
        points = f"{numbers.plural(len(compared), 'outcome')} at {points}"
    return f"Against **{name}**, of {points}: {'; '.join(part for part in parts if part)}."


def sentences(rows: Sequence[Row]) -> list[str]:
    """Returns the answer, what differs, and the points that only one of the two has."""
    top = first(markup.shield_rows(rows))
    found = [markup.plain(top)] if top else []
    if rows and rows[0]["differs"]:
        found.append(f"They differ in {rows[0]['differs']} (here, there).")
    for side, where in (("here", "this experiment"), ("there", rows[0]["against"] if rows else "")):
        alone = _points(row for row in rows if row["side"] == side)
        if alone:
            named = shorten_list([_name(row) for row in alone], MAX_NAMED)
            found.append(
                f"{numbers.plural(len(alone), 'point')} of {where} alone: {'; '.join(named)}."
            )
    return found


def _points(rows: Iterable[Row]) -> list[Row]:
    """Returns a row of each point; a point has a row for each of its outcomes."""
    return list({(row["app"], row["problem"], row["label"]): row for row in rows}.values())


def _range(rows: Sequence[Row]) -> str:
    ratios = [row["ratio"] for row in rows]
    low, high = numbers.estimate(min(ratios)), numbers.estimate(max(ratios))
    return low if low == high else f"{low} to {high}"


def _name(row: Row) -> str:
    return f"{row['app']}, {row['label']}"
