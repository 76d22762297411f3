"""Finds all placements of N queens, with a master and slaves (Kitatsuji, section 2).

Rank 0 hands out sub-boards (with the first rows placed) one at a time, on request. A slave
keeps its solutions, and returns all of them when no sub-board is left.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import struct
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import common
import mpi

APP = "nqueens"
# Number of solutions for boards 1.. (OEIS A000170).
KNOWN = (1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512)
MAX_BOARD = len(KNOWN)
QUEEN_BYTES = 4  # of a column in a message: an integer, as the paper's data volumes imply
RETURN_BYTES = 60 * 1024  # of solutions in one message: below the eager limit
SPOT_CHECKS = 1000

READY, GO, REQUEST, TASK, NO_MORE, SOLUTIONS, DONE, BYE = range(1, 9)
DONE_FORMAT = struct.Struct("<QQ")  # solutions, nodes


def sub_boards(board: int, rows: int) -> list[bytes]:
    """Returns all placements of queens in the first `rows` rows that do not attack each other."""
    parts = [b""]
    for row in range(rows):
        parts = [
            part + bytes([column])
            for part in parts
            for column in range(board)
            if all(
                other != column and abs(other - column) != row - above
                for above, other in enumerate(part)
            )
        ]
    return parts


def is_solution(columns: Sequence[int]) -> bool:
    """Returns whether no two queens attack each other, by another test than the kernel's."""
    board = len(columns)
    return (
        {*columns} == {*range(board)}
        and len({row + column for row, column in enumerate(columns)}) == board
        and len({row - column for row, column in enumerate(columns)}) == board
    )


class Kernel:
    """The compiled search of one sub-board."""

    def __init__(self, board: int) -> None:
        self.board = board
        self._search = common.kernels().flowsweep_nqueens
        self._search.restype = ctypes.c_int64
        self._search.argtypes = (
            ctypes.c_uint32,
            ctypes.c_char_p,
            ctypes.c_size_t,
            ctypes.c_void_p,
            ctypes.c_uint64,
            ctypes.POINTER(ctypes.c_uint64),
        )
        self._capacity = 1 << 14
        self._room = ctypes.create_string_buffer(self._capacity * board)

    def solve(self, task: bytes) -> tuple[bytes, int]:
        """Returns the concatenated solutions below a sub-board, and the number of visited nodes."""
        nodes = ctypes.c_uint64()
        while True:
            found = self._search(
                self.board, task, len(task), self._room, self._capacity, ctypes.byref(nodes)
            )
            if found < 0:
                raise ValueError(f"sub-board {list(task)} is not one of board {self.board}")
            if found <= self._capacity:
                return ctypes.string_at(self._room, found * self.board), nodes.value
            self._capacity = 2 * found
            self._room = ctypes.create_string_buffer(self._capacity * self.board)


class Computed:
    """All sub-boards, solved once per machine before the clock starts, for all its ranks."""

    def __init__(self, kernel: Kernel, tasks: list[bytes]) -> None:
        job = os.environ.get("PMIX_NAMESPACE", "alone").replace("/", "-")
        shape = f"{kernel.board}-{len(tasks)}"
        place = f"{tempfile.gettempdir()}/{APP}-{os.getuid()}-{job}-{shape}"
        self._files = [Path(f"{place}.{end}") for end in ("json", "solutions", "lock")]
        index, data, locked = self._files
        with locked.open("w") as lock:
            # One rank computes while the others wait here, so that its time is undisturbed.
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not index.exists():
                self._compute(kernel, tasks, index, data)
        found = json.loads(index.read_text())
        self.measured_node_ns: float = found["node_ns"]
        self._spans: dict[bytes, tuple[int, int, int]] = {
            task: tuple(span) for task, span in zip(tasks, found["spans"], strict=True)
        }
        self._data = data.open("rb")

    def remove(self) -> None:
        """Removes the files from this machine."""
        for path in self._files:
            path.unlink(missing_ok=True)

    @staticmethod
    def _compute(kernel: Kernel, tasks: list[bytes], index: Path, data: Path) -> None:
        spans, offset, used = [], 0, 0
        with data.open("wb") as out:
            for task in tasks:
                before = time.thread_time_ns()
                solutions, nodes = kernel.solve(task)
                used += time.thread_time_ns() - before
                out.write(solutions)
                spans.append((offset, len(solutions), nodes))
                offset += len(solutions)
        nodes = sum(span[2] for span in spans)
        index.write_text(json.dumps({"node_ns": used / max(nodes, 1), "spans": spans}))

    def solve(self, task: bytes) -> tuple[bytes, int]:
        """Does the same as `Kernel.solve`, from the stored solutions."""
        offset, size, nodes = self._spans[task]
        return os.pread(self._data.fileno(), size, offset), nodes


def master(ranks: mpi.Ranks, board: int, tasks: list[bytes]) -> dict[str, Any]:
    """Hands out the sub-boards and gathers the solutions; returns the answer and its time."""
    slaves = range(1, ranks.size)
    for slave in slaves:
        ranks.receive(slave, READY)
    start = time.time_ns()
    ranks.start_clock()
    for slave in slaves:
        ranks.send(b"", slave, GO)
    waiting = list(reversed(tasks))
    sample = Sample(board)
    nodes = claimed = 0
    unfinished = set(slaves)
    last_task = first_return = 0.0
    while unfinished:
        slave, tag, data = ranks.receive()
        if tag == REQUEST:
            if waiting:
                ranks.send(waiting.pop(), slave, TASK)
            else:
                ranks.send(b"", slave, NO_MORE)
                last_task = ranks.now()
        elif tag == SOLUTIONS:
            first_return = first_return or ranks.now()
            sample.take(data)
        elif tag == DONE:
            solutions, visited = DONE_FORMAT.unpack(data)
            claimed += solutions
            nodes += visited
            ranks.send(b"", slave, BYE)
            unfinished.remove(slave)
    end = ranks.now()
    ranks.phase("distribute", 0.0, last_task)
    ranks.phase("return", first_return or end, end)
    answer, correct = check(sample, claimed)
    return {
        "start": common.utc(start),
        "end": common.utc(start + round(end * 1e9)),
        "completion_s": end,
        "answer": {**answer, "nodes": nodes, "tasks": len(tasks)},
        "correct": correct,
    }


