"""Segments of one direction of a connection, and when what they carry arrived."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple

#: Sequence numbers are counted modulo this.
_WRAP = 1 << 32


class Segment(NamedTuple):
    """A packet with payload, as its sender's capture has it.

    Attributes:
        time: When it was sent, by the sender's own clock.
        seq: Its sequence number, as in the header.
        payload: Bytes that it carries.
        reference: When it was sent, by the reference's clock; None where that is not known.
        arrival: When it arrived, by the reference's clock; None where that is not known.
        is_delivered: Whether the receiver's capture has it.
    """

    time: int
    seq: int
    payload: int
    reference: int | None
    arrival: int | None
    is_delivered: bool


class Passage(NamedTuple):
    """When a message left and arrived, by the reference's clock; None where that is not known.

    Attributes:
        sent: When its first segment and the last one left.
        arrived: When the first of its bytes and the last one arrived.
        is_delivered: Whether the receiver's capture has all of its segments.
    """

    sent: tuple[int | None, int | None]
    arrived: tuple[int, int] | None
    is_delivered: bool


class Stream:
    """The segments of one direction; its messages are asked for in the order of their times."""

    def __init__(self, segments: Iterable[Segment]) -> None:
        #: Those that carry bytes for the first time, and the range of these bytes.
        self._first: list[Segment] = []
        self._ranges: list[tuple[int, int]] = []
        #: Bytes that were sent again: start, end, arrival.
        self._again: list[tuple[int, int, int]] = []
        self._fill(segments)
        self._times = [segment.time for segment in self._first]
        self._again.sort()
        self._longest = max((end - start for start, end, _ in self._again), default=0)
        self._next = 0

    def _fill(self, segments: Iterable[Segment]) -> None:
        high: int | None = None
        at, before = 0, None
        for segment in segments:
            if before is not None:
                at += (segment.seq - before + _WRAP // 2) % _WRAP - _WRAP // 2
            before = segment.seq
            end = at + segment.payload
            known = at if high is None else high
            if at < known and segment.arrival is not None:
                self._again.append((at, min(end, known), segment.arrival))
            if high is None or end > high:
                self._first.append(segment)
                self._ranges.append((max(at, known), end))
                high = end

    def passage(self, first_time: int, last_time: int, packets: int) -> Passage | None:
        """When the next message left and arrived; None where its segments are not there.

        Args:
            first_time: Of its first segment, by the sender's own clock.
            last_time: Of its last one.
            packets: Segments that carry its bytes for the first time: of segments with one time,
                those are the next message's that are more.
        """
        start = bisect_left(self._times, first_time, lo=self._next)
        end = min(bisect_right(self._times, last_time, lo=self._next), start + packets)
        if start >= end:
            return None
        self._next = end
        own = self._first[start:end]
        arrivals: list[int] = []
        is_known = True
        for segment, (low, high) in zip(own, self._ranges[start:end], strict=True):
            if segment.arrival is not None:
                arrivals.append(segment.arrival)
                continue
            again = self._arrival_again(low, high)
            is_known = is_known and again is not None
            arrivals += again or ()
        return Passage(
            (own[0].reference, own[-1].reference),
            (min(arrivals), max(arrivals)) if is_known else None,
            all(segment.is_delivered for segment in own),
        )

    def _arrival_again(self, low: int, high: int) -> tuple[int, int] | None:
        """When the first and the last of the bytes arrived that were sent again, if all did."""
        places = (bisect_left(self._again, (bound,)) for bound in (low - self._longest, high))
        found = sorted(
            (arrival, start, end)
            for start, end, arrival in self._again[slice(*places)]
            if end > low
        )
        missing = [(low, high)]
        for arrival, start, end in found:
            missing = [
                part
                for begin, stop in missing
                for part in ((begin, min(stop, start)), (max(begin, end), stop))
                if part[0] < part[1]
            ]
            if not missing:
                return found[0][0], arrival
        return None
