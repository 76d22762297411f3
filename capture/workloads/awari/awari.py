"""Computes values of awari's endgames, database by database (Verstoep, sections 4 and 5).

Boards are spread evenly over the ranks. A rank sends jobs to the owners of other boards, combined
into messages, and waits only for the end of each phase: init (values of captures), then busy and
sync for every bound. The paper's five optimisations are switches.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import combining
import common
import mpi
import rounds

APP = "awari"
ENTRY_BYTES = 12
# A rank that is the first to learn of a phase's end already sends jobs of the next phase.
JOBS = (10, 11)
SWITCHES = (
    "tree_synchronisation",
    "autonomous_flush",
    "ring_per_destination",
    "tuned_polling",
    "large_messages",
)
SMALL_BYTES, LARGE_BYTES = 4096, 8192
OFTEN, SELDOM = 64, 512  # boards and jobs between two polls while computing
MESSAGES_PER_LOOK = 16
FLUSH_SHARE = 2  # an idle rank flushes one in this many destinations, fullest first
LOOK_S = 1e-3  # longest wait for a message while jobs are held back
NAMES = ("won", "lost", "drawn", "checksum")


class Databases(combining.Share):
    """The compiled share of one rank."""

    def __init__(self, rank: int, ranks: int) -> None:
        size, pointer = combining.SIZE, combining.POINTER
        super().__init__(
            "awari",
            ENTRY_BYTES,
            ((size, rank), (size, ranks)),
            begin=(ctypes.c_int64,),
            **{"raise": (None,)},
            settle=(None,),
            found=(ctypes.c_uint64,),
            work=(size, size, size),
            summary=(None, size, size, size, pointer),
        )
        self._rank, self._ranks = rank, ranks
        self._reference = self.function("reference", ctypes.c_bool, size, pointer)

    def begin(self, stones: int) -> int:
        """Begins the next database; returns the maximum of its boards on any rank."""
        most = int(self.call["begin"](self.share))
        if most < 0:
            raise ValueError(f"no database of {stones} stones")
        return most

    def raise_bound(self) -> None:
        """Begins the next bound."""
        self.call["raise"](self.share)

    def settle(self) -> None:
        """Keeps the results of the last bound."""
        self.call["settle"](self.share)

    def found(self) -> int:
        """Returns the number of boards found won or lost at this bound."""
        return int(self.call["found"](self.share))

    def work(self, limit: int, scan_limit: int) -> int:
        """Handles boards and makes jobs, about `limit`; returns how many, 0 if there is no work."""
        return int(self.call["work"](self.share, limit, scan_limit))

    def summary(self, stones: int) -> list[int]:
        """Returns NAMES of this rank's part of all databases."""
        out = (ctypes.c_uint64 * 4)()
        self.call["summary"](self.share, stones, self._rank, self._ranks, out)
        return list(out)

    def reference(self, stones: int) -> list[int]:
        """Returns NAMES of the whole databases, found by one thread with another method."""
        out = (ctypes.c_uint64 * 4)()
        self._reference(stones, out)
        return list(out)


class Sender:
    """Asynchronous sends from rings of descriptors; a full ring stalls until its oldest is done."""

    def __init__(self, ranks: mpi.Ranks, descriptors: int, *, per_destination: bool) -> None:
        self._ranks = ranks
        self._descriptors = descriptors
        self._per_destination = per_destination
        self._rings: dict[int, deque[Any]] = {}
        self.sent = self.stalls = 0
        self.stalled_s = 0.0

    def send(self, data: bytearray, to: int, tag: int) -> None:
        """Sends one message of jobs."""
        ring = self._rings.setdefault(to if self._per_destination else 0, deque())
        if len(ring) >= self._descriptors and not ring[0].Test():
            self.stalls += 1
            begin = self._ranks.now()
            while not ring[0].Test():
                time.sleep(mpi.PUSHING_POLL_S)
            self.stalled_s += self._ranks.now() - begin
        while ring and ring[0].Test():
            ring.popleft()
        ring.append(self._ranks.post(data, to, tag))
        self.sent += 1


