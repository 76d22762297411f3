"""Rules for the names of outcomes, and text on outcomes that several modules share."""

from __future__ import annotations

from typing import Literal

#: The outcome that a run's record gives as `completion_s`; it comes first.
COMPLETION = "completion_time"
PATTERN = r"^[a-z][a-z0-9_]{0,39}$"
#: What is wrong with a negative value, and what is right.
BELOW = "is below 0, where nothing can be said to be so many times worse"
NOT_BELOW = "0 or more; in place of a logarithm or a difference, the values that it is made of"
MOST = 32
MOST_UNIT = 20

Better = Literal["less", "more"]


def word_level(better: Better, slowdown: float) -> str:
    """Writes a slowdown as a share: `10 %` worse, or down to `91 %` where more is better."""
    share = 1 / slowdown if better == "more" else slowdown - 1
    return f"{100 * share:.0f} %"
