"""Figure `flow_rates`: the distribution (CDF) of the rates of flows, per point."""

from __future__ import annotations

from flowsweep import numbers
from flowsweep.render import axes, distributions, doubts
from flowsweep.render.figure import Context, Figure, sentence

QUANTITY = distributions.Quantity(
    query="flow_rates",
    column="mbit_s",
    title="payload per second of a flow (bit/s)",
    of="flows",
    labels=axes.prefix_labels,
    scale=1e06,
)


def draw(context: Context) -> Figure | None:
    """How fast flows are."""
    rows = context.rows(QUANTITY.query)
    if distributions.are_few(rows, "of_flows"):
        return None
    chart, drawn = distributions.chart(context, rows, QUANTITY)
    flows, censored = int(rows["flows"].sum()), int(rows["censored_flows"].sum())
    return Figure(
        name=QUANTITY.query,
        caption=sentence(
            f"{numbers.plural(flows, 'flow direction')} of all hosts, each once; forward: from "
            "the initiator of the connection.",
            "Payload divided by the duration of the direction; single packets have none and are "
            "left out.",
            drawn,
            distributions.censored(censored),
            doubts.note_traffic(context),
        ),
        chart=chart,
        rows=rows,
    )