class Worker:
    """One rank: its databases, its messages, its part in every synchronisation."""

    def __init__(
        self,
        ranks: mpi.Ranks,
        on: dict[str, bool],
        job_ns: float,
        barrier_boards: int,
        descriptors: int,
    ) -> None:
        self.ranks = ranks
        self.on = on
        self.databases = Databases(ranks.rank, ranks.size)
        self.sender = Sender(ranks, descriptors, per_destination=on["ring_per_destination"])
        self.rounds = rounds.Rounds(ranks, 2 if on["tree_synchronisation"] else rounds.RING, 4)
        self.pace = common.Pace(None if ranks.compute == "busy" else job_ns)
        self.batch = LARGE_BYTES if on["large_messages"] else SMALL_BYTES
        self.slice = SELDOM if on["tuned_polling"] else OFTEN
        self.barrier_boards = barrier_boards
        self.peers = combining.peers(ranks.rank, ranks.size)
        self.early: list[bytearray] = []
        self.received = self.phases = self.barriers = self.rounds_done = self.slices = 0
        self.offered_s = self.rounds_s = 0.0
        self.busy_until: float | None = None

    def phase(self, name: str, stones: int, most_boards: int) -> int:
        """Works until all ranks are idle; returns the total of boards won or lost at this bound.

        `most_boards`: the maximum of any rank, so that all ranks have the same number of barriers.
        """
        begin = self.ranks.now()
        self.phases += 1
        for data in self.early:
            self._absorb(data)
        self.early = []
        for boards in range(self.barrier_boards, most_boards, self.barrier_boards):
            # Regular barriers prevent faster ranks from flooding a slower one with work.
            self._round(boards, end=False)
            self.barriers += 1
        self.busy_until = None
        termination = rounds.Termination()
        total = self._round(most_boards, end=True)
        while not termination.is_over(*total[:2]):
            total = self._round(most_boards, end=True)
        idle = self.busy_until or begin
        self.ranks.phase(name, begin, idle, part=stones)
        self.ranks.phase("sync", idle, self.ranks.now(), part=stones)
        return total[2]

    def agree(self, values: list[int]) -> tuple[int, ...]:
        """Returns the sums of 4 numbers over all ranks, between two phases."""
        self.phases += 1
        total = self.rounds.offer(values)
        while total is None:
            _, tag, data = self.ranks.receive()
            total = self._take(tag, data)
        return total

    def _round(self, boards: int, *, end: bool) -> tuple[int, ...]:
        """Takes part in one round, and adds up how long this rank waited for the others in it."""
        total = self._until_round(boards, end=end)
        self.rounds_done += 1
        self.rounds_s += self.ranks.now() - self.offered_s
        return total

    def _until_round(self, boards: int, *, end: bool) -> tuple[int, ...]:
        """Works on up to `boards` of its own until the round of all ranks is complete.

        `end`: offers only when nothing is left to send, as termination detection requires.
        """
        while True:
            total = self._receive()
            if total is not None:
                return total
            begin = time.monotonic_ns()
            done = self.databases.work(self.slice, boards)
            if done:
                self.slices += 1
                self.pace.work(begin, done)
                self._send_full()
                continue
            if end and self.busy_until is None:
                self.busy_until = self.ranks.now()
            if self.on["autonomous_flush"]:
                self._flush_unasked()
            if self.rounds.awaited:
                total = self._offer(end=end)
                if total is not None:
                    return total
            self.ranks.wait(LOOK_S if self._held() else mpi.IDLE_POLL_S)

    def _offer(self, *, end: bool) -> tuple[int, ...] | None:
        """Offers this rank's part of the round, if it may; returns the total, if complete."""
        if not self.on["autonomous_flush"]:
            # Sends everything, in the order of the ranks.
            for peer in range(self.ranks.size):
                self._flush(peer)
        if end and self._held():
            return None
        self.offered_s = self.ranks.now()
        return self.rounds.offer((self.sender.sent, self.received, self.databases.found(), 0))

    def _receive(self) -> tuple[int, ...] | None:
        """Takes arrived messages; returns the total if a round ended."""
        for _ in range(MESSAGES_PER_LOOK):
            message = self.ranks.poll()
            if message is None:
                return None
            _, tag, data = message
            total = self._take(tag, data)
            if total is not None:
                return total
        return None

    def _take(self, tag: int, data: bytearray) -> tuple[int, ...] | None:
        if tag in rounds.TAGS:
            return self.rounds.take(tag, data)
        if tag == JOBS[self.phases % 2]:
            self._absorb(data)
        else:
            self.early.append(data)
        return None

    def _absorb(self, data: bytearray) -> None:
        begin = time.monotonic_ns()
        self.pace.work(begin, self.databases.absorb(data))
        self.received += 1

    def _held(self) -> int:
        return sum(self.databases.waiting(peer) for peer in self.peers)

    def _flush(self, peer: int) -> None:
        while data := self.databases.take(peer, self.batch):
            self.sender.send(data, peer, JOBS[self.phases % 2])

    def _send_full(self) -> None:
        for peer in self.peers:
            while self.databases.waiting(peer) >= self.batch // ENTRY_BYTES * ENTRY_BYTES:
                data = self.databases.take(peer, self.batch)
                self.sender.send(data, peer, JOBS[self.phases % 2])

    def _flush_unasked(self) -> None:
        """Sends the fullest of the held-back messages, when there is no work."""
        held = [peer for peer in self.peers if self.databases.waiting(peer)]
        held.sort(key=self.databases.waiting, reverse=True)
        for peer in held[: -(-len(self.peers) // FLUSH_SHARE)]:
            self._flush(peer)


def main(problem: dict[str, Any], compute: str, output: Path) -> None:
    """Checks the problem and runs this rank's part."""
    common.only(problem, "stones", "job_ns", "barrier_boards", "descriptors", *SWITCHES)
    stones = common.whole_number(problem, "stones", 8, 1, 15)
    job_ns = common.number(problem, "job_ns", 2000, 1, 1e9)
    barrier_boards = common.whole_number(problem, "barrier_boards", 5000, 1, 10**9)
    descriptors = common.whole_number(problem, "descriptors", 16, 1, 10_000)
    on = {name: common.switch(problem, name, default=True) for name in SWITCHES}
    if common.ranks_started() < 2:
        raise common.BadProblemError("ranks", common.ranks_started(), "at least 2")
    ranks = mpi.Ranks(APP, problem, compute, never_blocks=True)
    worker = Worker(ranks, on, job_ns, barrier_boards, descriptors)
    databases = worker.databases
    start = rounds.start(ranks)
    for stones_now in range(stones + 1):
        most = databases.begin(stones_now)
        worker.phase("init", stones_now, most)
        for _ in range(stones_now):
            databases.raise_bound()
            if not worker.phase("busy", stones_now, most):
                break
        databases.settle()
    end = ranks.now()
    total = worker.agree(databases.summary(stones))
    ranks.notes = {
        "job_messages": worker.sender.sent,
        "stalls": worker.sender.stalls,
        "stalled_s": worker.sender.stalled_s,
        "barriers": worker.barriers,
        "rounds": worker.rounds_done,
        "rounds_s": worker.rounds_s,
        "slices": worker.slices,
        "computing_s": worker.pace.computing_ns / 1e9,
    }
    result: dict[str, Any] = {}
    if ranks.rank == 0:
        found = dict(zip(NAMES, [*total[:3], total[3] & 0xFFFF_FFFF], strict=True))
        expected = dict(zip(NAMES, databases.reference(stones), strict=True))
        result = {
            "start": common.utc(start),
            "end": common.utc(start + round(end * 1e9)),
            "completion_s": end,
            "answer": {**found, "expected": expected},
            "correct": found == expected,
        }
    ranks.finish(output, result)


if __name__ == "__main__":
    common.run(APP, main)
