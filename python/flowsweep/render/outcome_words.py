"""Phrases about outcomes: the completion time, and any other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowsweep.outcome_names import COMPLETION, word_level

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flowsweep.render.figure import Context

Row = dict[str, Any]


def noun(outcome: str) -> str:
    """Returns the name of an outcome in a sentence."""
    return "completion time" if outcome == COMPLETION else outcome


def has_others(outcomes: Any) -> bool:
    """Returns whether some of these names are not the completion time."""
    return any(outcome != COMPLETION for outcome in outcomes)


def grows_better(rows: Iterable[Row]) -> bool:
    """Returns whether more is better for some outcome of these rows."""
    return any(row["better"] == "more" for row in rows)


#: The two limits where more is better, printed beside words about outcomes where less is.
MORE_IS_BETTER = "Where more is better, the limits are 91 % and 67 % of the baseline."


def is_timed(context: Context) -> bool:
    """Returns whether some application is judged by its completion time."""
    return COMPLETION in set(context.model("outcome_baselines")["outcome"])


def quantity(row: Row) -> str:
    """Returns an outcome with its unit, as the head of a column or an axis."""
    unit = row["outcome_unit"]
    return f"{noun(row['outcome'])} ({unit})" if unit else noun(row["outcome"])


def word_tolerated(row: Row) -> str:
    """Returns the end of "tolerates an RTT of about 10 ms ..."."""
    if row["outcome"] == COMPLETION:
        return "before it is 10 % slower"
    return f"with **{row['outcome']}** {_bound(row, 1.1)}"


def word_kept(row: Row) -> str:
    """Returns the end of "needs about 10 Mbit/s ..."."""
    if row["outcome"] == COMPLETION:
        return "to stay within 10 % of its baseline time"
    return f"to keep **{row['outcome']}** {_bound(row, 1.1)}"


def word_stayed(row: Row, name: str, *, is_named: bool) -> str:
    """Returns the beginning of "It stayed within 10 % at every rate tried"."""
    if row["outcome"] == COMPLETION:
        return f"{'It' if is_named else name} stayed within 10 %"
    return f"The **{row['outcome']}** of {name} stayed {_bound(row, 1.1)}"


#: The first words of `word_severe`.
SEVERE = ("It is 50 %", "Its outcome ")


def word_severe(row: Row) -> str:
    """Returns the beginning of "It is 50 % slower below 5 Mbit/s"."""
    if row["outcome"] == COMPLETION:
        return "It is 50 % slower"
    return f"Its outcome {row['outcome']} {_broken(row, 1.5)}"


def word_broken(row: Row) -> str:
    """Returns the beginning of "It is 10 % slower at 16 ms and at every RTT beyond"."""
    if row["outcome"] == COMPLETION:
        return "It is 10 % slower"
    return f"Its outcome {row['outcome']} {_broken(row, 1.1)}"


def _broken(row: Row, limit: float) -> str:
    if row["better"] == "more":
        return f"falls below {word_level(row['better'], limit)} of its baseline"
    return f"is {word_level(row['better'], limit)} higher"


def slower(row: Row) -> str:
    """Returns what follows "3 times" for an outcome that got worse."""
    return "slower" if row["outcome"] == COMPLETION else f"worse in {row['outcome']}"


def faster(row: Row) -> str:
    """Returns the opposite of `slower`."""
    return "faster" if row["outcome"] == COMPLETION else f"better in {row['outcome']}"


def _bound(row: Row, limit: float) -> str:
    """States how far an outcome may get worse: by the same factor whichever way is better."""
    if row["better"] == "more":
        return f"at {word_level(row['better'], limit)} of the baseline or more"
    return f"within {word_level(row['better'], limit)} of the baseline"
