"""Figure `flow_rates`: the distribution (CDF) of the rates of flows, per point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowsweep.render import axes, distributions
from flowsweep.render.distributions.flows import draw_flows

if TYPE_CHECKING:
    from flowsweep.render.figure import Context, Figure

QUANTITY = distributions.Quantity(
    query="flow_rates",
    column="mbit_s",
    title="payload per second of a flow (bit/s)",
    counted="flows",
    labels=axes.prefix_labels,
    scale=1e06,
)


def draw(context: Context) -> Figure | None:
    """Draws how fast flows are."""
    return draw_flows(
        context,
        QUANTITY,
        "Payload divided by the duration of the direction; single packets have none and are left "
        "out.",
    )
