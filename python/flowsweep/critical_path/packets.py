"""Reads the TCP packets with payload that a run's hosts exchanged, each with its message.

All times are on the reference's clock, in ns since 1970.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep.matching.own_ends import ENDS, with_own_ends

if TYPE_CHECKING:
    import polars as pl

#: `way` numbers the distinct combinations of `ENDS`.
STREAM = ["way", "connection"]
#: Columns that a retransmission shares with the packet that first carried its bytes.
BURST_COLUMNS = ("began", "first_sent", "ip_bytes_so_far", "queued_ns_so_far")
#: Sequence numbers are counted modulo this.
_WRAP = 1 << 32


@dataclass(frozen=True)
class HostPackets:
    """Packets and handshakes that a host sent to other captured hosts.

    Attributes:
        packets: A row for each packet with payload: `sender`, `receiver`, `payload_bytes`;
            `began`, when its message's first packet left; `first_sent` and `sent`, when its bytes
            left for the first time, and in this packet; `arrival` and `base_ns`, the least delay of
            the direction, null if unknown; `ip_bytes_so_far`, its message's up to this packet;
            `queued_ns_so_far`, how long any packet among these was in the link's queue;
            `is_in_order`, whether all bytes before it had arrived by `arrival`; `is_explained`,
            whether its connection, and its arrival time or its loss, are known. Messages that
            queued behind each other are one message here.
        handshakes: A row for each connection that the host opened: `sender`, `receiver`, `opened`,
            `answered`, and `is_repeated`, whether the SYN that was answered is not the first one.
        shift_ns: How far the reference's clock is ahead at the first packet; 0 if unknown.
    """

    packets: pl.DataFrame
    handshakes: pl.DataFrame
    shift_ns: int


def read(hosts: Mapping[str, Path]) -> dict[str, HostPackets]:
    """Reads the packets and handshakes of each host from its tables.

    Args:
        hosts: The folder of each host's tables.
    """
    return {host: _read_host(host, folder) for host, folder in hosts.items()}


def _read_host(host: str, folder: Path) -> HostPackets:
    import polars as pl

    flows = with_own_ends(_scan(folder, "flows").collect(), _scan(folder, "fates"))
    ways = flows.select(ENDS).unique(maintain_order=True).with_row_index("way")
    flows = flows.join(ways, on=ENDS).drop(ENDS)
    own = _own_packets(host, folder, ways)
    shifts = own["shift_ns"].drop_nulls()
    handshakes = _handshakes(host, own, flows)
    is_known = pl.col("way").is_not_null()
    known = _assign_messages(own.filter(is_known), folder, flows)
    found = _with_order(_with_messages(_with_offsets(known)))
    rows = pl.concat([found, _unexplained(own.filter(~is_known)).select(found.columns)])
    return HostPackets(
        rows.select(pl.lit(host).alias("sender"), pl.all()),
        handshakes,
        shifts[0] if len(shifts) else 0,
    )


def _own_packets(host: str, folder: Path, ways: pl.DataFrame) -> pl.DataFrame:
    """Reads TCP packets with payload from `host` to others, in the order of its capture."""
    import polars as pl

    reference = pl.col("time_sent_reference").dt.epoch("ns")
    delays = _scan(folder, "one_way").select(
        "packet_sent", reference.alias("reference"), "delay_ns", "queue_ns"
    )
    packets = (
        _scan(folder, "fates")
        .filter(
            (pl.col("sender") == host)
            & pl.col("receiver").is_not_null()
            & pl.col("packet_sent").is_not_null()
            & (pl.col("protocol") == "tcp")
            & (pl.col("payload_bytes") > 0)
            & (pl.col("fate") != "duplicated")
        )
        .join(ways.lazy(), on=ENDS, how="left")
        .select(
            "way",
            pl.col("receiver").cast(pl.Categorical),
            "packet_sent",
            "seq",
            "payload_bytes",
            "ip_bytes",
            "is_retransmission",
            pl.col("time_sent").dt.epoch("ns").alias("time"),
            (pl.col("fate") == "lost").alias("is_lost"),
        )
        .join(delays, on="packet_sent", how="left")
        .sort("packet_sent")
        .collect()
    )
    # A packet that is in no other capture has no time on the reference's clock; its neighbours do.
    shift = (pl.col("reference") - pl.col("time")).forward_fill().backward_fill()
    base = (pl.col("delay_ns") - pl.col("queue_ns")).min().over("receiver")
    return packets.select(
        "way", "receiver", "seq", "payload_bytes", "ip_bytes", "is_retransmission", "is_lost",
        "time", shift.alias("shift_ns"), (pl.col("time") + shift).alias("sent"),
        (pl.col("reference") + pl.col("delay_ns")).alias("arrival"), base.alias("base_ns"),
    )  # fmt: skip


def _unexplained(packets: pl.DataFrame) -> pl.DataFrame:
    """Returns packets of translated connections (NAT) that are not found in `flows`.

    Their messages are not known, so no path can use them; they count as payload all the same.
    """
    import polars as pl

    return packets.with_columns(
        pl.col("receiver").cast(pl.String),
        *(pl.col("sent").alias(name) for name in ("began", "first_sent")),
        *(pl.lit(0, pl.Int64).alias(name) for name in ("ip_bytes_so_far", "queued_ns_so_far")),
        *(pl.lit(value=False).alias(name) for name in ("is_in_order", "is_explained")),
    )


def _assign_messages(packets: pl.DataFrame, folder: Path, flows: pl.DataFrame) -> pl.DataFrame:
    """Sorts packets by time, and adds the latest message on their way that had begun."""
    import polars as pl

    messages = (
        _scan(folder, "messages")
        .select("connection", "direction", pl.col("first_time").dt.epoch("ns").alias("began"))
        .collect()
        .join(flows.select("connection", "direction", "way"), on=["connection", "direction"])
        .sort("began", maintain_order=True)
        .with_row_index("message")
        .drop("direction")
    )
    found = packets.sort("time", maintain_order=True).join_asof(
        messages, left_on="time", right_on="began", by="way", check_sortedness=False
    )
    return found.filter(pl.col("message").is_not_null()).with_columns(
        pl.col("began") + pl.col("shift_ns")
    )


def _with_offsets(packets: pl.DataFrame) -> pl.DataFrame:
    """Adds `offset`, the position in the stream: the sequence number without wraparound."""
    import polars as pl

    step = (pl.col("seq").diff().over(STREAM) + _WRAP // 2) % _WRAP - _WRAP // 2
    return packets.with_columns(step.fill_null(0).cum_sum().over(STREAM).alias("offset")).drop(
        "seq", "time", "shift_ns"
    )


def _with_messages(packets: pl.DataFrame) -> pl.DataFrame:
    """Adds columns on the message of each packet.

    A retransmission belongs to the message that its bytes are part of, not to the latest one.
    """
    import polars as pl

    is_again = pl.col("is_retransmission")
    first = _with_bursts(packets.filter(~is_again)).sort("burst", maintain_order=True)
    first = first.with_columns(_time_in_queue().alias("queued_ns"))
    first = first.select(
        "receiver", "payload_bytes", "is_lost", "sent", "arrival", "base_ns", *STREAM, "offset",
        _first_in_burst("began").alias("began"),
        pl.col("sent").alias("first_sent"),
        _sum_so_far("ip_bytes").alias("ip_bytes_so_far"),
        _sum_so_far("queued_ns").alias("queued_ns_so_far"),
    )  # fmt: skip
    again = packets.filter(is_again).drop("began").sort("offset", maintain_order=True)
    again = again.join_asof(
        first.select(*STREAM, "offset", *BURST_COLUMNS).sort("offset", maintain_order=True),
        on="offset",
        by=STREAM,
        check_sortedness=False,
    )
    return pl.concat([first, again.select(first.columns)])


def _first_in_burst(column: str) -> pl.Expr:
    """Returns the value of the burst's first packet; the packets are sorted by burst."""
    import polars as pl

    is_first = pl.col("burst").ne_missing(pl.col("burst").shift())
    return pl.when(is_first).then(column).forward_fill()


