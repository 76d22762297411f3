"""Sums numbers over all ranks, for all ranks, while they continue to work.

A round adds up what each rank offers and sends all ranks the total. It is a barrier (no rank ends
a round before all ranks have begun it) and, with counts of messages, detects termination.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import mpi

UP, DOWN, READY, GO, DONE = 30_000, 30_001, 30_002, 30_003, 30_004
TAGS = frozenset({UP, DOWN})
RING = 0


def start(ranks: mpi.Ranks) -> int:
    """Waits until all ranks are ready, starts their clocks; returns the time in ns since 1970."""
    if ranks.rank == 0:
        for rank in range(1, ranks.size):
            ranks.receive(rank, READY)
        for rank in range(1, ranks.size):
            ranks.send(b"", rank, GO)
    else:
        ranks.send(b"", 0, READY)
        ranks.receive(0, GO)
    ranks.start_clock()
    return time.time_ns()


def ended(ranks: mpi.Ranks) -> float:
    """Waits on rank 0 for the last rank to finish; returns the seconds since the start."""
    if ranks.rank != 0:
        ranks.send(b"", 0, DONE)
    else:
        for rank in range(1, ranks.size):
            ranks.receive(rank, DONE)
    return ranks.now()


class Rounds:
    """Successive rounds; `arity` is the number of children in the tree of ranks, or RING.

    In the tree, sums go up to rank 0 and the total comes down: 2 * depth successive messages. In
    the ring, a token with the sum visits all ranks in turn, twice.
    """

    def __init__(self, ranks: mpi.Ranks, arity: int, width: int) -> None:
        self._ranks = ranks
        self._format = struct.Struct(f"<{width}q")
        rank, size = ranks.rank, ranks.size
        if arity == RING:
            # The sum returns to rank 0 from the last rank; the total stops at the last rank.
            self._parent = (rank + 1) % size
            self._feeders = 0 if rank == 0 else 1
            self._children = [rank + 1] if rank + 1 < size else []
        else:
            children = range(arity * rank + 1, min(arity * rank + arity, size - 1) + 1)
            self._parent = (rank - 1) // arity
            self._feeders = len(children)
            self._children = list(children)
        self._ring = arity == RING
        self._begin()

    def _begin(self) -> None:
        self._sum = [0] * (self._format.size // 8)
        self._missing = self._feeders
        self.offered = False

    @property
    def awaited(self) -> bool:
        """Whether the round has reached this rank and waits for its offer."""
        return not (self._missing or self.offered)

    def offer(self, values: Sequence[int]) -> tuple[int, ...] | None:
        """Adds this rank's part to the round; returns the total if that completes it."""
        self.offered = True
        self._add(values)
        return self._pass_on()

    def take(self, tag: int, data: bytearray) -> tuple[int, ...] | None:
        """Takes a message with one of TAGS; returns the total if that ends the round."""
        values = self._format.unpack(data)
        if tag == DOWN:
            return self._end(values)
        if self._ring and self._ranks.rank == 0:
            return self._end(values)
        self._missing -= 1
        self._add(values)
        return self._pass_on()

    def _add(self, values: Sequence[int]) -> None:
        self._sum = [a + b for a, b in zip(self._sum, values, strict=True)]

    def _pass_on(self) -> tuple[int, ...] | None:
        if self._missing or not self.offered:
            return None
        if self._ranks.size == 1 or (self._ranks.rank == 0 and not self._ring):
            return self._end(self._sum)
        self._ranks.post(self._format.pack(*self._sum), self._parent, UP)
        return None

    def _end(self, total: Sequence[int]) -> tuple[int, ...]:
        # Before it sends the total, as an answer to that belongs to the next round.
        self._begin()
        for rank in self._children:
            self._ranks.post(self._format.pack(*total), rank, DOWN)
        return tuple(total)


class Termination:
    """Detects that no rank works and no message is in transit (Mattern's four-counter method).

    Every rank offers its numbers of sent and received messages, and only when it is idle. If the
    sums of two successive rounds are all equal, no message was in transit between the rounds.
    """

    def __init__(self) -> None:
        self._before: tuple[int, int] | None = None

    def is_over(self, sent: int, received: int) -> bool:
        """Returns the verdict on a complete round, which is the same on every rank."""
        before, self._before = self._before, (sent, received)
        return sent == received and before == (sent, received)
