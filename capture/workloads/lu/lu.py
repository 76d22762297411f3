"""Factors a dense matrix into L and U with pivoting; ranks own blocks of columns.

Blocks are dealt to the ranks in turn. In each step, the owner of the next panel factors it, all
ranks get the panel (scattered, then passed round a ring), and each updates its blocks: network and
computing alternate.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import common
import matrix
import mpi
import rounds

APP = "lu"
MESSAGE_BYTES = 60 * 1024  # below the eager limit
MAX_ROWS = 16_384
# The error is scaled as in LINPACK: several units are usual, thousands are a fault.
MAX_RESIDUAL = 16.0
SPREAD, ROLL, PART = 1, 2, 3


class Solver:
    """One rank: the blocks that it owns, and its part of every step."""

    def __init__(self, ranks: mpi.Ranks, rows: int, width: int, seed: int) -> None:
        self.ranks = ranks
        self.rows = rows
        self.seed = seed
        self.starts = list(range(0, rows, width))
        self.widths = [min(width, rows - start) for start in self.starts]
        self.own = range(ranks.rank, len(self.starts), ranks.size)
        self.blocks = {number: self._original(number) for number in self.own}
        self.kernel = matrix.Kernel()
        self.swaps: list[tuple[int, np.ndarray]] = []
        self.flops = 0

    def _original(self, number: int) -> np.ndarray:
        return matrix.columns(self.seed, self.rows, self.starts[number], self.widths[number])

    def step(self, number: int, pace: common.Pace) -> None:
        """Factors one panel, sends it to all ranks, and applies it to all blocks right of it."""
        ranks, first, width = self.ranks, self.starts[number], self.widths[number]
        owner = number % ranks.size
        begin = ranks.now()
        if owner == ranks.rank:
            work = time.monotonic_ns()
            panel = self.blocks[number][:, first:].copy()
            pivots, flops = self.kernel.factor(panel)
            self._paced(pace, work, flops)
            packed = bytearray(pivots.tobytes() + panel.tobytes())
            ranks.phase("factor", begin, ranks.now(), step=number)
        else:
            packed = bytearray(4 * width + 8 * width * (self.rows - first))
        begin = ranks.now()
        self._broadcast(packed, owner)
        ranks.phase("broadcast", begin, ranks.now(), step=number)
        begin = ranks.now()
        pivots = np.frombuffer(packed, np.uint32, width)
        panel = np.frombuffer(packed, np.float64, offset=4 * width).reshape(width, -1)
        self.swaps.append((first, pivots))
        for other, block in self.blocks.items():
            work = time.monotonic_ns()
            if other == number:
                block[:, first:] = panel
                continue
            self.kernel.swap(block, first, pivots)
            if other > number:
                self._paced(pace, work, self.kernel.update(block, first, panel))
        ranks.phase("update", begin, ranks.now(), step=number)

    def _paced(self, pace: common.Pace, begin_ns: int, flops: int) -> None:
        pace.work(begin_ns, flops)
        self.flops += flops

    def _broadcast(self, data: bytearray, owner: int) -> None:
        """Scatters the owner's data over the ranks, then passes the parts round the ring.

        Every rank sends about as much as it receives, at the same time (van de Geijn).
        """
        ranks, rank, size = self.ranks, self.ranks.rank, self.ranks.size
        left, right = (rank - 1) % size, (rank + 1) % size
        edges = [len(data) * part // size for part in range(size + 1)]
        if rank == owner:
            for part in [(owner + step) % size for step in range(1, size)]:
                self._send(data, (edges[part], edges[part + 1]), part, SPREAD)
        else:
            self._receive(data, (edges[rank], edges[rank + 1]), owner, SPREAD)
        for step in range(size - 1):
            there, here = (rank - step) % size, (left - step) % size
            self._send(data, (edges[there], edges[there + 1]), right, ROLL)
            self._receive(data, (edges[here], edges[here + 1]), left, ROLL)
        ranks.flush()

    def _send(self, data: bytearray, span: tuple[int, int], to: int, tag: int) -> None:
        begin = self.ranks.now()
        for start in range(*span, MESSAGE_BYTES):
            self.ranks.post(bytes(data[start : min(start + MESSAGE_BYTES, span[1])]), to, tag)
        name = "spread" if tag == SPREAD else "roll"
        self.ranks.transfer(name, self.ranks.rank, to, span[1] - span[0], (begin, self.ranks.now()))

    def _receive(self, data: bytearray, span: tuple[int, int], source: int, tag: int) -> None:
        place = span[0]
        while place < span[1]:
            _, _, message = self.ranks.receive(source, tag)
            data[place : place + len(message)] = message
            place += len(message)

    def residual(self) -> float | None:
        """Returns the scaled error of P A x = L U x for a random x on rank 0, else None. Not timed.

        max |P A x - L U x| / (max |A x| * rows * epsilon).
        """
        chance = random.Random(self.seed + 1)  # noqa: S311 - not a secret
        x = np.array([chance.uniform(0.5, 1.0) for _ in range(self.rows)])
        spans = {number: slice(s, s + w) for number, (s, w) in enumerate(self._shape())}
        product = upper = lower = np.zeros(self.rows)
        for number, block in self.blocks.items():
            product = product + x[spans[number]] @ self._original(number)
            upper = upper + matrix.upper_times(block, self.starts[number], x[spans[number]])
        y = self._sum(upper)
        for number, block in self.blocks.items():
            lower = lower + matrix.lower_times(block, self.starts[number], y[spans[number]])
        lower = self._sum(lower)
        product = self._sum(product)
        if self.ranks.rank != 0:
            return None
        error = np.abs(matrix.swapped(product, self.swaps) - lower).max()
        return float(error / (np.abs(product).max() * self.rows * np.finfo(float).eps))

    def _shape(self) -> list[tuple[int, int]]:
        return list(zip(self.starts, self.widths, strict=True))

    def _sum(self, part: np.ndarray) -> np.ndarray:
        """Returns the sum over all ranks, on all ranks."""
        ranks = self.ranks
        if ranks.rank != 0:
            ranks.post(part.tobytes(), 0, PART)
            ranks.flush()
            return np.frombuffer(ranks.receive(0, PART)[2])
        for rank in range(1, ranks.size):
            part = part + np.frombuffer(ranks.receive(rank, PART)[2])
        for rank in range(1, ranks.size):
            ranks.post(part.tobytes(), rank, PART)
        ranks.flush()
        return part


def main(problem: dict[str, Any], compute: str, output: Path) -> None:
    """Checks the problem and runs this rank's part."""
    common.only(problem, "rows", "block", "seed", "flop_ns")
    rows = common.whole_number(problem, "rows", 1024, 2, MAX_ROWS)
    width = common.whole_number(problem, "block", min(64, rows), 1, rows)
    seed = common.whole_number(problem, "seed", 1, 0, 10**6)
    pace_ns = common.number(problem, "flop_ns", 2, 1e-3, 1e6)
    started, blocks = common.ranks_started(), -(-rows // width)
    if not 2 <= started <= blocks:
        expected = f"2 or more, and a block for each: blocks of {width} columns are {blocks}"
        raise common.BadProblemError("ranks", started, expected)
    ranks = mpi.Ranks(APP, problem, compute)
    solver = Solver(ranks, rows, width, seed)
    pace = common.Pace(pace_ns if compute == "paced" else None)
    start = rounds.start(ranks)
    for number in range(blocks):
        solver.step(number, pace)
    end = rounds.ended(ranks)
    residual = solver.residual()
    ranks.notes = {"flops": solver.flops, "computing_s": pace.computing_ns / 1e9}
    result: dict[str, Any] = {}
    if residual is not None:
        result = {
            "start": common.utc(start),
            "end": common.utc(start + round(end * 1e9)),
            "completion_s": end,
            "answer": {"residual": residual, "most": MAX_RESIDUAL, "panels": blocks},
            "correct": residual <= MAX_RESIDUAL,
        }
    ranks.finish(output, result)


if __name__ == "__main__":
    common.run(APP, main)
