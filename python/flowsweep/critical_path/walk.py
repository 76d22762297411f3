"""The critical path of a run, from its end back to its start.

What a host did at some moment is taken for the consequence of what had arrived there last: the
bytes of a message that it could read, or the answer to a connection it opened. So the path goes
from the end of the run to the last arrival before it, over that message to its sender, at the
moment when the sender began to send it, to the last arrival before that, and so on. What lies
between an arrival and what the host sent next is its computing.

That is wrong where a host computes on what came earlier than the last arrival: what a run then
seems to compute on its path differs from point to point of a sweep, which `time_shares` compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from flowsweep.critical_path.parts import Journey, Part, divide

if TYPE_CHECKING:
    import polars as pl

    from flowsweep.critical_path.packets import HostPackets


class Step(NamedTuple):
    """A piece of the path.

    Attributes:
        host: Where the time passed; of a message, its sender.
        peer: Of a message, its receiver; None of computing.
        part: What the time is.
        begin_ns: Since 1970, on the reference's clock. Parts of one message are in the order in
            which `divide` gives them, which is not that of time.
        duration_ns: How long; more than 0.
    """

    host: str
    peer: str | None
    part: Part
    begin_ns: int
    duration_ns: int


def find(
    hosts: Mapping[str, HostPackets],
    start: int,
    end: int,
    rates: Mapping[tuple[str, str], float],
) -> list[Step]:
    """The path in the order of time; its steps follow each other from `start` to `end`.

    Args:
        hosts: What each host sent.
        start: When the program began, on the reference's clock.
        end: When it had its result.
        rates: Of the link from one host to another, bit/s, where it is known.

    Returns:
        Nothing where no message arrived between start and end.
    """
    arrivals = _arrivals(hosts, start, end)
    times = {host: rows["arrival"] for host, rows in arrivals.items()}
    host = max(times, key=lambda name: (times[name][-1], name), default=None)
    if host is None:
        return []
    steps: list[Step] = []
    at = end
    while True:
        place = times[host].search_sorted(at, side="right") if host in times else 0
        journey = Journey(*arrivals[host].row(place - 1)) if place else None
        since = start if journey is None else journey.arrival
        if since < at:
            steps.append(Step(host, None, Part.COMPUTING, since, at - since))
        if journey is None:
            return steps[::-1]
        until = journey.arrival
        rate = rates.get((journey.sender, journey.receiver))
        for part, duration in reversed(divide(journey, rate)):
            until -= duration
            steps.append(Step(journey.sender, journey.receiver, part, until, duration))
        host, at = journey.sender, journey.began


def _arrivals(hosts: Mapping[str, HostPackets], start: int, end: int) -> dict[str, pl.DataFrame]:
    """What arrived at each host between start and end, in the order of time: rows of `Journey`."""
    import polars as pl

    packets = pl.concat([host.packets for host in hosts.values()])
    least = packets.group_by("sender", "receiver").agg(pl.col("base_ns").min()).drop_nulls()
    journeys = pl.concat(
        [
            _select_packets(packets),
            *(_select_handshakes(host.handshakes, least) for host in hosts.values()),
        ]
    )
    began = pl.col("began").clip(start)
    within = (
        journeys.filter((began < pl.col("arrival")) & (pl.col("arrival") <= end))
        .with_columns(pl.max_horizontal(name, began) for name in ("began", "first_sent", "sent"))
        .sort("arrival", "began", "sender", maintain_order=True)
    )
    return {host: rows for (host,), rows in within.partition_by("at", as_dict=True).items()}


def _select_packets(packets: pl.DataFrame) -> pl.DataFrame:
    """The journey of each packet that completed what its receiver could read."""
    import polars as pl

    return (
        packets.filter(pl.col("is_in_order"))
        .with_columns(
            pl.col("receiver").alias("at"),
            pl.col("ip_bytes_so_far").alias("ip_bytes"),
            pl.col("queued_ns_so_far").alias("queued_ns"),
        )
        .select(Journey._fields)
        .drop_nulls()
    )


def _select_handshakes(rows: pl.DataFrame, least: pl.DataFrame) -> pl.DataFrame:
    """The journey of each SYN and its answer, for which the host that sent it waits.

    Args:
        rows: Handshakes.
        least: The least delay of each direction.
    """
    import polars as pl

    back = least.select(
        pl.col("receiver").alias("sender"),
        pl.col("sender").alias("receiver"),
        pl.col("base_ns").alias("back_ns"),
    )
    ends = ["sender", "receiver"]
    both = pl.col("base_ns") + pl.col("back_ns")
    opened = pl.col("opened")
    return (
        rows.join(least, on=ends)
        .join(back, on=ends)
        .select(
            *ends,
            pl.col("sender").alias("at"),
            *(opened.alias(name) for name in ("began", "first_sent", "sent")),
            pl.col("answered").alias("arrival"),
            both.alias("base_ns"),
            pl.lit(0, pl.Int64).alias("ip_bytes"),
            (pl.col("answered") - opened - both).alias("queued_ns"),
        )
    )
