"""Makes the tables `flows` and `captures` from Zeek's `conn.log`; columns that it lacks are null.

Zeek's columns: https://docs.zeek.org/en/master/scripts/base/protocols/conn/main.zeek.html.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from flowsweep import _parsers
from flowsweep.zeek import columns, kinds

#: Columns of `conn.log` that are appended to those of our table.
OWN = ("uid", "conn_state", "history", "missed_bytes", "community_id", "tunnel_parents")
#: Columns that flows require.
NEEDED: dict[str, columns.Type] = {
    "ts": kinds.TIME,
    "uid": pl.String,
    "id.orig_h": pl.String,
    "id.orig_p": pl.UInt16,
    "id.resp_h": pl.String,
    "id.resp_p": pl.UInt16,
    "proto": pl.String,
    "orig_pkts": pl.Int64,
    "resp_pkts": pl.Int64,
    "orig_ip_bytes": pl.Int64,
    "resp_ip_bytes": pl.Int64,
}
#: Columns that may be missing, for example in older versions of Zeek or by its settings.
OPTIONAL: dict[str, columns.Type] = {
    "duration": pl.Duration("ns"),
    "orig_bytes": pl.Int64,
    "resp_bytes": pl.Int64,
    "history": pl.String,
    "conn_state": pl.String,
    "missed_bytes": pl.Int64,
    "community_id": pl.String,
    "tunnel_parents": pl.List(pl.String),
    "ip_proto": pl.Int64,
    "vlan": pl.Int32,
}
TYPES: dict[str, columns.Type] = {
    "int64": pl.Int64,
    "int32": pl.Int32,
    "bool": pl.Boolean,
    "text": pl.String,
    "time": kinds.TIME,
}
#: Names of protocols by number, as in the native parser's table.
PROTOCOLS = {number: _parsers.protocol(number) for number in range(256)}


def flows(conn: pl.DataFrame, place: str) -> pl.DataFrame:
    """Returns the table `flows`: one row for each connection and direction that sent a packet.

    The times of a direction are those of its connection, as `conn.log` has no others.

    Args:
        conn: Rows of `conn.log`, as `convert` writes them.
        place: The name of the log in errors.

    Raises:
        FlowsweepError: Needed columns are missing or have other types.
    """
    # Sorted by the first packet; equal times in the order of the log.
    complete = columns.select_typed(conn, NEEDED, place, OPTIONAL)
    numbered = complete.sort("ts", maintain_order=True).with_row_index("connection")
    sides = [_direction(numbered, "forward"), _direction(numbered, "backward")]
    both = pl.concat(sides).sort("connection", "is_backward", maintain_order=True)
    return both.select(*columns_of("flows", both.columns), *OWN)


def captures(flow_rows: pl.DataFrame, file: str, dropped: int | None = None) -> pl.DataFrame:
    """Returns the table `captures`: one row for the log, with the packets of its connections.

    Args:
        flow_rows: The table `flows` of the log.
        file: The name of the log.
        dropped: Packets that never reached Zeek; None if unknown.
    """
    first, last = flow_rows["first_time"].min(), flow_rows["last_time"].max()
    packets = int(flow_rows["packets"].sum())
    row = pl.DataFrame(
        {
            "file": [file],
            "interface": [0],
            "packets": [packets],
            "first_time": [first],
            "last_time": [last],
            "dropped_kernel": [dropped],
        },
        schema_overrides={
            "first_time": kinds.TIME,
            "last_time": kinds.TIME,
            "dropped_kernel": pl.Int64,
        },
    )
    return row.select(columns_of("captures", row.columns))


def columns_of(table: str, known: Sequence[str]) -> list[pl.Expr]:
    """Returns the columns of one of the parser's tables; those that `known` lacks are null."""
    found = []
    for name, kind, *_ in _parsers.columns(table):
        column = pl.col(name) if name in known else pl.lit(None)
        found.append(column.cast(TYPES[kind]).alias(name))
    return found


def _direction(conn: pl.DataFrame, direction: str) -> pl.DataFrame:
    """Returns the rows of this direction, for connections with packets in it."""
    is_backward = direction == "backward"
    here, there = ("resp", "orig") if is_backward else ("orig", "resp")
    protocol, history = _protocol(), pl.col("history")
    has_ports = protocol.is_in(["tcp", "udp"])
    is_tcp = (protocol == "tcp") & history.is_not_null()
    fin = history.str.contains("f" if is_backward else "F", literal=True)
    # Zeek computes TCP bytes from sequence numbers, which a stray RST may falsify.
    payload, ip_bytes = pl.col(f"{here}_bytes"), pl.col(f"{here}_ip_bytes")
    is_impossible = is_tcp & (payload > ip_bytes + pl.col("missed_bytes").fill_null(0))
    lasted = pl.col("duration").fill_null(pl.duration(nanoseconds=0))

    def port(side: str) -> pl.Expr:
        return pl.when(has_ports).then(pl.col(f"id.{side}_p").cast(pl.Int32))

    return conn.filter(pl.col(f"{here}_pkts") > 0).select(
        "connection",
        pl.lit(direction).alias("direction"),
        pl.lit(is_backward).alias("is_backward"),
        protocol.alias("protocol"),
        pl.col(f"id.{here}_h").alias("src_ip"),
        port(here).alias("src_port"),
        pl.col(f"id.{there}_h").alias("dst_ip"),
        port(there).alias("dst_port"),
        "vlan",
        pl.col("ts").alias("first_time"),
        (pl.col("ts") + lasted).alias("last_time"),
        lasted.dt.total_nanoseconds().alias("duration_ns"),
        pl.col(f"{here}_pkts").alias("packets"),
        ip_bytes.alias("ip_bytes"),
        pl.when(~is_impossible.fill_null(value=False)).then(payload).alias("payload_bytes"),
        pl.when(is_tcp)
        .then(
            pl.when(history.str.contains("[SsHh]"))
            .then(pl.lit("syn"))
            .otherwise(pl.lit("midstream"))
        )
        .alias("start"),
        pl.when(is_tcp)
        .then(
            pl.when(history.str.contains("[Rr]"))
            .then(pl.lit("rst"))
            .when(fin)
            .then(pl.lit("fin"))
            .otherwise(pl.lit("open"))
        )
        .alias("end"),
        "uid",
        "conn_state",
        "history",
        "missed_bytes",
        "community_id",
        # An empty set means the same as null: the connection is in no tunnel.
        pl.when(pl.col("tunnel_parents").list.len() > 0)
        .then(pl.col("tunnel_parents").list.join(" "))
        .alias("tunnel_parents"),
    )


def _protocol() -> pl.Expr:
    """Returns our name of the protocol, from its number; logs before Zeek 7.1 lack the number."""
    named = pl.col("ip_proto").replace_strict(PROTOCOLS, default=None)
    is_v6 = pl.col("id.orig_h").str.contains(":", literal=True)
    icmp = pl.when(is_v6).then(pl.lit("icmpv6")).otherwise(pl.lit("icmp"))
    own = pl.when(pl.col("proto") == "icmp").then(icmp).otherwise(pl.col("proto"))
    return pl.coalesce(named, own)


def display_name(path: Path) -> str:
    """Returns the name of a file in tables, as for captures."""
    return path.name