class Sample:
    """The number of returned solutions, and a sample: all of board 16 would be 0.9 GB."""

    def __init__(self, board: int) -> None:
        self.board = board
        self.returned = 0
        self.boards: list[tuple[int, ...]] = []
        self._step = max(1, KNOWN[board - 1] // SPOT_CHECKS)

    def take(self, message: bytes | bytearray) -> None:
        """Counts the solutions of a message, and keeps every `_step`-th solution."""
        size = self.board * QUEEN_BYTES
        number = len(message) // size
        for place in range(-self.returned % self._step, number, self._step):
            self.boards.append(columns(message[place * size : (place + 1) * size]))
        self.returned += number


def encoded(solutions: bytes) -> bytearray:
    """Encodes columns for the network, as one little-endian integer each."""
    message = bytearray(len(solutions) * QUEEN_BYTES)
    message[::QUEEN_BYTES] = solutions
    return message


def columns(message: bytes | bytearray) -> tuple[int, ...]:
    """Decodes the columns of a message."""
    return struct.unpack(f"<{len(message) // QUEEN_BYTES}I", message)


def check(sample: Sample, claimed: int) -> tuple[dict[str, int], bool]:
    """Checks the number of solutions, and the boards of the sample."""
    expected = KNOWN[sample.board - 1]
    wrong = sum(not is_solution(one) for one in sample.boards)
    correct = sample.returned == claimed == expected and wrong == 0
    answer = {
        "solutions": sample.returned,
        "expected": expected,
        "checked": len(sample.boards),
        "wrong": wrong,
    }
    return answer, correct


def slave(ranks: mpi.Ranks, board: int, solver: Kernel | Computed, node_ns: float | None) -> None:
    """Requests, solves and keeps; returns all solutions at the end."""
    ranks.send(b"", 0, READY)
    ranks.receive(0, GO)
    ranks.start_clock()
    kept: list[bytes] = []
    nodes = 0
    computing = worst_late = 0.0
    first_task: float | None = None
    while True:
        ranks.send(b"", 0, REQUEST)
        _, tag, data = ranks.receive(0)
        received = ranks.now()
        if tag == NO_MORE:
            break
        first_task = received if first_task is None else first_task
        begin = time.monotonic_ns()
        solutions, visited = solver.solve(bytes(data))
        if node_ns is not None:
            deadline = begin + round(visited * node_ns)
            common.sleep_until(deadline)
            worst_late = max(worst_late, (time.monotonic_ns() - deadline) / 1e9)
        computing += (time.monotonic_ns() - begin) / 1e9
        kept.append(solutions)
        nodes += visited
    everything = b"".join(kept)
    size = RETURN_BYTES // (board * QUEEN_BYTES) * board
    for place in range(0, len(everything), size):
        ranks.send(encoded(everything[place : place + size]), 0, SOLUTIONS)
    ranks.send(DONE_FORMAT.pack(len(everything) // board, nodes), 0, DONE)
    ranks.receive(0, BYE, pushing=True)
    end = ranks.now()
    first = received if first_task is None else first_task
    ranks.phase("distribute", 0.0, first)
    ranks.phase("compute", first, received)
    ranks.phase("return", received, end)
    ranks.notes = {
        "tasks": len(kept),
        "nodes": nodes,
        "computing_s": computing,
        "worst_pace_late_s": worst_late,
    }


def main(problem: dict[str, Any], compute: str, output: Path) -> None:
    """Checks the problem, before MPI starts where possible, and runs this rank's part."""
    common.only(problem, "board", "split", "node_ns")
    board = common.whole_number(problem, "board", 12, 1, MAX_BOARD)
    split = common.whole_number(problem, "split", min(2, board), 1, min(4, board))
    # Without node_ns, `Computed` measures the time.
    node_ns = problem.get("node_ns")
    if node_ns is not None:
        node_ns = common.number(problem, "node_ns", 1, 1e-3, 1e6)
    tasks = sub_boards(board, split)
    slaves = common.ranks_started() - 1
    if slaves < 1:
        raise common.BadProblemError("ranks", slaves + 1, "a master and at least 1 slave")
    if slaves > len(tasks):
        expected = (
            f"at most {len(tasks)} slaves: board {board} with split {split} has no more tasks"
        )
        raise common.BadProblemError("ranks", f"{slaves} slaves", expected)
    ranks = mpi.Ranks(APP, problem, compute)
    if ranks.rank == 0:
        ranks.finish(output, master(ranks, board, tasks))
        return
    kernel = Kernel(board)
    if compute == "busy":
        slave(ranks, board, kernel, None)
    else:
        computed = Computed(kernel, tasks)
        node_ns = node_ns or computed.measured_node_ns
        slave(ranks, board, computed, node_ns)
        ranks.notes["node_ns"] = node_ns
        # All ranks had opened the files before the first task was handed out.
        computed.remove()
    ranks.finish(output, {})


if __name__ == "__main__":
    common.run(APP, main)
