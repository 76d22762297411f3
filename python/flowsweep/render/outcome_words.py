"""Words outcomes: the completion time, and any other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowsweep.outcome_names import COMPLETION, word_level

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flowsweep.render.figure import Context

Row = dict[str, Any]


def noun(outcome: str) -> str:
    """What an outcome is called in a sentence."""
    return "completion time" if outcome == COMPLETION else outcome


def has_others(outcomes: Any) -> bool:
    """Whether some of these names are not the completion time."""
    return any(outcome != COMPLETION for outcome in outcomes)


def grows_better(rows: Iterable[Row]) -> bool:
    """Whether more is better of some outcome of these rows."""
    return any(row["better"] == "more" for row in rows)


#: What the two limits are where more is better; stands beside words that hold where less is.
MORE_IS_BETTER = "Where more is better, the limits are 91 % and 67 % of the baseline."


def is_timed(context: Context) -> bool:
    """Whether some application is judged by its completion time."""
    return COMPLETION in set(context.model("outcome_baselines")["outcome"])


def quantity(row: Row) -> str:
    """An outcome with its unit, as the head of a column or an axis."""
    unit = row["outcome_unit"]
    return f"{noun(row['outcome'])} ({unit})" if unit else noun(row["outcome"])


def word_tolerated(row: Row) -> str:
    """The end of "tolerates an RTT of about 10 ms ..."."""
    if row["outcome"] == COMPLETION:
        return "before it is 10 % slower"
    return f"with **{row['outcome']}** {_bound(row, 1.1)}"


def word_kept(row: Row) -> str:
    """The end of "needs about 10 Mbit/s ..."."""
    if row["outcome"] == COMPLETION:
        return "to stay within 10 % of its baseline time"
    return f"to keep **{row['outcome']}** {_bound(row, 1.1)}"


def word_stayed(row: Row, name: str, *, is_named: bool) -> str:
    """The beginning of "It stayed within 10 % at every rate tried"."""
    if row["outcome"] == COMPLETION:
        return f"{'It' if is_named else name} stayed within 10 %"
    return f"The **{row['outcome']}** of {name} stayed {_bound(row, 1.1)}"


#: How `severe` begins.
SEVERE = ("It is 50 %", "Its outcome ")


def word_severe(row: Row) -> str:
    """The beginning of "It is 50 % slower below 5 Mbit/s"."""
    if row["outcome"] == COMPLETION:
        return "It is 50 % slower"
    return f"Its outcome {row['outcome']} {_broken(row, 1.5)}"


def word_broken(row: Row) -> str:
    """The beginning of "It is 10 % slower at 16 ms and at every RTT beyond"."""
    if row["outcome"] == COMPLETION:
        return "It is 10 % slower"
    return f"Its outcome {row['outcome']} {_broken(row, 1.1)}"


def _broken(row: Row, limit: float) -> str:
    if row["better"] == "more":
        return f"falls below {word_level(row['better'], limit)} of its baseline"
    return f"is {word_level(row['better'], limit)} higher"


def slower(row: Row) -> str:
    """What becomes of an outcome that is so many times its baseline."""
    return "slower" if row["outcome"] == COMPLETION else f"worse in {row['outcome']}"


def faster(row: Row) -> str:
    """The other way round."""
    return "faster" if row["outcome"] == COMPLETION else f"better in {row['outcome']}"


def _bound(row: Row, limit: float) -> str:
    """How far it may get worse: by the same factor whichever way is better."""
    if row["better"] == "more":
        return f"at {word_level(row['better'], limit)} of the baseline or more"
    return f"within {word_level(row['better'], limit)} of the baseline"
