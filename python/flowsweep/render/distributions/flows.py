"""Draws the distributions of flows over the points of a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowsweep import numbers
from flowsweep.render import distributions, doubts
from flowsweep.render.figure import Figure, sentence

if TYPE_CHECKING:
    from flowsweep.render.distributions import Quantity
    from flowsweep.render.figure import Context


def draw_flows(
    context: Context, quantity: Quantity, explanation: str | None = None
) -> Figure | None:
    """Draws a quantity of flows; None if there are too few flows.

    Args:
        context: Answers the quantity's query.
        quantity: The quantity that is distributed.
        explanation: A sentence on how it is computed.
    """
    rows = context.rows(quantity.query)
    if distributions.is_small_sample(rows, "of_flows"):
        return None
    chart, drawn = distributions.chart(context, rows, quantity)
    flows, censored = int(rows["flows"].sum()), int(rows["censored_flows"].sum())
    return Figure(
        name=quantity.query,
        caption=sentence(
            f"{numbers.plural(flows, 'flow direction')} of all hosts, each once; forward: from "
            "the initiator of the connection.",
            explanation,
            drawn,
            distributions.censored(censored),
            doubts.note_traffic(context),
        ),
        chart=chart,
        rows=rows,
    )
