"""Counts TCP connections that look recorded twice, or of which one direction is missing.

`flowsweep show` uses these counts; `reports/facts/odd_connections.sql` makes the same ones for the
report.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

#: Connections with the same ends use the same ports.
ENDS = ("src_ip", "src_port", "dst_ip", "dst_port", "vlan", "tunnel", "tunnel_id")
#: Columns of a direction that are equal in two recordings of one connection.
SIZES = ("direction", "packets", "ip_bytes", "payload_bytes")
#: Two recordings of one connection differ in its times by no more than this.
JITTER = timedelta(milliseconds=1)
#: A second recording begins no later than this after the first.
SOON = timedelta(seconds=1)
#: Connections of fewer packets may be alike by chance.
TELLING_PACKETS = 10


def count(flows: pl.DataFrame) -> dict[str, int]:
    """Counts the odd TCP connections of one capture.

    Args:
        flows: The table `flows`.

    Returns:
        `one_way_connections` have packets of one direction alone, and more than attempts;
        `translated_connections` have the sizes and times of another one, and another address at
        one end; `simultaneous_connections` begin before an earlier one on the same ports ended;
        `alike_connections` have the sizes and the duration of the one before on the same ports.
    """
    import polars as pl

    connections = _describe_connections(flows)
    shared = connections.with_columns(
        ended=pl.col("last_time").cum_max().shift(1).over(*ENDS),
        since=pl.col("first_time").diff().over(*ENDS),
        before=pl.col("sizes").shift(1).over(*ENDS),
        longer=(pl.col("last_time") - pl.col("first_time")).diff().over(*ENDS),
    )
    # A recording keeps the times; a refused connection looks like any other attempt.
    is_alike = (
        (pl.col("payload_bytes") > 0)
        & (pl.col("sizes") == pl.col("before"))
        & (pl.col("since") <= SOON)
        & (pl.col("longer").abs() <= JITTER)
    )
    return {
        "one_way_connections": connections.filter("is_one_way").height,
        "translated_connections": _count_translated(connections),
        "simultaneous_connections": shared.filter(pl.col("first_time") < pl.col("ended")).height,
        "alike_connections": shared.filter(is_alike).height,
    }


def count_reused_ports(flows: pl.DataFrame) -> int:
    """Counts TCP connections that begin after an earlier one on the same ports ended."""
    import polars as pl

    ended = pl.col("last_time").cum_max().shift(1).over(*ENDS)
    return _describe_connections(flows).filter(pl.col("first_time") >= ended).height


def _describe_connections(flows: pl.DataFrame) -> pl.DataFrame:
    """Makes one row per TCP connection, in order of their beginning."""
    import polars as pl

    has_packets = pl.col("packets") > 0
    goes_on = pl.col("packets") > pl.col("syn_packets") + pl.col("rst_packets")
    return (
        flows.filter(protocol="tcp")
        .group_by("connection")
        .agg(
            pl.col(*ENDS).filter(pl.col("direction") == "forward").first(),
            pl.col("first_time").min(),
            pl.col("last_time").max(),
            pl.struct(*SIZES).sort_by("direction").alias("sizes"),
            pl.col("packets", "payload_bytes").sum(),
            is_one_way=(has_packets.sum() == 1) & goes_on.any(),
        )
        .sort("first_time", "connection")
    )


def _count_translated(connections: pl.DataFrame) -> int:
    import polars as pl

    large = connections.filter(pl.col("packets") >= TELLING_PACKETS, pl.col("payload_bytes") > 0)
    found = set()
    for kept, changed in (("src", "dst_ip"), ("dst", "src_ip")):
        alike = [f"{kept}_ip", f"{kept}_port", "sizes"]
        is_together = pl.all_horizontal(
            pl.col("first_time", "last_time").diff().over(alike).abs() <= JITTER
        )
        is_other = pl.col(changed) != pl.col(changed).shift(1).over(alike)
        found |= set(large.filter(is_together, is_other)["connection"])
    return len(found)
