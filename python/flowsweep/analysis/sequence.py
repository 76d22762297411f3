"""Finds the sequence numbers of a TCP connection over time, like tcptrace's time-sequence graph."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flowsweep import addresses
from flowsweep.errors import FlowsweepError
from flowsweep.parsing import Settings
from flowsweep.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl

#: Kinds of segments: bytes above all before them, bytes that were captured already, bytes that
#: were missing, and bytes beyond the receiver's window (RFC 9293 3.10.7.4).
NEW, AGAIN, FILLING, OUTSIDE = "new data", "sent again", "fills a hole", "outside the window"
KINDS = (NEW, AGAIN, FILLING, OUTSIDE)
SYN, RST = 0x02, 0x04
#: The sequence number returns to 0 here.
WRAP = 1 << 32
#: No window is this wide (RFC 7323 2.3): a larger step acknowledges something else.
WIDEST_WINDOW = 1 << 30

_PACKETS = """
select epoch_ns(time) as time_ns, direction, payload_bytes, tcp_flags, seq, ack, window_bytes
from packets
where connection = $connection and seq is not null
"""


@dataclass(frozen=True)
class Side:
    """One end of a connection, and what it sent. Its first payload byte has the number 0.

    Without a captured SYN its first captured segment begins at 0. Times are in ns since the
    first packet of the connection.

    Attributes:
        sender: Address and port.
        receiver: Address and port.
        segments: Segments with payload: `time_ns`, `low`, `high` (after its last byte), `kind`.
        acknowledged: The end of the acknowledged bytes from each time on: `time_ns`, `high`.
        windows: The end of the receiver's window from each time on: `time_ns`, `high`.
    """

    sender: str
    receiver: str
    segments: pl.DataFrame
    acknowledged: pl.DataFrame
    windows: pl.DataFrame

    @property
    def counts(self) -> dict[str, int]:
        """Number of segments of each kind."""
        found = dict(self.segments["kind"].value_counts().iter_rows())
        return {kind: found.get(kind, 0) for kind in KINDS}


@dataclass(frozen=True)
class Connection:
    """A TCP connection as both of its ends.

    Attributes:
        number: Its number in the capture.
        last_ns: Time of its last packet, in ns since the first.
        sides: The initiator's side, then the responder's.
    """

    number: int
    last_ns: int
    sides: tuple[Side, Side]


def read(
    files: Sequence[Path], connection: int | None = None, settings: Settings | None = None
) -> Connection:
    """Reads one TCP connection of a capture.

    Args:
        files: Files of one capture.
        connection: Its number, as in `flows`; None: the one with the most payload.
        settings: How the capture is read.

    Raises:
        FlowsweepError: There is no such connection, or it is not TCP.
    """
    import duckdb
    import polars as pl

    from flowsweep.captures import Table

    places, used = tuple(files), settings or Settings()
    flows = pl.DataFrame(Table("flows", places, used))
    number, ends = _find(flows, connection, ", ".join(map(str, files)))
    with duckdb.connect() as database:
        database.register("packets", Table("packets", places, used))
        packets = pl.DataFrame(database.sql(_PACKETS, params={"connection": number}))
    start_ns = min(packets["time_ns"], default=0)
    packets = packets.with_columns(pl.col("time_ns") - start_ns).with_row_index("place")
    # Where a capture lacks acknowledgements, its windows are too old.
    wild = flows.filter(pl.col("outside_window_packets") > 0, connection=number)["direction"]
    one_way = {way: packets.filter(direction=way) for way in ("forward", "backward")}
    sides = [
        _collect_side(two, own, other, has_wild=way in wild)
        for two, (way, own), other in zip(
            (ends, ends[::-1]), one_way.items(), reversed(one_way.values()), strict=True
        )
    ]
    return Connection(number, max(packets["time_ns"], default=0), (sides[0], sides[1]))


def _find(flows: pl.DataFrame, connection: int | None, place: str) -> tuple[int, tuple[str, str]]:
    """Finds the number of a connection, and its initiator and responder."""
    import polars as pl

    tcp = flows.filter(protocol="tcp")
    payload = pl.col("payload_bytes").sum().over("connection")
    is_wanted = payload == payload.max()
    if connection is not None:
        is_wanted = pl.col("connection") == connection
    row = next(tcp.filter(is_wanted).iter_rows(named=True), None)
    if row is None:
        numbers = tcp["connection"].unique().sort()
        raise FlowsweepError(
            f"{place}: no TCP connection"
            + ("" if connection is None else f" has the number {connection}"),
            found=counted(numbers.len(), "TCP connection")
            + (f", the first has the number {numbers[0]}" if numbers.len() else ""),
            remedy="`flowsweep show FILE` prints the numbers of the largest flows (conn)",
        )
    source, target = (
        addresses.join_port(row[f"{end}_ip"], row[f"{end}_port"]) for end in ("src", "dst")
    )
    is_forward = row["direction"] == "forward"
    return row["connection"], (source, target) if is_forward else (target, source)


def _collect_side(
    ends: tuple[str, str], own: pl.DataFrame, other: pl.DataFrame, *, has_wild: bool
) -> Side:
    """Collects what one end sent, and what the other answered.

    Args:
        ends: Sender and receiver.
        own: The sender's packets.
        other: The receiver's packets.
        has_wild: Whether some of the sender's segments lie outside the window.
    """
    import polars as pl

    origin = _find_origin(own, other)
    answers = other.filter(pl.col("ack").is_not_null())
    answers = answers.select(
        "place", "time_ns", "window_bytes", high=_unwrap(answers["ack"], origin)
    ).filter(pl.col("high").diff().fill_null(0).abs() < WIDEST_WINDOW)
    acknowledged = answers.select("time_ns", pl.col("high").cum_max())
    windows = answers.drop_nulls("window_bytes").select(
        "place", "time_ns", high=(pl.col("high") + pl.col("window_bytes")).cum_max()
    )
    low = _unwrap(own["seq"], origin)
    segments = own.select(
        "place",
        "time_ns",
        # a SYN takes the number before the first byte (RFC 9293 3.4)
        low=low + (own["tcp_flags"] & SYN > 0).cast(pl.Int64),
        payload="payload_bytes",
        # Text in a RST is not data of the stream (RFC 9293 3.5.3).
        is_reset=own["tcp_flags"] & RST > 0,
    ).filter((pl.col("payload") > 0) & ~pl.col("is_reset"))
    segments = segments.select("place", "time_ns", "low", high=pl.col("low") + pl.col("payload"))
    return Side(
        *ends,
        segments.select(
            "time_ns",
            "low",
            "high",
            kind=_classify(segments, windows if has_wild else windows.clear()),
        ),
        acknowledged,
        windows.drop("place"),
    )


def _find_origin(own: pl.DataFrame, other: pl.DataFrame) -> int:
    """Finds the sequence number of byte 0."""
    import polars as pl

    begun = own.filter(pl.col("tcp_flags") & SYN > 0)
    if begun.height:
        return int(begun["seq"][0]) + 1
    if own.height:
        return int(own["seq"][0])
    acknowledged = other["ack"].drop_nulls()
    return int(acknowledged[0]) if acknowledged.len() else 0


def _unwrap(numbers: pl.Series, origin: int) -> pl.Series:
    """Converts sequence numbers to bytes after `origin`, from below 0 to above 2^32."""
    import polars as pl

    before = numbers.shift(1, fill_value=origin)
    steps = (numbers - before + WRAP // 2) % WRAP - WRAP // 2
    return steps.cast(pl.Int64).cum_sum()


def _classify(segments: pl.DataFrame, windows: pl.DataFrame) -> pl.Series:
    """Determines the kind of each segment, in the order of capture."""
    import polars as pl

    # Rows are joined by their place in the capture, because times may go back.
    known = segments.join_asof(windows.rename({"high": "end"}), on="place")
    outside = (known["low"] > known["end"]).fill_null(value=False)
    inside = segments.with_row_index("row").filter(~outside)
    first = inside["low"].first() or 0
    top = inside["high"].cum_max().shift(1, fill_value=min(first, 0))
    odd = inside.with_columns(top=top).filter(pl.col("low") != pl.col("top"))
    kinds = pl.Series("kind", [NEW], dtype=pl.String).new_from_index(0, segments.height)
    kinds = kinds.scatter(outside.arg_true(), OUTSIDE) if outside.any() else kinds
    found = _judge_odd(odd)
    for kind in (AGAIN, FILLING):
        rows = [row for row, one in zip(odd["row"], found, strict=True) if one == kind]
        kinds = kinds.scatter(rows, kind) if rows else kinds
    return kinds


def _judge_odd(odd: pl.DataFrame) -> list[str]:
    """Determines the kinds of segments that do not begin at `top`, the end of all earlier ones."""
    # Holes below `top`, in order: the first byte of each, and the byte after its last.
    begins: list[int] = []
    ends: list[int] = []
    kinds = []
    for low, high, top in odd.select("low", "high", "top").iter_rows():
        if low > top:
            begins.append(top)
            ends.append(low)
            kinds.append(NEW)
            continue
        touched = slice(bisect_right(ends, low), bisect_left(begins, high))
        missing = list(zip(begins[touched], ends[touched], strict=True))
        filled = sum(min(high, end) - max(low, begin) for begin, end in missing)
        seen = min(high, top) - low - filled
        # A byte that probed a closed window must not make the whole segment a repetition.
        most = max((filled, FILLING), (high - max(low, top), NEW), (seen, AGAIN))
        kinds.append(most[1])
        rests = [rest for begin, end in missing for rest in ((begin, low), (high, end))]
        rests = [(begin, end) for begin, end in rests if begin < end]
        begins[touched] = [begin for begin, _ in rests]
        ends[touched] = [end for _, end in rests]
    return kinds
