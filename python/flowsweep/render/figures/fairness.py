"""Table `fairness`: what a TCP flow gets beside a transfer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from flowsweep import numbers
from flowsweep.render.point_rows import labelled_rows
from flowsweep.render.tables import Column, application, figures, table

if TYPE_CHECKING:
    from markupsafe import Markup

    from flowsweep.render.figure import Context


def draw(context: Context) -> Markup | None:
    """Makes a row per point: what a TCP flow gets beside a transfer."""
    frame = context.rows("fairness")
    if frame.is_empty():
        return None
    rows = labelled_rows(context, frame, ["transport"])
    columns = [application(context, rows, once=True, brief=True)]
    columns += [
        Column("point", [row["point"] for row in rows], is_number=False),
        Column("transfer by", [row["transport"] for row in rows], is_number=False),
        figures("transfer", [row["transfer_mbit_s"] for row in rows], "Mbit/s"),
        figures("TCP beside it", [row["beside_mbit_s"] for row in rows], "Mbit/s"),
        figures("alone", [row["tcp_alone_mbit_s"] for row in rows], "TCP at such a point"),
        figures("beside TCP", [row["tcp_beside_tcp_mbit_s"] for row in rows],
                "TCP at such a point"),
        Column("share of TCP", [numbers.share(row["beside_share"]) for row in rows]),
        Column("index", [numbers.fixed(row["jain_index"], 2) for row in rows]),
        Column("runs", [numbers.count(row["streams"]) for row in rows]),
    ]  # fmt: skip
    return table("fairness", columns)


def heading(context: Context) -> str:
    """States the answer: TCP's share of both, over all points."""
    frame = context.rows("fairness")
    parts = []
    for transport in dict.fromkeys(frame["transport"]):
        shares = frame.filter(pl.col("transport") == transport)["beside_share"].drop_nulls().sort()
        if len(shares):
            low, high = numbers.share(shares[0]), numbers.share(shares[-1])
            between = low if low == high else f"{low} to {high}"
            parts.append(f"beside {transport} {between}")
    return f"Is it fair? A TCP flow gets, of what both get, {'; '.join(parts)}"