def _sum_so_far(column: str) -> pl.Expr:
    """Returns the sum over the burst up to each packet; the packets are sorted by burst."""
    import polars as pl

    total = pl.col(column).cum_sum()
    is_first = pl.col("burst").ne_missing(pl.col("burst").shift())
    return total - pl.when(is_first).then(total - pl.col(column)).forward_fill()


def _with_bursts(packets: pl.DataFrame) -> pl.DataFrame:
    """Adds `burst`, which is equal for messages that queued behind each other.

    A message that is sent while bytes of the previous one are still in the link's queue arrives
    after them, so its time in the queue began with the first of these messages.
    """
    import polars as pl

    messages = (
        packets.group_by(*STREAM, "message")
        .agg(pl.col("began").first(), (pl.col("arrival") - pl.col("base_ns")).max().alias("left"))
        .sort("began", "message")
    )
    # `cum_max` keeps the null of a message that did not arrive.
    left = pl.col("left").cum_max().forward_fill().shift().over(STREAM)
    is_alone = (pl.col("began") >= left).fill_null(value=True)
    bursts = messages.with_columns(
        pl.when(is_alone).then("message").forward_fill().over(STREAM).alias("burst")
    )
    return packets.join(bursts.select("message", "burst"), on="message", maintain_order="left")


