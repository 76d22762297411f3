"""Figure `outcome_slowdowns`: outcomes besides completion time along every axis of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowsweep.render import outcome_words
from flowsweep.render.figures import completion

if TYPE_CHECKING:
    from flowsweep.render.figure import Context, Figure

QUERY = "outcome_slowdowns"


def heading(context: Context) -> str:
    """Names what is drawn; `other` outcomes if completion time has figures of its own."""
    other = "other " if outcome_words.is_timed(context) else ""
    return f"How {other}outcomes react to every axis"


def draw(context: Context) -> Figure | None:
    """Draws how many times worse each outcome gets."""
    return completion.draw_outcomes(context, QUERY)
