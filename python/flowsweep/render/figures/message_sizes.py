"""Figure `message_sizes`: the distribution (CDF) of the payload of messages, per point."""

from __future__ import annotations

from flowsweep import numbers
from flowsweep.render import axes, distributions
from flowsweep.render.figure import Context, Figure, sentence

QUANTITY = distributions.Quantity(
    query="message_sizes",
    column="bytes",
    title="payload of a message (bytes)",
    counted="messages",
    labels=axes.prefix_labels,
)


def draw(context: Context) -> Figure | None:
    """Draws how large messages are."""
    rows = context.rows(QUANTITY.query)
    if rows.is_empty():
        return None
    chart, drawn = distributions.chart(context, rows, QUANTITY)
    return Figure(
        name=QUANTITY.query,
        caption=sentence(
            f"{numbers.plural(int(rows['messages'].sum()), 'message')} as in the figure above; "
            "forward: from the initiator of the connection.",
            "Sizes are upper bounds: writes that were queued together are one message.",
            drawn,
        ),
        chart=chart,
        rows=rows,
    )
