"""Divides the room of a figure or table fairly, and states what is not shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowsweep import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence


def share_room(wanted: Sequence[int], room: int) -> list[int]:
    """Divides `room` places among claimants by the number that each wants.

    Each gets at least one, even if that exceeds `room`; places that some do not want go to those
    that want more.
    """
    given = [min(one, 1) for one in wanted]
    left = room - sum(given)
    while left > 0:
        short = [place for place, one in enumerate(wanted) if given[place] < one]
        if not short:
            break
        each = max(left // len(short), 1)
        for place in short[:left]:
            more = min(each, wanted[place] - given[place])
            given[place] += more
            left -= more
    return given


def choose_evenly(total: int, room: int) -> list[int]:
    """Chooses at most `room` of `total` places, evenly; the first, the baseline, is among them."""
    if total <= room:
        return list(range(total))
    if room == 1:
        return [0]
    step = (total - 1) / (room - 1)
    return [round(number * step) for number in range(room)]


def describe(shown: int, total: int, noun: str, query: str) -> str | None:
    """Returns `60 of 180 rows; all: flowsweep query NAME DIR`; None if all are shown.

    Args:
        shown: How many are shown.
        total: How many there are.
        noun: What they are, in the plural.
        query: The query that returns all of them.
    """
    if shown >= total:
        return None
    return (
        f"{numbers.count(shown)} of {numbers.count(total)} {noun}; "
        f"all: flowsweep query {query} DIR."
    )
