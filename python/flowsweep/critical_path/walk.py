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

from bisect import bisect_right
from collections.abc import Iterator, Mapping
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
    times = {host: [journey.arrival for journey in found] for host, found in arrivals.items()}
    host = max(times, key=lambda name: (times[name][-1], name), default=None)
    if host is None:
        return []
    steps: list[Step] = []
    at = end
    while True:
        place = bisect_right(times.get(host, []), at) - 1
        journey = arrivals[host][place] if place >= 0 else None
        since = start if journey is None else journey.arrival
        if since < at:
            steps.append(Step(host, None, Part.COMPUTING, since, at - since))
        if journey is None:
            return steps[::-1]
        rate = rates.get((journey.sender, journey.receiver))
        until = journey.arrival
        for part, duration in reversed(divide(journey, rate)):
            until -= duration
            steps.append(Step(journey.sender, journey.receiver, part, until, duration))
        host, at = journey.sender, journey.began


def _arrivals(hosts: Mapping[str, HostPackets], start: int, end: int) -> dict[str, list[Journey]]:
    """What arrived at each host between start and end, in the order of time."""
    least = _least_delays(hosts)
    found: dict[str, list[Journey]] = {}
    for host in hosts.values():
        for journey in (*_messages(host.packets), *_handshakes(host.handshakes, least)):
            began = max(journey.began, start)
            if began < journey.arrival <= end:
                within = journey._replace(
                    began=began,
                    first_sent=max(journey.first_sent, began),
                    sent=max(journey.sent, began),
                )
                found.setdefault(journey.at, []).append(within)
    for journeys in found.values():
        journeys.sort(key=lambda one: (one.arrival, one.began, one.sender))
    return found


def _messages(packets: pl.DataFrame) -> Iterator[Journey]:
    """The journey of each packet that completed what its receiver could read."""
    import polars as pl

    rows = packets.filter(pl.col("is_in_order")).select(
        "sender", "receiver", pl.col("receiver").alias("at"), "began", "first_sent", "sent",
        "arrival", "base_ns", "ip_bytes_so_far", "queued_ns_so_far",
    )  # fmt: skip
    return (Journey(*row) for row in rows.drop_nulls().iter_rows())


def _handshakes(rows: pl.DataFrame, least: Mapping[tuple[str, str], int]) -> Iterator[Journey]:
    """The journey of each SYN and its answer."""
    for sender, receiver, opened, answered in rows.iter_rows():
        there, back = least.get((sender, receiver)), least.get((receiver, sender))
        if there is not None and back is not None:
            both = there + back
            waited = answered - opened - both
            yield Journey(
                sender, receiver, sender, opened, opened, opened, answered, both, 0, waited
            )


def _least_delays(hosts: Mapping[str, HostPackets]) -> dict[tuple[str, str], int]:
    """By sender and receiver, where it is known."""
    import polars as pl

    return {
        (sender, receiver): least
        for host in hosts.values()
        for sender, receiver, least in host.packets.group_by("sender", "receiver")
        .agg(pl.col("base_ns").min())
        .drop_nulls()
        .iter_rows()
    }
