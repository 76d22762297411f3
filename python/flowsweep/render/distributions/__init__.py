"""Distribution functions (CDF) over the points of a sweep.

A panel for each axis with a curve for each of its points; a panel for each point or run where no
axis was varied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowsweep import numbers
from flowsweep.render.distributions import families, multiples
from flowsweep.render.distributions.pools import Pool, kept, pools, select_pool
from flowsweep.render.distributions.quantity import Quantity, log_ends

if TYPE_CHECKING:
    import polars as pl

    from flowsweep.render.figure import Context

__all__ = ["Pool", "Quantity", "censored", "chart", "kept", "log_ends", "pools", "select_pool"]


def chart(context: Context, rows: pl.DataFrame, quantity: Quantity) -> tuple[Any, str]:
    """The panels, and the sentences that explain them and name what is not drawn.

    Args:
        context: Knows points and applications.
        rows: Steps of the distributions; not empty.
        quantity: What they are of.
    """
    return families.chart(context, rows, quantity) or multiples.chart(context, rows, quantity)


def censored(flows: int) -> str | None:
    """What the distribution does not know of flows that the capture does not show whole."""
    if not flows:
        return None
    return (
        f"{numbers.plural(flows, 'flow direction')} without SYN, or without FIN and RST (UDP has "
        "neither): begun before or open at the end of the capture, counted with what was seen."
    )
