"""The rule for the name of an outcome, and what every part writes of it."""

from __future__ import annotations

from typing import Literal

#: The first outcome of a run that has one: `completion_s` in its record.
COMPLETION = "completion_time"
PATTERN = r"^[a-z][a-z0-9_]{0,39}$"
MOST = 32
MOST_UNIT = 20

Better = Literal["less", "more"]


def word_level(better: Better, slowdown: float) -> str:
    """Writes how far an outcome gets: `10 %` worse, or to `91 %` where more is better."""
    share = 1 / slowdown if better == "more" else slowdown - 1
    return f"{100 * share:.0f} %"
