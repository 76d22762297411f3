"""Figure `flow_durations`: the distribution (CDF) of how long flows last, per point."""

from __future__ import annotations

from flowsweep import numbers
from flowsweep.render import axes, distributions, doubts
from flowsweep.render.figure import Context, Figure, sentence

QUANTITY = distributions.Quantity(
    query="flow_durations",
    column="duration_s",
    title="duration",
    of="flows",
    labels=axes.time_labels,
    scale=1,
)


def draw(context: Context) -> Figure | None:
    """How long flows last."""
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
            drawn,
            distributions.censored(censored),
            doubts.note_traffic(context),
        ),
        chart=chart,
        rows=rows,
    )
