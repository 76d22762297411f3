"""Explains counts of a capture that a reader may not expect."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from flowsweep.units import counted

if TYPE_CHECKING:
    import polars as pl

#: Columns of `flows` that tell connections apart, but for those that share their ports.
ENDS = ("src_ip", "src_port", "dst_ip", "dst_port", "vlan", "tunnel", "tunnel_id")

#: Columns of a direction that two recordings of one connection have in common.
SIZES = ("direction", "packets", "wire_bytes", "payload_bytes")
#: And the time that it lasts, but for so much.
JITTER = timedelta(milliseconds=1)
#: Connections of fewer packets may be alike by chance.
TELLING_PACKETS = 10


def find(captures: pl.DataFrame, flows: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """Level (`ok`, or `note` where something is odd) and text of each remark.

    Args:
        captures: The table `captures`.
        flows: The table `flows`.
    """
    fcs = int(captures["fcs_bytes"].max() or 0)  # type: ignore[arg-type]
    if fcs:
        yield "ok", f"packets end with {fcs} B of frame check sequence, which no length counts"
    alone = _count_one_way(flows)
    if alone:
        text = (
            f"{counted(alone, 'TCP connection')} with packets of one direction alone: what came"
            " back and round-trip times are unknown"
        )
        yield "note", text
    translated = _count_translated(flows)
    if translated:
        text = (
            f"{counted(translated, 'TCP connection')} with the packets, bytes and times of another"
            " one, and another address at one end: captured on both sides of an address"
            " translation (NAT)? Rates and totals then count it twice"
        )
        yield "note", text
    again, together, alike = _count_shared_ports(flows)
    if again:
        yield "ok", f"{counted(again, 'connection')} on ports that an earlier one used"
    if alike:
        text = (
            f"{counted(alike, 'connection')} with the same packets, bytes and duration as the one"
            " before on the same ports, less than a second later: may have been recorded twice"
        )
        yield "note", text
    if together:
        text = (
            f"{counted(together, 'connection')} on the ports of another one at the same time: does"
            " a firewall between two places that were captured rewrite sequence numbers?"
        )
        yield "note", text
    probes = int(window_probes(flows).sum())
    if probes:
        yield (
            "ok",
            f"{counted(probes, 'window probe')}; a byte of a probe that is sent again is no loss",
        )


def window_probes(flows: pl.DataFrame) -> pl.Series:
    """Of each row of `flows`: its window probes; 0 in tables that do not know them."""
    import polars as pl

    known = "window_probes" in flows.columns
    return flows["window_probes"].fill_null(0) if known else pl.zeros(flows.height, eager=True)


def _count_one_way(flows: pl.DataFrame) -> int:
    """Counts TCP connections of which one side's packets are missing, though it answered."""
    import polars as pl

    sides = flows.filter(protocol="tcp").filter(pl.col("packets") > 0)
    attempts = pl.col("syn_packets") + pl.col("rst_packets")
    return (
        sides.group_by("connection")
        .agg(pl.len(), goes_on=(pl.col("packets") > attempts).any())
        .filter(len=1, goes_on=True)
        .height
    )


def _count_translated(flows: pl.DataFrame) -> int:
    """Counts TCP connections that are another one under another address of one end."""
    import polars as pl

    forward = pl.col("direction") == "forward"
    connections = (
        flows.filter(protocol="tcp")
        .group_by("connection")
        .agg(
            pl.col("src_ip", "src_port", "dst_ip", "dst_port").filter(forward).first(),
            pl.col("first_time").min(),
            pl.col("last_time").max(),
            pl.struct("direction", "packets", "ip_bytes", "payload_bytes")
            .sort_by("direction")
            .alias("sizes"),
            pl.col("packets", "payload_bytes").sum(),
        )
        .filter(pl.col("packets") >= TELLING_PACKETS, pl.col("payload_bytes") > 0)
        .sort("first_time", "connection")
    )
    found = set()
    for kept, changed in (("src", "dst_ip"), ("dst", "src_ip")):
        alike = [f"{kept}_ip", f"{kept}_port", "sizes"]
        times = pl.col("first_time", "last_time").diff().over(alike).abs() <= JITTER
        is_other = pl.col(changed) != pl.col(changed).shift(1).over(alike)
        found |= set(connections.filter(times, is_other)["connection"])
    return len(found)


def _count_shared_ports(flows: pl.DataFrame) -> tuple[int, int, int]:
    """Counts TCP connections that use the ports of an earlier one.

    Returns:
        Those that begin after its end, those that begin before it, and those of both that have the
        same packets and bytes, last as long, and begin less than a second after it.
    """
    import polars as pl

    forward = pl.col("direction") == "forward"
    connections = (
        flows.filter(protocol="tcp")
        .group_by("connection")
        .agg(
            pl.col(*ENDS).filter(forward).first(),
            pl.col("first_time").min(),
            pl.col("last_time").max(),
            pl.struct(*SIZES).sort_by("direction").alias("sizes"),
            carries=pl.col("payload_bytes").sum() > 0,
        )
        .sort("first_time", "connection")
        .with_columns(
            ended=pl.col("last_time").cum_max().shift(1).over(*ENDS),
            since=pl.col("first_time").diff().over(*ENDS),
            before=pl.col("sizes").shift(1).over(*ENDS),
            lasted=pl.col("last_time") - pl.col("first_time"),
        )
        .with_columns(difference=pl.col("lasted").diff().over(*ENDS))
    )
    shared = connections.filter(pl.col("ended").is_not_null())
    together = shared.filter(pl.col("first_time") < pl.col("ended")).height
    soon = pl.col("since") <= timedelta(seconds=1)
    # A recording keeps the times; a refused connection looks like any other attempt.
    timed = pl.col("carries") & (pl.col("difference").abs() <= JITTER)
    alike = shared.filter(soon & timed & (pl.col("sizes") == pl.col("before"))).height
    return shared.height - together, together, alike