def _time_in_queue() -> pl.Expr:
    """Returns how long each packet, and no earlier one, was in the link's queue or sent.

    Queues are FIFO, so the sum is how long any packet of the burst was there.
    """
    import polars as pl

    left = pl.col("arrival") - pl.col("base_ns")
    left_before = left.cum_max().forward_fill().shift().over("burst")
    return (left - pl.max_horizontal("sent", left_before)).clip(0).fill_null(0)


def _with_order(packets: pl.DataFrame) -> pl.DataFrame:
    """Adds `is_explained`, and `is_in_order`: no byte before the packet arrived after it."""
    import polars as pl

    latest = pl.col("arrival").cum_max().over(STREAM)
    soonest = pl.col("arrival").min().over(*STREAM, "offset")
    is_in_order = (pl.col("arrival") == latest) & (pl.col("arrival") == soonest)
    is_explained = pl.col("arrival").is_not_null() | pl.col("is_lost")
    return packets.sort(*STREAM, "offset", "arrival", maintain_order=True).select(
        pl.col("receiver").cast(pl.String), "payload_bytes", "began", "first_sent", "sent",
        "arrival", "base_ns", "ip_bytes_so_far", "queued_ns_so_far",
        is_in_order.fill_null(value=False).alias("is_in_order"),
        is_explained.alias("is_explained"),
    )  # fmt: skip


def _handshakes(host: str, packets: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    peers = packets.group_by("way").agg(pl.col("receiver", "shift_ns").first())
    opened = pl.col("first_time").dt.epoch("ns") + pl.col("shift_ns")
    # A SYN that was sent twice has no round-trip time, but the first packet back is its answer.
    is_repeated = pl.col("handshake_rtt_ns").is_null() & (pl.col("syn_packets") > 1)
    answer = pl.col("answer").dt.epoch("ns") + pl.col("shift_ns")
    back = flows.filter((pl.col("direction") == "backward") & (pl.col("start") == "syn"))
    return (
        flows.filter((pl.col("direction") == "forward") & (pl.col("start") == "syn"))
        .join(peers, on="way", maintain_order="left")
        .join(
            back.select("connection", pl.col("first_time").alias("answer")),
            on="connection",
            how="left",
            maintain_order="left",
        )
        .select(
            pl.lit(host).alias("sender"),
            pl.col("receiver").cast(pl.String),
            opened.alias("opened"),
            pl.when(is_repeated)
            .then(answer)
            .otherwise(opened + pl.col("handshake_rtt_ns"))
            .alias("answered"),
            is_repeated.alias("is_repeated"),
        )
        .filter(pl.col("answered").is_not_null())
    )


def _scan(folder: Path, name: str) -> pl.LazyFrame:
    import polars as pl

    return pl.scan_parquet(folder / f"{name}.parquet", hive_partitioning=False)
