"""Figure `think_times`: the distribution (CDF) of the time until an answer begins, per point."""

from __future__ import annotations

import polars as pl

from flowsweep import numbers
from flowsweep.render import axes, distributions
from flowsweep.render.figure import Context, Figure, sentence

QUANTITY = distributions.Quantity(
    query="think_times",
    column="time_s",
    title="time until the answer",
    counted="answers",
    parts="part",
    labels=axes.time_labels,
)


def draw(context: Context) -> Figure | None:
    """Draws how long answers take, where they are made and where they are awaited."""
    rows = context.rows(QUANTITY.query)
    if rows.is_empty():
        return None
    parted = rows.with_columns(part=pl.format("{}, answers {}", "side", "direction"))
    chart, drawn = distributions.chart(context, parted, QUANTITY)
    return Figure(
        name=QUANTITY.query,
        caption=sentence(
            f"{numbers.plural(int(rows['answers'].sum()), 'time')} from the end of a message to "
            "the start of the next in the other direction of its connection.",
            "Think: measured at the host that answers; wait: at the host that asked.",
            drawn,
        ),
        notes="Backward: answers of the host to which the connection was made; forward: what the "
        "other end sends next.",
        chart=chart,
        rows=rows,
    )
