"""Computes rates where offloading merged packets, and the shortest bins whose rate is known.

Packets without a time of their own (`count_borrowed`) leave no bin's rate known.

The fact `shortest_bins` and the model `paced_throughput` of the report compute the same in SQL, for
many captures at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

#: The most TCP payload bytes in a packet on Ethernet, unless a host announced more, and the most
#: bytes of headers and options before them.
LEAST_MSS, HEADERS = 1460, 140
#: A host with more to send is not silent for longer; only this much of a silence enters the rate.
SILENCE_NS = 1_000_000_000


@dataclass(frozen=True)
class Merged:
    """The largest merged packet of a direction, and the shortest bins whose rate it leaves known.

    Attributes:
        largest_bytes: Its length.
        shortest_ns: The shortest time whose rate is known: its duration at its direction's rate.
    """

    largest_bytes: int
    shortest_ns: int


def count_borrowed(captures: pl.DataFrame) -> int:
    """Counts the packets of the table `captures` that carry the time of another packet."""
    columns = ("untimed_packets", "times_out_of_range")
    return sum(int(captures[name].sum()) for name in columns if name in captures.columns)


def is_local() -> pl.Expr:
    """Returns whether a host sends a row's packets to itself: no network carries them."""
    import polars as pl

    return (pl.col("src_ip") == pl.col("dst_ip")) | pl.any_horizontal(
        pl.col("src_ip", "dst_ip").str.contains(r"^(127\.|::1$)")
    )


def find_merged(
    captures: pl.DataFrame, flows: pl.DataFrame, bins: pl.DataFrame, own_addresses: list[str]
) -> dict[str, Merged]:
    """Finds the merged packets of each direction, out of the host or in, that has some.

    A merged packet passes the capture point at once and takes its time on the wire, at the rate of
    its direction. Silences are no part of that rate: they may last years where a clock was set.

    Args:
        captures: The table `captures`.
        flows: The table `flows`.
        bins: The table `throughput`.
        own_addresses: Addresses of the capturing host.
    """
    import polars as pl

    if not captures["super_packets"].sum():
        return {}
    flows, bins = flows.filter(~is_local()), bins.filter(~is_local())
    found: dict[str, Merged] = {}
    for way, end in (("out", "src_ip"), ("in", "dst_ip")):
        own = flows.filter(pl.col(end).is_in(own_addresses))
        if way == "in":
            own = own.filter(~pl.col("src_ip").is_in(own_addresses))
        if own.is_empty():
            continue
        mss = max(int(own["mss"].max() or 0), LEAST_MSS)  # type: ignore[arg-type]
        own_bins = bins.filter(pl.col(end).is_in(own_addresses))
        if way == "in":
            own_bins = own_bins.filter(~pl.col("src_ip").is_in(own_addresses))
        largest = _find_largest(own, own_bins)
        if largest <= mss + HEADERS:
            continue
        times = own.select(
            pl.col("first_time").dt.epoch("ns").min(), pl.col("last_time").dt.epoch("ns").max()
        ).row(0)
        span, wire = times[1] - times[0] - _sum_silences(own_bins), int(own["wire_bytes"].sum())
        # A lone packet shows no rate.
        found[way] = Merged(largest, -(-largest * span // wire) if span > 0 else _span_ns(bins))
    return found


def _find_largest(flows: pl.DataFrame, bins: pl.DataFrame) -> int:
    import polars as pl

    if "largest_packet_bytes" in flows.columns:
        return int(flows["largest_packet_bytes"].max() or 0)  # type: ignore[arg-type]
    # Older tables lack the column; the largest packet is at least as long as a bin's mean.
    mean = bins.filter(pl.col("packets") > 0).select(pl.col("wire_bytes") // pl.col("packets"))
    return int(mean.to_series().max() or 0)  # type: ignore[arg-type]


def _span_ns(bins: pl.DataFrame) -> int:
    starts = bins["bin_start"].dt.epoch("ns")
    span = int(starts.max()) - int(starts.min()) + int(bins["bin_ns"].max())  # type: ignore[arg-type]
    return span - _sum_silences(bins)


def _sum_silences(bins: pl.DataFrame) -> int:
    """Sums up the parts of silences between filled bins that exceed `SILENCE_NS`, in ns."""
    starts = bins["bin_start"].dt.epoch("ns").unique().sort()
    silences = (starts.diff().drop_nulls() - int(bins["bin_ns"].max() or 0)) - SILENCE_NS  # type: ignore[arg-type]
    return int(silences.clip(0).sum())


def spread_merged(bins: pl.DataFrame, merged: Merged | None) -> pl.DataFrame:
    """Spreads merged packets over the time since the previous ones; bins with `start_ns`.

    A packet is spread over at most the shortest time whose rate is known, the first over all of it.

    Args:
        bins: Rows of the table `throughput`, of one direction of a host.
        merged: Its largest merged packet, if it has any.
    """
    import polars as pl

    frame = bins.select(
        "src_ip", "dst_ip", "bin_ns", "wire_bytes", start_ns=pl.col("bin_start").dt.epoch("ns")
    )
    if merged is None:
        return frame
    # A bin with less than half of the largest packet stays as it is.
    large = (2 * pl.col("wire_bytes") >= merged.largest_bytes) & ~is_local()
    since = pl.col("start_ns").diff().over("src_ip", "dst_ip", "is_large", order_by="start_ns")
    most = (merged.shortest_ns + pl.col("bin_ns") - 1) // pl.col("bin_ns")
    parts = pl.min_horizontal(most, since // pl.col("bin_ns")).clip(1)
    spread = (
        frame.with_columns(is_large=large)
        .with_columns(parts=pl.when("is_large").then(parts).otherwise(1))
        .with_columns(back=pl.int_ranges("parts"))
    )
    rest = pl.when(pl.col("back") == 0).then(pl.col("wire_bytes") % pl.col("parts")).otherwise(0)
    return spread.explode("back").select(
        "src_ip", "dst_ip", "bin_ns",
        wire_bytes=pl.col("wire_bytes") // pl.col("parts") + rest,
        start_ns=pl.col("start_ns") - pl.col("back") * pl.col("bin_ns"),
    )  # fmt: skip
