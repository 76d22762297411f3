"""Finds every solution of a jigsaw puzzle whose pieces may be turned (Kitatsuji, section 2).

Rank 0 hands out first pieces. While a slave searches, it reports its progress to the master and
receives that of the others, in successive exchanges; the search never waits for an answer.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import common
import framing
import mpi
import puzzle
import rounds

APP = "jigsaw"
MAX_SIDE = 64
MAX_COLOURS = 10_000
BUSY_NODE_NS = 60  # about the kernel's time per node; sets the slice with compute: busy
PARTS = 16  # the smallest bundle of first pieces is this part of a slave's share
REPORT, REPLY, SOLUTIONS, DONE = range(1, 5)
NO_PIECE = b"\xff\xff"  # an empty place of a board
# Pieces laid, first pieces that wait, whether the slave is idle; followed by its deepest board.
REPORT_FORMAT = struct.Struct("<QI?")
# The range of first pieces to search next, whether the search is over, pieces laid by all slaves,
# pieces on the deepest board.
REPLY_FORMAT = struct.Struct("<II?QH")
DONE_FORMAT = struct.Struct("<QQQ")  # pieces laid, solutions, exchanges


class Search:
    """The compiled search below one first piece."""

    def __init__(self, pieces: list[puzzle.Edges], side: int) -> None:
        library = common.kernels()
        number, size, pointer = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p
        self._new = library.flowsweep_jigsaw_new
        self._new.restype, self._new.argtypes = pointer, (size, pointer)
        self._start = library.flowsweep_jigsaw_start
        self._start.restype, self._start.argtypes = ctypes.c_bool, (pointer, ctypes.c_uint16)
        self._step = library.flowsweep_jigsaw_step
        self._step.restype = ctypes.c_bool
        self._step.argtypes = (pointer, number, number, pointer, pointer)
        self._deepest = library.flowsweep_jigsaw_deepest
        self._deepest.restype, self._deepest.argtypes = size, (pointer, pointer)
        places = side * side
        self.most = max(1, framing.EAGER_PAYLOAD_BYTES // (2 * places))
        self._room = (ctypes.c_uint16 * (self.most * places))()
        self._counts = (number * 2)()
        edges = (ctypes.c_int16 * (4 * places))(*(edge for piece in pieces for edge in piece))
        self._search = self._new(side, edges)
        self._bytes = 2 * places
        self.is_done = True

    def start(self, first: int) -> None:
        """Lays the first piece."""
        if not self._start(self._search, first):
            raise ValueError(f"there is no piece {first // 4}")
        self.is_done = False

    def step(self, budget: int) -> tuple[int, bytes]:
        """Lays up to `budget` more pieces; returns how many, and the solutions found."""
        step = self._step(self._search, budget, self.most, self._room, self._counts)
        self.is_done = step
        nodes, solutions = self._counts
        return nodes, ctypes.string_at(self._room, solutions * self._bytes)

    def deepest(self) -> bytes:
        """Returns the board with the most pieces so far below this first piece."""
        laid = ctypes.string_at(self._room, 2 * self._deepest(self._search, self._room))
        return laid.ljust(self._bytes, NO_PIECE[:1])


def pieces_in(board: bytes | bytearray) -> int:
    """Returns the number of pieces on the first places of a board."""
    # A piece is below 2 ** 14, so the second byte of its number is not one of `NO_PIECE`.
    return len(board.rstrip(NO_PIECE)) // 2


def master(ranks: mpi.Ranks, tasks: int) -> tuple[float, list[bytearray], dict[str, int]]:
    """Hands out first pieces in shrinking bundles, answers reports, gathers solutions."""
    slaves = ranks.size - 1
    smallest = max(1, tasks // (slaves * PARTS))
    handed = deepest = exchanges = nodes = found = 0
    laid = dict.fromkeys(range(1, ranks.size), 0)
    bundle = dict.fromkeys(laid, 0)
    parts: list[bytearray] = []
    unfinished = set(laid)
    while unfinished:
        slave, tag, data = ranks.receive()
        if tag == SOLUTIONS:
            parts.append(data)
        elif tag == REPORT:
            laid[slave], waiting, idle = REPORT_FORMAT.unpack_from(data)
            deepest = max(deepest, pieces_in(data[REPORT_FORMAT.size :]))
            first = handed
            # Hands out the next bundle before the slave has searched the last one.
            if waiting <= bundle[slave] // 2:
                bundle[slave] = min(tasks - handed, max(smallest, (tasks - handed) // (2 * slaves)))
                handed += bundle[slave]
            over = idle and first == handed
            reply = REPLY_FORMAT.pack(first, handed, over, sum(laid.values()), deepest)
            ranks.post(reply, slave, REPLY)
        else:
            done = DONE_FORMAT.unpack(data)
            nodes, found, exchanges = nodes + done[0], found + done[1], exchanges + done[2]
            unfinished.remove(slave)
    counts = {"nodes": nodes, "claimed": found, "exchanges": exchanges, "first_pieces": tasks}
    return ranks.now(), parts, counts


class Slave:
    """One searcher and its exchanges with the master."""

    def __init__(self, ranks: mpi.Ranks, search: Search, pace: common.Pace, budget: int) -> None:
        self.ranks = ranks
        self.search = search
        self.pace = pace
        self.budget = budget
        self.waiting: deque[int] = deque()
        self.nodes = self.solutions = self.exchanges = 0
        self.is_answered = True
        self.is_over = False

    def work(self) -> None:
        """Searches until the master has no more work."""
        while not self.is_over:
            if self.search.is_done and self.waiting:
                self.search.start(self.waiting.popleft())
            idle = self.search.is_done
            if not idle:
                self._search()
            if self.is_answered:
                self._report(idle=idle)
            self._hear(wait=idle)
        done = DONE_FORMAT.pack(self.nodes, self.solutions, self.exchanges)
        self.ranks.send(done, 0, DONE)

    def _search(self) -> None:
        """Does one slice of work, over as many first pieces as it needs."""
        begin, left = time.monotonic_ns(), self.budget
        while left > 0:
            if self.search.is_done:
                if not self.waiting:
                    break
                self.search.start(self.waiting.popleft())
            nodes, solutions = self.search.step(left)
            left -= max(nodes, 1)
            self.nodes += nodes
            if solutions:
                self.solutions += len(solutions) // self.search._bytes  # noqa: SLF001
                self.ranks.post(solutions, 0, SOLUTIONS)
        self.pace.work(begin, self.budget - max(left, 0))

    def _report(self, *, idle: bool) -> None:
        head = REPORT_FORMAT.pack(self.nodes, len(self.waiting), idle)
        self.ranks.post(head + self.search.deepest(), 0, REPORT)
        self.is_answered = False

    def _hear(self, *, wait: bool) -> None:
        reply = self.ranks.receive(0, REPLY) if wait else self.ranks.poll(0, REPLY)
        if reply is None:
            return
        first, after, self.is_over, _, _ = REPLY_FORMAT.unpack(reply[2])
        self.waiting.extend(range(first, after))
        self.is_answered = True
        self.exchanges += 1


def check(
    pieces: list[puzzle.Edges], planted: list[int], side: int, parts: list[bytearray]
) -> tuple[int, int, bool]:
    """Counts different and wrong solutions, and looks for the planted one in its four turns."""
    size = 2 * side * side
    found = {
        struct.unpack(f"<{side * side}H", part[start : start + size])
        for part in parts
        for start in range(0, len(part), size)
    }
    wrong = sum(not puzzle.fits(pieces, side, laid) for laid in found)
    turns = [planted]
    for _ in range(3):
        turns.append(puzzle.quarter(turns[-1], side))
    return len(found), wrong, all(tuple(turn) in found for turn in turns)


def main(problem: dict[str, Any], compute: str, output: Path) -> None:
    """Checks the problem and runs this rank's part."""
    common.only(problem, "side", "colours", "seed", "node_ns", "slice_ms")
    side = common.whole_number(problem, "side", 5, 1, MAX_SIDE)
    colours = common.whole_number(problem, "colours", 6, 1, MAX_COLOURS)
    seed = common.whole_number(problem, "seed", 1, 0, 10**6)
    node_ns = common.number(problem, "node_ns", 1000, 1, 1e9)
    slice_ns = 1e6 * common.number(problem, "slice_ms", 2, 0.01, 1000)
    tasks = 4 * side * side
    slaves = common.ranks_started() - 1
    if not 1 <= slaves <= tasks:
        expected = f"a master and 1 to {tasks} slaves: there are {tasks} first pieces"
        raise common.BadProblemError("ranks", f"{slaves} slaves", expected)
    pieces, planted = puzzle.cut(side, colours, seed)
    ranks = mpi.Ranks(APP, problem, compute)
    if ranks.rank != 0:
        busy = compute == "busy"
        budget = max(1, round(slice_ns / (BUSY_NODE_NS if busy else node_ns)))
        pace = common.Pace(None if busy else node_ns)
        slave = Slave(ranks, Search(pieces, side), pace, budget)
        rounds.start(ranks)
        slave.work()
        ranks.phase("search", 0.0, ranks.now())
        ranks.notes = {
            "nodes": slave.nodes,
            "exchanges": slave.exchanges,
            "computing_s": pace.computing_ns / 1e9,
        }
        ranks.finish(output, {})
        return
    start = rounds.start(ranks)
    end, parts, counts = master(ranks, tasks)
    ranks.phase("serve", 0.0, end)
    different, wrong, has_planted = check(pieces, planted, side, parts)
    answer = {"solutions": different, "wrong": wrong, "planted_found": has_planted, **counts}
    whole = different == counts["claimed"] and different % 4 == 0
    result = {
        "start": common.utc(start),
        "end": common.utc(start + round(end * 1e9)),
        "completion_s": end,
        "answer": answer,
        "correct": has_planted and not wrong and (whole or side == 1),
    }
    ranks.finish(output, result)


if __name__ == "__main__":
    common.run(APP, main)
