"""Reads the messages of a run: sender, receiver, size, and times of sending and arrival.

All times are on one clock. The sender's capture shows where a message begins and ends. If the
sender has no capture of a connection, its messages are taken from the receiver's capture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep.errors import FlowsweepError
from flowsweep.exports.clock import Clock
from flowsweep.exports.stream import Passage, Segment, Stream
from flowsweep.matching.own_ends import ENDS, with_own_ends

if TYPE_CHECKING:
    import polars as pl

CONNECTION = ["connection", "direction"]
#: Reasons in the column `lack` why the arrival of a message is unknown.
LACKS = NOT_CAPTURED, LOST, CLOCK = ("not captured", "lost or not matched", "clock")
#: The passage of a message without a segment in the sender's capture.
UNKNOWN = Passage((None, None), None, False)
#: The endpoints of an unknown connection.
NO_ENDS = (None,) * len(ENDS)
#: Columns to read from each table; times are `*time*`, texts are in `TEXTS`, others are integers.
MESSAGES = (*CONNECTION, "first_time", "last_time", "bytes", "packets", "evidence")
FLOWS = (*CONNECTION, *ENDS, "first_time", "last_time")
OWNERS = ("sender", "receiver", "src_ip", "dst_ip")
FATES = (*ENDS, "protocol", "fate", "time_sent", "packet_sent", "seq", "payload_bytes")
ONE_WAY = ("packet_sent", "time_sent", "time_sent_reference", "delay_ns", "delay_error_ns")
TEXTS = {"direction", "evidence", "fate", "protocol", *OWNERS}
#: Times of a message in the returned rows, in ns since 1970.
TIMES = ("sent_first", "sent_last", "arrived_first", "arrived_last")


@dataclass(frozen=True)
class Messages:
    """The messages of a run.

    Attributes:
        rows: One row per message: `host` whose tables contain it, `connection`, `direction`,
            `bytes`, `packets`, `evidence`; `sender` and `receiver`, hosts or else addresses;
            `source` and `destination` with their ports; `sent_first`, `sent_last`,
            `arrived_first` and `arrived_last` in ns since 1970, null if not captured or unknown;
            `error_ns`, the error of arrivals relative to the times of sending; `lack`, why there
            is no arrival after the time of sending.
        own_clocks: Hosts whose times are on their own clocks, as their offsets are unknown.
    """

    rows: pl.DataFrame
    own_clocks: tuple[str, ...]

    def without_arrival(self) -> dict[str, int]:
        """Returns the number of messages without a usable arrival time, by reason in `lack`."""
        lacks = self.rows["lack"]
        return {lack: self.rows.filter(lacks == lack).height for lack in LACKS}


def read(hosts: Mapping[str, Path], progress: Callable[[str], None] | None = None) -> Messages:
    """Returns the messages of a run in the order of their times.

    Args:
        hosts: The folder of each host's tables.
        progress: Called with the host whose tables are read next.
    """
    import polars as pl

    owners = _owners(hosts)
    flows = {
        host: with_own_ends(_table(folder, "flows", FLOWS), _table(folder, "fates", FATES).lazy())
        for host, folder in hosts.items()
    }
    sender = _owner("src_ip", owners)
    sent = [some.filter(sender == host).select(ENDS) for host, some in flows.items()]
    captured = pl.concat(sent).unique()
    parts: list[pl.DataFrame] = []
    own_clocks: list[str] = []
    for host, folder in hosts.items():
        if progress is not None:
            progress(host)
        ends = flows[host].rename({"first_time": "flow_first", "last_time": "flow_last"})
        messages = _table(folder, "messages", MESSAGES).join(ends, on=CONNECTION)
        messages = messages.sort("first_time", "last_time").with_columns(
            pl.lit(host).alias("host"),
            sender.alias("sender"),
            _owner("dst_ip", owners).alias("receiver"),
        )
        one_way = _table(folder, "one_way", ONE_WAY)
        clock = Clock(one_way)
        parts += _read_sent(messages.filter(pl.col("sender") == host), folder, one_way, clock)
        parts += _read_others(messages, captured, clock)
        if not clock.is_known and not messages.is_empty():
            own_clocks.append(host)
    return Messages(_name_ends(pl.concat(parts)), tuple(own_clocks))


def _read_sent(
    messages: pl.DataFrame, folder: Path, one_way: pl.DataFrame, clock: Clock
) -> Iterator[pl.DataFrame]:
    """Yields the messages that the host of `folder` sent, from its own capture."""
    import polars as pl

    packets = _packets(_table(folder, "fates", FATES), one_way)
    groups = messages.group_by([*ENDS, "flow_first", "flow_last"], maintain_order=True)
    for (*ends, first, last), some in groups:
        own = packets.get(tuple(ends), packets[NO_ENDS])
        # Another connection may have reused the ports.
        own = own.filter(pl.col("time_sent").is_between(first, last))
        error = own.select(pl.col("delay_error_ns").max().fill_null(0)).item()
        yield _add_times(some, _passages(some, own, clock), error)


def _packets(fates: pl.DataFrame, one_way: pl.DataFrame) -> dict[tuple[Any, ...], pl.DataFrame]:
    """Returns the segments with payload that a host sent, by endpoints, in the order of time."""
    import polars as pl

    is_data = (pl.col("protocol") == "tcp") & (pl.col("payload_bytes") > 0)
    is_own = pl.col("packet_sent").is_not_null() & (pl.col("fate") != "duplicated")
    rows = fates.filter(is_data & is_own)
    rows = rows.join(one_way.drop("time_sent"), on="packet_sent", how="left")
    rows = rows.sort("time_sent", "packet_sent")
    found = rows.partition_by(ENDS, as_dict=True, maintain_order=True)
    return {NO_ENDS: rows.clear(), **found}


def _passages(
    messages: pl.DataFrame, segments: pl.DataFrame, clock: Clock
) -> Iterator[tuple[int | str | None, ...]]:
    """Yields times and `lack` of each message of one direction of a connection, in order."""
    import polars as pl

    has_receiver = messages["receiver"][0] is not None
    stream = Stream(_segments(segments))
    wanted = messages.select(pl.col("first_time", "last_time").dt.epoch("ns"), "packets")
    for first, last, packets in wanted.iter_rows():
        passage = stream.passage(first, last, packets) or UNKNOWN
        sent_first, sent_last = (
            clock.to_reference(own) if known is None else known
            for own, known in zip((first, last), passage.sent, strict=True)
        )
        lack = None
        if passage.arrived is None:
            unknown = LOST if has_receiver else NOT_CAPTURED
            lack = CLOCK if passage.is_delivered else unknown
        elif passage.arrived[0] < sent_first:
            lack = CLOCK
        yield (sent_first, sent_last, *(passage.arrived or (None, None)), lack)


def _segments(rows: pl.DataFrame) -> Iterator[Segment]:
    import polars as pl

    reference = pl.col("time_sent_reference").dt.epoch("ns")
    wanted = rows.select(
        pl.col("time_sent").dt.epoch("ns"),
        "seq",
        "payload_bytes",
        reference,
        (reference + pl.col("delay_ns")).alias("arrival"),
        pl.col("fate") == "delivered",
    )
    return (Segment(*row) for row in wanted.iter_rows())


def _read_others(
    messages: pl.DataFrame, captured: pl.DataFrame, clock: Clock
) -> Iterator[pl.DataFrame]:
    """Yields messages to this host that no sender captured, and those between other addresses.

    Args:
        messages: All messages in the host's tables.
        captured: Endpoints of the connections that their senders captured.
        clock: The clock of the host.
    """
    import polars as pl

    others = messages.filter(pl.col("sender").ne_missing(pl.col("host")))
    others = others.join(captured, on=ENDS, how="anti")
    is_received = pl.col("receiver").eq_missing(pl.col("host"))
    is_passing = pl.col("sender").is_null() & pl.col("receiver").is_null()
    for own, is_here in ((is_received, True), (is_passing, False)):
        some = others.filter(own)
        times = some.select(pl.col("first_time", "last_time").dt.epoch("ns"))
        seen = [tuple(map(clock.to_reference, pair)) for pair in times.iter_rows()]
        none = (None, None)
        yield _add_times(some, [(*(none if is_here else pair), *(pair if is_here else none),
                             NOT_CAPTURED) for pair in seen])  # fmt: skip


def _add_times(
    messages: pl.DataFrame, passages: Iterable[tuple[int | str | None, ...]], error: int = 0
) -> pl.DataFrame:
    """Adds times to messages; `error` is that of arrivals relative to the times of sending."""
    import polars as pl

    schema = {**dict.fromkeys(TIMES, pl.Int64), "lack": pl.String}
    times = pl.DataFrame(list(passages), schema=schema, orient="row")
    rows = messages.select(
        "host", *CONNECTION, *ENDS, "sender", "receiver", "bytes", "packets", "evidence"
    )
    rows = rows.with_columns(pl.lit(error, pl.Int64).alias("error_ns"))
    return pl.concat([rows, times], how="horizontal")


def _name_ends(rows: pl.DataFrame) -> pl.DataFrame:
    """Sorts the rows by time, and replaces unknown hosts by their addresses."""
    import polars as pl

    def end(ip: str, port: str) -> pl.Expr:
        is_v6 = pl.col(ip).str.contains(":", literal=True)
        address = pl.when(is_v6).then("[" + pl.col(ip) + "]").otherwise(pl.col(ip))
        return pl.concat_str(address, pl.col(port).cast(pl.String), separator=":")

    order = pl.coalesce("sent_first", "arrived_first")
    return (
        rows.with_columns(
            pl.coalesce("sender", "src_ip").alias("sender"),
            pl.coalesce("receiver", "dst_ip").alias("receiver"),
            end("src_ip", "src_port").alias("source"),
            end("dst_ip", "dst_port").alias("destination"),
        )
        .sort(order, "host", *CONNECTION, "sent_last", "bytes")
        .drop(ENDS)
    )


def _owners(hosts: Mapping[str, Path]) -> dict[str, str]:
    """Returns the host of each address that belongs to a captured host."""
    found: dict[str, str] = {}
    for folder in hosts.values():
        fates = _table(folder, "fates", OWNERS)
        for host, address in (("sender", "src_ip"), ("receiver", "dst_ip")):
            found |= dict(fates.select(address, host).drop_nulls().unique().iter_rows())
    return found


def _owner(address: str, owners: Mapping[str, str]) -> pl.Expr:
    import polars as pl

    return pl.col(address).replace_strict(owners, default=None, return_dtype=pl.String)


def _table(folder: Path, name: str, columns: Sequence[str]) -> pl.DataFrame:
    """Reads columns of a host's table; missing columns are null, a missing table has no rows.

    Raises:
        FlowsweepError: The table cannot be read.
    """
    import polars as pl

    def column(name: str, there: Sequence[str]) -> pl.Expr:
        time = pl.Datetime("ns", "UTC")
        kind = pl.String if name in TEXTS else time if "time" in name else pl.Int64
        return (pl.col(name) if name in there else pl.lit(None).alias(name)).cast(kind)

    path = folder / f"{name}.parquet"
    if not path.is_file():
        return pl.DataFrame().select(column(name, ()) for name in columns).clear()
    try:
        rows = pl.scan_parquet(path)
        there = rows.collect_schema().names()
        return rows.select(column(name, there) for name in columns).collect()
    except pl.exceptions.PolarsError as error:
        raise FlowsweepError(
            f"{path}: this table cannot be read",
            found=str(error).partition("\n")[0],
            expected=f"a table {name} as flowsweep ingest --match writes it",
            remedy="ingest the run again",
        ) from error
