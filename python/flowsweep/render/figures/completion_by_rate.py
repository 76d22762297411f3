"""Figure `completion_by_rate`: completion time against the rate of the link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowsweep.experiment.axes import AXES
from flowsweep.render import completion

if TYPE_CHECKING:
    from flowsweep.render.figure import Context, Figure


def draw(context: Context) -> Figure | None:
    """Draws the curve of the slowdown with the thresholds on it."""
    return completion.figure(context, AXES["rate"])
