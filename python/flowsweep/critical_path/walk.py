"""Finds the critical path of a run, from its end back to its start.

Whatever a host does is taken as a consequence of its latest arrival: the bytes of a message that
it could read, or the answer to a connection that it opened. So the path goes from the end of the
run to the last arrival before it, over that message to its sender, at the moment when the sender
began to send it, to the last arrival before that, and so on. The time between an arrival and
what the host sent next is computing.

This is wrong where a host computes on data that came before its latest arrival: the computing on
the path then differs between the points of a sweep, which `time_shares` compares.
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
        host: Where the time passed; for a message, its sender.
        peer: For a message, its receiver; None for computing.
        part: What the time was spent on.
        begin_ns: Since 1970, on the reference's clock. Parts of one message are in the order of
            `divide`, which is not the order of time.
        duration_ns: Duration, above 0.
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
    """Returns the path in the order of time; its steps follow each other from `start` to `end`.

    Args:
        hosts: What each host sent.
        start: When the program began, on the reference's clock.
        end: When it had its result.
        rates: Rate of the link from one host to another, bit/s, if known.

    Returns:
        The steps; none if no message arrived between start and end.
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
    """Returns the arrivals at each host between start and end, by time, as rows of `Journey`."""
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
    """Returns the journey of each packet that its receiver could read at its arrival."""
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
    """Returns the journey of each SYN and its answer, for which the sender of the SYN waits.

    Which of several SYNs was answered is not known; it is taken to have queued nowhere, so that
    the whole wait above the least round trip is loss recovery.

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
    opened, answered = pl.col("opened"), pl.col("answered")
    latest = pl.max_horizontal(opened, answered - both)
    sent = pl.when("is_repeated").then(latest).otherwise(opened)
    return (
        rows.join(least, on=ends)
        .join(back, on=ends)
        .select(
            *ends,
            pl.col("sender").alias("at"),
            *(opened.alias(name) for name in ("began", "first_sent")),
            sent.alias("sent"),
            answered.alias("arrival"),
            both.alias("base_ns"),
            pl.lit(0, pl.Int64).alias("ip_bytes"),
            (answered - sent - both).alias("queued_ns"),
        )
    )
