"""Figure `flow_durations`: the distribution (CDF) of how long flows last, per point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowsweep.render import axes, distributions
from flowsweep.render.distributions.flows import draw_flows

if TYPE_CHECKING:
    from flowsweep.render.figure import Context, Figure

QUANTITY = distributions.Quantity(
    query="flow_durations",
    column="duration_s",
    title="duration",
    counted="flows",
    labels=axes.time_labels,
    scale=1,
)


def draw(context: Context) -> Figure | None:
    """Draws how long flows last."""
    return draw_flows(context, QUANTITY)
