"""TCP packets with payload that the hosts of a run exchanged, each with the message it is part of.

All times are on the reference's clock, in ns since 1970.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

ENDS = ["src_ip", "src_port", "dst_ip", "dst_port"]
STREAM = [*ENDS, "connection"]
FATES = (
    *ENDS, "sender", "receiver", "protocol", "fate", "time_sent", "packet_sent", "seq",
    "payload_bytes", "ip_bytes", "is_retransmission",
)  # fmt: skip
ONE_WAY = ("packet_sent", "time_sent_reference", "delay_ns", "queue_ns")
FLOWS = ("connection", "direction", *ENDS, "first_time", "start", "handshake_rtt_ns")
MESSAGES = ("connection", "direction", "first_time")
#: What a packet that was sent again has in common with the one that carried its bytes before.
OF_BURST = ("began", "first_sent", "burst", "ip_bytes_so_far", "queued_ns_so_far")
#: Sequence numbers are counted modulo this.
_WRAP = 1 << 32


@dataclass(frozen=True)
class HostPackets:
    """What one host sent to other captured hosts.

    Attributes:
        packets: A row for each packet with payload: `sender`, `receiver`, `payload_bytes`;
            `began`, when its message's first packet left; `first_sent` and `sent`, when its bytes
            left for the first time, and as this packet; `arrival` and `base_ns`, the least delay of
            the direction, null where that is not known; `ip_bytes_so_far`, of the message, up to
            this packet; `queued_ns_so_far`, how long any packet of it was in the link's queue;
            `is_in_order`, whether all bytes before it had arrived by `arrival`; `is_explained`,
            whether it is known when it arrived, or that it was lost. Messages that queued behind
            each other are one here.
        handshakes: A row for each connection that the host opened: `sender`, `receiver`, `opened`
            and `answered`.
        shift_ns: How far the reference's clock is ahead at the first packet; 0 if not known.
    """

    packets: pl.DataFrame
    handshakes: pl.DataFrame
    shift_ns: int


def read(hosts: Mapping[str, Path]) -> dict[str, HostPackets]:
    """What each host sent.

    Args:
        hosts: The folder of each host's tables.
    """
    return {host: _read_host(host, folder) for host, folder in hosts.items()}


def _read_host(host: str, folder: Path) -> HostPackets:
    import polars as pl

    own = _own_packets(host, folder)
    shifts = own["shift_ns"].drop_nulls()
    flows = _table(folder, "flows", FLOWS)
    messages = (
        _table(folder, "messages", MESSAGES)
        .join(flows.drop("first_time"), on=["connection", "direction"])
        .select(*STREAM, pl.col("first_time").dt.epoch("ns").alias("message_first"))
        .sort("message_first")
        .with_row_index("message")
    )
    packets = own.sort("time").join_asof(
        messages,
        left_on="time",
        right_on="message_first",
        by=ENDS,
        check_sortedness=False,
    )
    packets = packets.filter(pl.col("message").is_not_null())
    return HostPackets(
        _with_order(_with_messages(_with_offsets(packets))),
        _handshakes(own, flows),
        shifts[0] if len(shifts) else 0,
    )


def _own_packets(host: str, folder: Path) -> pl.DataFrame:
    """TCP packets with payload from `host` to others, in the order of its capture."""
    import polars as pl

    reference = pl.col("time_sent_reference").dt.epoch("ns")
    packets = (
        _table(folder, "fates", FATES)
        .filter(
            (pl.col("sender") == host)
            & pl.col("receiver").is_not_null()
            & pl.col("packet_sent").is_not_null()
            & (pl.col("protocol") == "tcp")
            & (pl.col("payload_bytes") > 0)
            & (pl.col("fate") != "duplicated")
        )
        .join(_table(folder, "one_way", ONE_WAY), on="packet_sent", how="left")
        .with_columns(pl.col("time_sent").dt.epoch("ns").alias("time"))
        .sort("packet_sent")
    )
    # A packet that no other capture has is not on the reference's clock; those around it are.
    shift = (reference - pl.col("time")).forward_fill().backward_fill()
    base = (pl.col("delay_ns") - pl.col("queue_ns")).min().over("receiver")
    return packets.with_columns(
        shift.alias("shift_ns"),
        (pl.col("time") + shift).alias("sent"),
        (reference + pl.col("delay_ns")).alias("arrival"),
        base.alias("base_ns"),
    )


def _with_offsets(packets: pl.DataFrame) -> pl.DataFrame:
    """With `offset`, the sequence number as a place in its stream, which does not wrap."""
    import polars as pl

    step = (pl.col("seq").diff().over(STREAM) + _WRAP // 2) % _WRAP - _WRAP // 2
    packets = packets.with_columns(step.fill_null(0).alias("step"))
    return packets.with_columns(pl.col("step").cum_sum().over(STREAM).alias("offset")).drop("step")


def _with_messages(packets: pl.DataFrame) -> pl.DataFrame:
    """With what is known of the message of each packet.

    Packets that were sent again belong to the message of the same bytes, not to the latest.
    """
    import polars as pl

    first = packets.filter(~pl.col("is_retransmission")).with_columns(
        (pl.col("message_first") + pl.col("shift_ns")).min().over("message").alias("began"),
        pl.col("sent").alias("first_sent"),
    )
    first = _with_bursts(first).with_columns(
        pl.col("ip_bytes").cum_sum().over("burst").alias("ip_bytes_so_far"),
        _time_in_queue().cum_sum().over("burst").alias("queued_ns_so_far"),
        pl.col("began").min().over("burst"),
    )
    again = packets.filter(pl.col("is_retransmission")).sort("offset")
    again = again.join_asof(
        first.select(*STREAM, "offset", *OF_BURST).sort("offset"),
        on="offset",
        by=STREAM,
        check_sortedness=False,
    )
    return pl.concat([first, again.select(first.columns)])


def _with_bursts(packets: pl.DataFrame) -> pl.DataFrame:
    """With `burst`: messages that queued behind each other have the same.

    A message that is sent while bytes of the one before it are still in the queue of the link
    arrives when these have left: how long that takes began with the first of them.
    """
    import polars as pl

    messages = (
        packets.group_by(*STREAM, "message")
        .agg(pl.col("began").first(), (pl.col("arrival") - pl.col("base_ns")).max().alias("left"))
        .sort("began", "message")
    )
    left = pl.col("left").cum_max().shift().over(STREAM)
    is_alone = (pl.col("began") >= left).fill_null(value=True)
    bursts = messages.with_columns(
        pl.when(is_alone).then("message").forward_fill().over(STREAM).alias("burst")
    )
    return packets.join(bursts.select("message", "burst"), on="message", maintain_order="left")


def _time_in_queue() -> pl.Expr:
    """How long each packet was in the queue of the link, or on its way onto it, alone of its burst.

    Queues are first in, first out, so that the sum is how long any packet of the burst was there.
    """
    import polars as pl

    left = pl.col("arrival") - pl.col("base_ns")
    left_before = left.cum_max().shift().over("burst")
    return (left - pl.max_horizontal("sent", left_before)).clip(0).fill_null(0)


def _with_order(packets: pl.DataFrame) -> pl.DataFrame:
    """With `is_in_order`: the packet arrived no sooner than any of the bytes before it."""
    import polars as pl

    latest = pl.col("arrival").cum_max().over(STREAM)
    soonest = pl.col("arrival").min().over(*STREAM, "offset")
    is_in_order = (pl.col("arrival") == latest) & (pl.col("arrival") == soonest)
    return packets.sort(*STREAM, "offset", "arrival").select(
        "sender", "receiver", "payload_bytes", "began", "first_sent", "sent", "arrival",
        "base_ns", "ip_bytes_so_far", "queued_ns_so_far",
        is_in_order.fill_null(value=False).alias("is_in_order"),
        (pl.col("arrival").is_not_null() | (pl.col("fate") == "lost")).alias("is_explained"),
    )  # fmt: skip


def _handshakes(packets: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    peers = packets.group_by(ENDS).agg(
        pl.col("sender", "receiver", "shift_ns").first(),
    )
    opened = pl.col("first_time").dt.epoch("ns") + pl.col("shift_ns")
    return (
        flows.filter(
            (pl.col("direction") == "forward")
            & (pl.col("start") == "syn")
            & pl.col("handshake_rtt_ns").is_not_null()
        )
        .join(peers, on=ENDS)
        .select(
            "sender", "receiver",
            opened.alias("opened"),
            (opened + pl.col("handshake_rtt_ns")).alias("answered"),
        )
    )  # fmt: skip


def _table(folder: Path, name: str, columns: Sequence[str]) -> pl.DataFrame:
    import polars as pl

    path = folder / f"{name}.parquet"
    return pl.read_parquet(path, columns=list(columns), hive_partitioning=False)
