"""Figure `outcome_slowdowns`: outcomes besides completion time along every axis of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowsweep.render import outcome_words
from flowsweep.render.figures import completion

if TYPE_CHECKING:
    from flowsweep.render.figure import Context, Figure

QUERY = "outcome_slowdowns"


def heading(context: Context) -> str:
    """What is drawn, beside completion time where that is."""
    other = "other " if outcome_words.is_timed(context) else ""
    return f"How {other}outcomes react to every axis"


def draw(context: Context) -> Figure | None:
    """How many times worse each of them gets."""
    return completion.draw_outcomes(context, QUERY)
