"""Distribution functions (CDF) over the points of a sweep.

There is a panel for each axis with a curve for each of its points, or for each point or run if no
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

__all__ = [
    "Pool",
    "Quantity",
    "censored",
    "chart",
    "is_small_sample",
    "kept",
    "log_ends",
    "pools",
    "select_pool",
]

#: Fewer values do not show the shape of a distribution.
LEAST_VALUES = 20


def is_small_sample(rows: pl.DataFrame, counted: str) -> bool:
    """Returns whether no curve has enough values for the shape of a distribution.

    Args:
        rows: Steps of the distributions; may be empty.
        counted: The column with the number of values behind each curve.
    """
    return rows.is_empty() or int(rows[counted].max()) < LEAST_VALUES  # type: ignore[arg-type]


def chart(context: Context, rows: pl.DataFrame, quantity: Quantity) -> tuple[Any, str]:
    """Returns the panels, and sentences that explain them and what is not drawn.

    Args:
        context: Provides points and applications.
        rows: Steps of the distributions; not empty.
        quantity: The quantity that is distributed.
    """
    return families.chart(context, rows, quantity) or multiples.chart(context, rows, quantity)


def censored(flows: int) -> str | None:
    """States how many flows the capture lacks part of, so that their sizes are lower bounds."""
    if not flows:
        return None
    return (
        f"{numbers.plural(flows, 'flow direction')} without SYN, or without FIN and RST (UDP has "
        "neither): begun before or open at the end of the capture, counted with what was seen."
    )
