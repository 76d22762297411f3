"""Checks all states of an elevator for a violated property (Maassen, 3.1).

States are hashed over all ranks, as in DiVinE: a rank expands its own states and sends others to
their owners, combined into messages of `batch_bytes`. Maximal accepting predecessors reveal
accepting cycles: the first phase generates the states, each further one searches the rest.
"""

from __future__ import annotations

import ctypes
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import combining
import common
import mpi
import rounds

APP = "modelcheck"
ENTRY_BYTES = 16  # state and value
SLICE_NS = 1_000_000  # of work between two checks for messages
BUSY_SLICE = 2000  # states
MESSAGES_PER_LOOK = 16
# A rank that is the first to learn of a phase's end already sends work of the next phase.
WORK = (10, 11)
NAMES = ("states", "edges", "accepting", "cycle")


class Search(combining.Share):
    """The compiled search of one rank."""

    def __init__(self, building: tuple[int, int, bool], rank: int, ranks: int) -> None:
        kinds = (ctypes.c_uint8, ctypes.c_uint8, ctypes.c_bool)
        size = combining.SIZE
        super().__init__(
            "elevator",
            ENTRY_BYTES,
            (*zip(kinds, building, strict=True), (size, rank), (size, ranks)),
            work=(size, size),
            shrink=(size,),
            counts=(None, combining.POINTER),
        )
        self._reference = self.function("reference", None, *kinds, combining.POINTER)
        self._building = building

    def work(self, limit: int) -> int:
        """Expands up to `limit` states; returns how many."""
        return int(self.call["work"](self.share, limit))

    def shrink(self) -> int:
        """Ends a phase; returns how many accepting states may still be on a cycle."""
        return int(self.call["shrink"](self.share))

    def counts(self) -> list[int]:
        """Returns NAMES of this rank."""
        out = (ctypes.c_uint64 * 4)()
        self.call["counts"](self.share, out)
        return list(out)

    def reference(self) -> list[int]:
        """Returns NAMES of the whole model, found by one thread with another method."""
        out = (ctypes.c_uint64 * 4)()
        self._reference(*self._building, out)
        return list(out)


class Worker:
    """One rank: its search, its messages, its part in termination detection."""

    def __init__(
        self, ranks: mpi.Ranks, search: Search, batch: int, flush_limit: float, state_ns: float
    ) -> None:
        self.ranks = ranks
        self.search = search
        self.batch = batch // ENTRY_BYTES * ENTRY_BYTES
        self.flush_gap_s = 1 / flush_limit if flush_limit else 0.0
        self.next_flush = 0.0
        busy = ranks.compute == "busy"
        self.pace = common.Pace(None if busy else state_ns)
        self.slice = BUSY_SLICE if busy else max(1, round(SLICE_NS / state_ns))
        self.peers = combining.peers(ranks.rank, ranks.size)
        self.rounds = rounds.Rounds(ranks, arity=rounds.RING, width=4)
        self.sent = self.received = self.partial = self.peak_posted = 0
        self.early: list[bytearray] = []

    def phase(self, number: int) -> None:
        """Works, sends and receives until all ranks are idle and no message is in transit."""
        termination = rounds.Termination()
        self._absorb(self.early)
        self.early = []
        while True:
            ended = self._receive(number, termination)
            if ended:
                return
            begin = time.monotonic_ns()
            done = self.search.work(self.slice)
            if done:
                self.pace.work(begin, done)
            self._send_full(number)
            if done:
                continue
            if not self._flush(number) and not self.rounds.offered:
                total = self.rounds.offer((self.sent, self.received, 0, 0))
                if total is not None and termination.is_over(*total[:2]):
                    return
            self.peak_posted = max(self.peak_posted, self.ranks.posted())
            left = self.next_flush - self.ranks.now() if self._wants_flush() else 1.0
            self.ranks.wait(max(0.0, min(mpi.IDLE_POLL_S, left)))

    def agree(self, *values: int) -> tuple[int, ...]:
        """Returns the sums of up to 4 numbers over all ranks, between two phases."""
        total = self.rounds.offer((*values, 0, 0, 0, 0)[:4])
        while total is None:
            _, tag, data = self.ranks.receive()
            if tag in rounds.TAGS:
                total = self.rounds.take(tag, data)
            else:
                # Work of the next phase.
                self.early.append(data)
        return total

    def _receive(self, number: int, termination: rounds.Termination) -> bool:
        for _ in range(MESSAGES_PER_LOOK):
            message = self.ranks.poll()
            if message is None:
                return False
            _, tag, data = message
            if tag in rounds.TAGS:
                total = self.rounds.take(tag, data)
                if total is not None and termination.is_over(*total[:2]):
                    return True
            elif tag == WORK[number % 2]:
                self._absorb([data])
            else:
                self.early.append(data)
        return False

    def _absorb(self, messages: list[bytearray]) -> None:
        for data in messages:
            self.search.absorb(data)
            self.received += 1

    def _send(self, peer: int, number: int) -> None:
        self.ranks.post(self.search.take(peer, self.batch), peer, WORK[number % 2])
        self.sent += 1

    def _send_full(self, number: int) -> None:
        for peer in self.peers:
            while self.search.waiting(peer) >= self.batch:
                self._send(peer, number)

    def _wants_flush(self) -> bool:
        return any(self.search.waiting(peer) for peer in self.peers)

    def _flush(self, number: int) -> bool:
        """Sends partial batches if there is no local work; returns whether any is held back."""
        if not self._wants_flush():
            return False
        if self.ranks.now() < self.next_flush:
            return True
        for peer in self.peers:
            if self.search.waiting(peer):
                self._send(peer, number)
                self.partial += 1
        self.next_flush = self.ranks.now() + self.flush_gap_s
        return False


