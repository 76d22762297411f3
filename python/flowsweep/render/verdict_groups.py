"""Writes the verdict's sentences on further problems and variants of an application."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowsweep import numbers
from flowsweep.analysis.need import ESTIMATED
from flowsweep.outcome_names import COMPLETION
from flowsweep.render import brackets, threshold_words

Row = dict[str, Any]
#: Longer labels are replaced by the application's name; the table below has them.
MAX_NAME = 24


def name(app: str, label: str, problems: int) -> str:
    """Names an application, without its problem if there are several and the label is long."""
    return label if problems == 1 or len(label) <= MAX_NAME else app


def others(count: int, own: Sequence[Row]) -> str:
    """States what the further problems of an application need, in one sentence.

    Args:
        count: Number of further problems.
        own: Their rows of the query `thresholds`.
    """
    plural = count > 1
    subject = f"{count} other problems of it" if plural else "Another problem of it"
    end = "" if plural else "s"
    parts = []
    for axis in threshold_words.AXES:
        rows = [row for row in own if row["axis"] == axis and row["level"] < 1.3]
        known = [row for row in rows if row["state"] in ESTIMATED and brackets.is_located(row)]
        if not known:
            continue
        low, high = (
            brackets.estimate(choose(known, key=lambda row: row["estimate"]))
            for choose in (min, max)
        )
        unit = threshold_words.AXES[axis][1]
        need = f"need{end} about" if axis == "rate" else f"tolerate{end} an RTT of about"
        span = low if low == high else f"{low} to {high}"
        part = "" if len(known) == count else f" ({len(known)} of {count})"
        parts.append(f"{need} {span} {unit}{part}")
    if parts:
        return f"{subject} {' and '.join(parts)}, see the table below."
    verb = "are" if plural else "is"
    return f"{subject} {verb} in the table below."


def variants(rows: Sequence[Row]) -> str | None:
    """States what the variants of an application change, in one sentence.

    Args:
        rows: Its rows of the query `side_by_side`.
    """
    known = [row for row in rows if row["axis"] == "variant" and row["ratio"] is not None]
    if not known:
        return None
    names = list(dict.fromkeys(row["name"] or "none" for row in known))
    least, most = (choose(known, key=lambda row: row["ratio"]) for choose in (min, max))
    bounded = [row for row in known if row["ratio_low"] is not None]
    sure = [row for row in bounded if not row["ratio_low"] <= 1 <= row["ratio_high"]]
    outcome = known[0]["outcome"]
    is_time = outcome == COMPLETION
    takes, take = ("takes", "take") if is_time else ("is", "are")
    long = "as long" if is_time else f"worse in {outcome}"
    if len(known) == 1:
        text = f"Its variant **{names[0]}** {takes} **{_times(most)}**{_interval(most)} {long}"
        text += _beside(most)
    else:
        subject = f"Its variant {names[0]}" if len(names) == 1 else f"Its {len(names)} variants"
        verb = takes if len(names) == 1 else take
        text = (
            f"{subject} {verb} from {_times(least)} ({_place(least, names)}) to "
            f"**{_times(most)}** ({_place(most, names)}) {long}, all else alike"
        )
    if not bounded:
        return f"{text}; too few runs for an interval."
    if len(known) == 1:
        return f"{text}." if sure else f"{text}: no difference found."
    return f"{text}; a difference is sure at {len(sure)} of {numbers.plural(len(known), 'point')}."


def _times(row: Row) -> str:
    return f"{numbers.estimate(row['ratio'])} times"


def _interval(row: Row) -> str:
    if row["ratio_low"] is None:
        return ""
    return f" [[{numbers.interval(row['ratio_low'], row['ratio_high'])}]]"


def _place(row: Row, names: Sequence[str]) -> str:
    """States which variant it is, and where, if not at the baseline."""
    prefix = [] if len(names) == 1 else [row["name"] or "none"]
    if row["beside"] != "baseline" or not prefix:
        prefix.append(row["beside"])
    return ", ".join(prefix)


def _beside(row: Row) -> str:
    return "" if row["beside"] == "baseline" else f" ({row['beside']})"
