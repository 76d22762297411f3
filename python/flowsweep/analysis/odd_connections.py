"""Counts connections that look recorded twice, or that lack one direction.

`flowsweep show` uses these counts; `reports/facts/odd_connections.sql` computes the same ones for
the report.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

#: Connections with the same ends use the same ports.
ENDS = ("src_ip", "src_port", "dst_ip", "dst_port", "vlan", "tunnel", "tunnel_id")
#: Columns of a direction that are equal in two recordings of one connection.
SIZES = ("packets", "ip_bytes", "payload_bytes")
#: Two recordings of one connection differ in its times by no more than this.
JITTER = timedelta(milliseconds=1)
#: A second recording begins no later than this after the first.
SOON = timedelta(seconds=1)
#: Connections of fewer packets may be alike by chance.
TELLING_PACKETS = 10


def count(flows: pl.DataFrame) -> dict[str, int]:
    """Counts the odd TCP connections of one capture, and those of UDP on both sides of a NAT.

    Args:
        flows: The table `flows`.

    Returns:
        `one_way_connections` have packets in one direction alone, and not only SYN and RST;
        `translated_connections` have the sizes and times of another one, and a different address at
        one end; `simultaneous_connections` begin before an earlier one on the same ports ended;
        `alike_connections` have the sizes and the duration of the one before on the same ports.
    """
    import polars as pl

    connections = _describe_connections(flows.filter(protocol="tcp"))
    # One sender of datagrams to several receivers is no translation.
    datagrams = _describe_connections(flows.filter(protocol="udp")).filter("is_answered")
    shared = _select_shared(connections, ENDS).with_columns(
        ended=pl.col("last_time").cum_max().shift(1).over(ENDS),
        since=pl.col("first_time").diff().over(ENDS),
        before=pl.col("sizes").shift(1).over(ENDS),
        longer=(pl.col("last_time") - pl.col("first_time")).diff().over(ENDS),
    )
    # A second recording has the same duration. Refused connections are alike anyway: no payload.
    is_alike = (
        (pl.col("payload_bytes") > 0)
        & (pl.col("sizes") == pl.col("before"))
        & (pl.col("since") <= SOON)
        & (pl.col("longer").abs() <= JITTER)
    )
    return {
        "one_way_connections": connections.filter("is_one_way").height,
        "translated_connections": sum(map(_count_translated, (connections, datagrams))),
        "simultaneous_connections": shared.filter(pl.col("first_time") < pl.col("ended")).height,
        "alike_connections": shared.filter(is_alike).height,
    }


def count_reused_ports(flows: pl.DataFrame) -> int:
    """Counts TCP connections that begin after an earlier one on the same ports ended."""
    import polars as pl

    shared = _select_shared(_describe_connections(flows.filter(protocol="tcp")), ENDS)
    ended = pl.col("last_time").cum_max().shift(1).over(ENDS)
    return shared.filter(pl.col("first_time") >= ended).height


def _describe_connections(flows: pl.DataFrame) -> pl.DataFrame:
    """Returns one row per connection, in the order in which they began."""
    import polars as pl

    rows = flows.with_columns(
        has_packets=pl.col("packets") > 0,
        goes_on=pl.col("packets") > pl.col("syn_packets") + pl.col("rst_packets"),
    )
    forward, backward = (rows.filter(direction=way) for way in ("forward", "backward"))
    return (
        forward.join(backward, on="connection", how="full", coalesce=True, suffix="_back")
        .select(
            "connection",
            *ENDS,
            pl.min_horizontal("first_time", "first_time_back"),
            pl.max_horizontal("last_time", "last_time_back"),
            pl.sum_horizontal("packets", "packets_back"),
            pl.sum_horizontal("payload_bytes", "payload_bytes_back"),
            sizes=pl.struct(*SIZES, *(f"{name}_back" for name in SIZES)),
            is_one_way=pl.sum_horizontal("has_packets", "has_packets_back").eq(1)
            & pl.any_horizontal("goes_on", "goes_on_back"),
            is_answered=pl.col("packets_back") > 0,
        )
        .sort("first_time", "connection")
    )


def _select_shared(connections: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Selects the connections that have these columns in common with another one."""
    import polars as pl

    return connections.filter(pl.struct(columns).is_duplicated())


def _count_translated(connections: pl.DataFrame) -> int:
    import polars as pl

    large = connections.filter(pl.col("packets") >= TELLING_PACKETS, pl.col("payload_bytes") > 0)
    found = set()
    for kept, changed in (("src", "dst_ip"), ("dst", "src_ip")):
        columns = [f"{kept}_ip", f"{kept}_port", "sizes"]
        is_together = pl.all_horizontal(
            pl.col("first_time", "last_time").diff().over(columns).abs() <= JITTER
        )
        is_other = pl.col(changed) != pl.col(changed).shift(1).over(columns)
        shared = _select_shared(large, columns)
        found |= set(shared.filter(is_together, is_other)["connection"])
    return len(found)