def main(problem: dict[str, Any], compute: str, output: Path) -> None:
    """Checks the problem and runs this rank's part."""
    names = ("floors", "persons", "controller", "batch_bytes", "flush_rate_limit", "state_ns")
    common.only(problem, *names)
    floors = common.whole_number(problem, "floors", 6, 2, 16)
    persons = common.whole_number(problem, "persons", 3, 1, 6)
    clever = common.choice(problem, "controller", ("clever", "naive")) == "clever"
    batch = common.whole_number(problem, "batch_bytes", 8192, ENTRY_BYTES, 65_520)
    flush_limit = common.number(problem, "flush_rate_limit", 0, 0, 1e6)
    state_ns = common.number(problem, "state_ns", 10_000, 1, 1e9)
    if common.ranks_started() < 2:
        raise common.BadProblemError("ranks", common.ranks_started(), "at least 2")
    ranks = mpi.Ranks(APP, problem, compute, never_blocks=True)
    search = Search((floors, persons, clever), ranks.rank, ranks.size)
    worker = Worker(ranks, search, batch, flush_limit, state_ns)
    start = rounds.start(ranks)
    accepting = None
    number = 0
    while True:
        begin = ranks.now()
        worker.phase(number)
        name = "generate" if number == 0 else "propagate"
        ranks.phase(name, begin, ranks.now(), part=number)
        counts = search.counts()
        accepting = counts[2] if accepting is None else accepting
        number += 1
        cycle, left, *_ = worker.agree(counts[3], search.shrink())
        if cycle or not left:
            break
    end = ranks.now()
    states, edges, _, cycle = search.counts()
    total = worker.agree(states, edges, accepting, cycle)
    ranks.notes = {
        "states": states,
        "batches": worker.sent,
        "partial_batches": worker.partial,
        "peak_posted": worker.peak_posted,
        "computing_s": worker.pace.computing_ns / 1e9,
    }
    result: dict[str, Any] = {}
    if ranks.rank == 0:
        found = dict(zip(NAMES, [*total[:3], int(total[3] > 0)], strict=True))
        expected = dict(zip(NAMES, search.reference(), strict=True))
        result = {
            "start": common.utc(start),
            "end": common.utc(start + round(end * 1e9)),
            "completion_s": end,
            "answer": {**found, "phases": number, "expected": expected},
            "correct": found == expected,
        }
    ranks.finish(output, result)


if __name__ == "__main__":
    common.run(APP, main)
