"""Computes residuals and sweeps of a block of a grid, for equations with a known solution.

Each point has five values. The matrix has the diagonal block `DIAGONAL` * I + `COUPLING` * J (all
ones), -1 for each of the six neighbours, and damping by a fourth difference over two points each
way. Values outside the grid are 0. Arrays are [plane, row, column, part], with two layers of ghost
points around planes, rows and columns.
"""

from __future__ import annotations

import ctypes

import common
import numpy as np

PARTS = 5
GHOSTS = 2
DIAGONAL, COUPLING, DAMPING = 7.0, 0.1, 0.02
OMEGA = 1.2  # NPB's over-relaxation
INSIDE = slice(GHOSTS, -GHOSTS)


def exact(seed: int, spans: tuple[range, range, range], points: int) -> np.ndarray:
    """Returns the solution on a block of planes, rows and columns, and on its ghosts."""
    axes = [np.arange(span.start - GHOSTS, span.stop + GHOSTS) for span in spans]
    z, y, x = (np.expand_dims(axis, -1) for axis in np.ix_(*axes))
    parts = np.arange(1, PARTS + 1)
    inside = [(place >= 0) & (place < points) for place in (z, y, x)]
    phase = seed + 0.31 * x + 0.47 * y + 0.23 * z
    values: np.ndarray = np.sin(parts * phase) * (inside[0] & inside[1] & inside[2])
    return values


def applied(u: np.ndarray) -> np.ndarray:
    """Returns the matrix times a block; reads its ghosts, but the result has none."""
    centre = u[INSIDE, INSIDE, INSIDE]
    total = DIAGONAL * centre + COUPLING * centre.sum(axis=-1, keepdims=True)
    for axis in range(3):
        near, far = (_shifted(u, axis, step) for step in (1, 2))
        total = total - near + DAMPING * (6 * centre - 4 * near + far)
    done: np.ndarray = total
    return done


def _shifted(u: np.ndarray, axis: int, step: int) -> np.ndarray:
    """Returns the sum of the points `step` before and after along an axis."""
    places = [INSIDE] * 3
    size = u.shape[axis] - 2 * GHOSTS
    both = []
    for start in (GHOSTS - step, GHOSTS + step):
        places[axis] = slice(start, start + size)
        both.append(u[tuple(places)])
    total: np.ndarray = both[0] + both[1]
    return total


class Kernel:
    """The compiled sweep of one plane."""

    def __init__(self) -> None:
        size, pointer, real = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_double
        self._sweep = common.kernels().flowsweep_ssor_sweep
        self._sweep.restype = None
        self._sweep.argtypes = (pointer, pointer, size, size, real, real, real, ctypes.c_uint32)

    def sweep(self, v: np.ndarray, plane: int, *, upper: bool) -> None:
        """Sweeps a plane of `v`, whose previous plane and ghosts must be up to date."""
        before = v[plane + 1 if upper else plane - 1]
        here = v[plane]
        height, width = here.shape[:2]
        self._sweep(
            here.ctypes.data, before.ctypes.data, width, height, DIAGONAL, COUPLING, OMEGA, upper
        )
