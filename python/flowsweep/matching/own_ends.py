"""Finds the hosts' own addresses and ports for connections that a router translates (NAT).

`match` writes its tables with the hosts' own addresses; `flows` has those of the capture. A packet
of a host is in both, with the same time, since both were read from the host's own capture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

ENDS = ["src_ip", "src_port", "dst_ip", "dst_port"]
SOURCE, TARGET = ENDS[:2], ENDS[2:]
#: Columns with the target's own address and port.
_OWN = ["own_ip", "own_port"]


def with_own_ends(flows: pl.DataFrame, fates: pl.LazyFrame) -> pl.DataFrame:
    """Replaces translated addresses and ports of TCP connections by those that `fates` has.

    A host is not translated in its own capture, only those that it talks to are. Connections for
    which more than one answer is possible stay as they are.

    Args:
        flows: Rows of a host's `flows`: `connection`, `direction`, the ends, both times.
        fates: The host's `fates`.
    """
    import polars as pl

    is_own = (pl.col("protocol") == "tcp") & pl.col("packet_sent").is_not_null()
    sent = fates.filter(is_own).select(*ENDS, "time_sent")
    known = sent.select(ENDS).unique().collect()
    translated = flows.join(known, on=ENDS, how="anti").join(known, on=SOURCE, how="semi")
    if translated.is_empty():
        return flows
    seen = sent.rename(dict(zip(TARGET, _OWN, strict=True)))
    first, last = (
        translated.lazy()
        .join(seen, left_on=[*SOURCE, time], right_on=[*SOURCE, "time_sent"])
        .select("connection", "direction", *_OWN)
        .unique()
        .collect()
        for time in ("first_time", "last_time")
    )
    answers = first.join(last, on=first.columns).unique(["connection", "direction"], keep="none")
    is_forward = pl.col("direction") == "forward"
    other = pl.when(is_forward).then(pl.lit("backward")).otherwise(pl.lit("forward"))
    found = flows
    for ends, rows in (
        (TARGET, answers),
        (SOURCE, answers.with_columns(other.alias("direction"))),
    ):
        found = found.join(
            rows, on=["connection", "direction"], how="left", maintain_order="left"
        ).with_columns(
            pl.coalesce(own, end).alias(end) for own, end in zip(_OWN, ends, strict=True)
        )
        found = found.drop(_OWN)
    return found
