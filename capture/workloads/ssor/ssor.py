"""Solves a sparse linear system by SSOR, with the communication of NPB's LU (Kitatsuji, section 2).

The rows and columns of all planes are divided over a rectangle of ranks. A lower sweep goes plane
by plane from one corner to the other, an upper sweep back: for each plane, a rank waits for an edge
of two neighbours and sends its own to the two others. Then all exchange two layers of the solution.
"""

from __future__ import annotations

import math
import struct
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import common
import field
import mpi
import rounds

APP = "ssor"
MESSAGE_BYTES = 60 * 1024  # below the eager limit
MOST_SIDE = 258
SHRINKS = 0.5  # maximum factor of the error per iteration
ROUNDED = 1e-12  # smaller errors are rounding errors
EDGE, LAYERS, WORST = 1, 2, 3
G, INSIDE = field.GHOSTS, field.INSIDE
ROWS, COLUMNS = 0, 1


def rectangle(ranks: int) -> tuple[int, int]:
    """Returns rows and columns of ranks, as close to a square as possible."""
    rows = max(count for count in range(1, math.isqrt(ranks) + 1) if ranks % count == 0)
    return rows, ranks // rows


def part(points: int, parts: int, number: int) -> range:
    """Returns the points of one of several parts of nearly equal size."""
    return range(points * number // parts, points * (number + 1) // parts)


class Solver:
    """One rank: its block of the grid, and its neighbours."""

    def __init__(self, ranks: mpi.Ranks, side: int, seed: int) -> None:
        self.ranks = ranks
        self.points = side - 2  # boundary points are given
        shape = rectangle(ranks.size)
        place = divmod(ranks.rank, shape[COLUMNS])
        # The ranks one row or column before and after; none at the border.
        stride = (shape[COLUMNS], 1)
        self.near = {
            (axis, step): ranks.rank + step * stride[axis]
            for axis in (ROWS, COLUMNS)
            for step in (-1, 1)
            if 0 <= place[axis] + step < shape[axis]
        }
        rows, columns = (part(self.points, shape[axis], place[axis]) for axis in (ROWS, COLUMNS))
        self.exact = field.exact(seed, (range(self.points), rows, columns), self.points)
        self.right = field.applied(self.exact)
        self.u = np.zeros_like(self.exact)
        self.kernel = field.Kernel()
        self.plane_points = len(rows) * len(columns)

    def iterate(self, number: int, pace: common.Pace) -> None:
        """Does one iteration: residuals, both sweeps, correction, exchange of layers."""
        ranks = self.ranks
        begin = ranks.now()
        work = time.monotonic_ns()
        v = np.zeros_like(self.u)
        v[INSIDE, INSIDE, INSIDE] = self.right - field.applied(self.u)
        pace.work(work, self.plane_points * self.points)
        ranks.phase("residual", begin, ranks.now(), step=number)
        for name, step in (("lower", -1), ("upper", 1)):
            begin = ranks.now()
            planes = range(G, G + self.points)
            for plane in planes if name == "lower" else reversed(planes):
                self._plane(v, plane, step, pace)
            ranks.phase(name, begin, ranks.now(), step=number)
        begin = ranks.now()
        scale = field.OMEGA * (2 - field.OMEGA)
        self.u[INSIDE, INSIDE, INSIDE] += scale * v[INSIDE, INSIDE, INSIDE]
        for axis in (ROWS, COLUMNS):
            for step in (1, -1):
                self._shift(axis, step)
        ranks.phase("exchange", begin, ranks.now(), step=number)

    def _plane(self, v: np.ndarray, plane: int, step: int, pace: common.Pace) -> None:
        """Waits for edges of the neighbours on one side, sweeps, sends edges to the other side."""
        for axis in (ROWS, COLUMNS):
            if (source := self.near.get((axis, step))) is not None:
                ghost = v[plane][self._ghosts(axis, step, 1)]
                _, _, edge = self.ranks.receive(source, EDGE)
                ghost[...] = np.frombuffer(edge).reshape(ghost.shape)
        work = time.monotonic_ns()
        self.kernel.sweep(v, plane, upper=step > 0)
        pace.work(work, self.plane_points)
        for axis in (ROWS, COLUMNS):
            if (to := self.near.get((axis, -step))) is not None:
                self.ranks.post(v[plane][self._own(axis, -step, 1)].tobytes(), to, EDGE)

    def _shift(self, axis: int, step: int) -> None:
        """Sends the last two layers to one neighbour, and receives those of the opposite one."""
        ranks, to, source = self.ranks, self.near.get((axis, step)), self.near.get((axis, -step))
        if to is not None:
            begin = ranks.now()
            data = self.u[(INSIDE, *self._own(axis, step, G))].tobytes()
            for start in range(0, len(data), MESSAGE_BYTES):
                ranks.post(data[start : start + MESSAGE_BYTES], to, LAYERS)
            ranks.transfer("layers", ranks.rank, to, len(data), (begin, ranks.now()))
        if source is not None:
            ghost = self.u[(INSIDE, *self._ghosts(axis, -step, G))]
            layers = bytearray()
            while len(layers) < ghost.nbytes:
                layers += ranks.receive(source, LAYERS)[2]
            ghost[...] = np.frombuffer(layers).reshape(ghost.shape)
        ranks.flush()

    @staticmethod
    def _own(axis: int, step: int, layers: int) -> tuple[slice, ...]:
        """Returns rows and columns of the outermost layers on one side."""
        edge = slice(-G - layers, -G) if step > 0 else slice(G, G + layers)
        return (edge, INSIDE) if axis == ROWS else (INSIDE, edge)

    @staticmethod
    def _ghosts(axis: int, step: int, layers: int) -> tuple[slice, ...]:
        """Returns rows and columns of the innermost ghosts on one side."""
        edge = slice(-G, layers - G or None) if step > 0 else slice(G - layers, G)
        return (edge, INSIDE) if axis == ROWS else (INSIDE, edge)

    def error(self) -> float | None:
        """Returns the largest error of any value on rank 0, else None. Not timed."""
        own = float(np.abs(self.u - self.exact)[INSIDE, INSIDE, INSIDE].max())
        if self.ranks.rank != 0:
            self.ranks.send(struct.pack("<d", own), 0, WORST)
            return None
        for rank in range(1, self.ranks.size):
            own = max(own, *struct.unpack("<d", self.ranks.receive(rank, WORST)[2]))
        return own


def main(problem: dict[str, Any], compute: str, output: Path) -> None:
    """Checks the problem and runs this rank's part."""
    common.only(problem, "side", "iterations", "seed", "point_ns")
    side = common.whole_number(problem, "side", 36, 6, MOST_SIDE)
    iterations = common.whole_number(problem, "iterations", 50, 1, 1000)
    seed = common.whole_number(problem, "seed", 1, 0, 10**6)
    pace_ns = common.number(problem, "point_ns", 1200, 1, 1e6)
    started = common.ranks_started()
    most = (side - 2) // G
    if started < 2 or max(rectangle(started)) > most:
        expected = f"2 or more, and {G} points for each: at most {most} rows and columns of ranks"
        raise common.BadProblemError("ranks", started, expected)
    ranks = mpi.Ranks(APP, problem, compute)
    solver = Solver(ranks, side, seed)
    pace = common.Pace(pace_ns if compute == "paced" else None)
    start = rounds.start(ranks)
    for number in range(iterations):
        solver.iterate(number, pace)
    end = rounds.ended(ranks)
    error = solver.error()
    ranks.notes = {"computing_s": pace.computing_ns / 1e9}
    result: dict[str, Any] = {}
    if error is not None:
        limit = max(SHRINKS**iterations, ROUNDED)
        result = {
            "start": common.utc(start),
            "end": common.utc(start + round(end * 1e9)),
            "completion_s": end,
            "answer": {"error": error, "most": limit, "iterations": iterations},
            "correct": error <= limit,
        }
    ranks.finish(output, result)


if __name__ == "__main__":
    common.run(APP, main)
