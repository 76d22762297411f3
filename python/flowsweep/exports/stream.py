"""Finds when the bytes of messages arrived, from the segments of one direction of a connection."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple

#: The modulus of sequence numbers.
_WRAP = 1 << 32


class Segment(NamedTuple):
    """A packet with payload in its sender's capture.

    Attributes:
        time: When it was sent, on the sender's own clock.
        seq: Its sequence number, as in the header.
        payload: Bytes that it carries.
        reference: When it was sent, on the reference clock; None if unknown.
        arrival: When it arrived, on the reference clock; None if unknown.
        is_delivered: Whether the receiver's capture contains it.
    """

    time: int
    seq: int
    payload: int
    reference: int | None
    arrival: int | None
    is_delivered: bool


class Passage(NamedTuple):
    """When a message left and arrived, on the reference clock; None if unknown.

    Attributes:
        sent: When its first and its last segment left.
        arrived: When its first and its last bytes arrived.
        is_delivered: Whether the receiver's capture contains all of its segments.
    """

    sent: tuple[int | None, int | None]
    arrived: tuple[int, int] | None
    is_delivered: bool


class Stream:
    """The segments of one direction; `passage` must be called in the order of the messages."""

    def __init__(self, segments: Iterable[Segment]) -> None:
        #: Segments that carry bytes for the first time, and the ranges of these bytes.
        self._first: list[Segment] = []
        self._ranges: list[tuple[int, int]] = []
        #: Retransmitted bytes that arrived: start, end, arrival.
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
        """Returns when the next message left and arrived; None if its segments are missing.

        Args:
            first_time: The time of its first segment, on the sender's own clock.
            last_time: The time of its last segment.
            packets: Number of segments that carry its bytes for the first time; further segments
                with the same time belong to the next message.
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
        """Returns the first and last arrival of these bytes as retransmissions, if all arrived."""
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
