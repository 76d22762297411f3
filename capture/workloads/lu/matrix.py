"""Makes a real matrix from a seed, block by block, and multiplies its factors for a check.

The matrix is never sent: every rank makes its own columns, and makes them again for the check.
"""

from __future__ import annotations

import ctypes

import common
import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def columns(seed: int, rows: int, first: int, count: int) -> np.ndarray:
    """Makes `count` columns from column `first`, as rows of the array; values in [-0.5, 0.5)."""
    index = np.arange(first * rows, (first + count) * rows, dtype=np.uint64)
    # splitmix64 of seed and index.
    bits = (index + np.uint64(seed << 40)) * GOLDEN
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    values = (bits >> np.uint64(11)).astype(np.float64) / 2.0**53 - 0.5
    return values.reshape(count, rows)


class Kernel:
    """The compiled steps on column-major doubles; `factor` and `update` count their operations."""

    def __init__(self) -> None:
        library = common.kernels()
        size, pointer = ctypes.c_size_t, ctypes.c_void_p
        self._factor = library.flowsweep_lu_factor
        self._factor.restype = size
        self._factor.argtypes = (pointer, size, size, pointer)
        self._swap = library.flowsweep_lu_swap
        self._swap.argtypes = (pointer, size, size, size, pointer, size)
        self._update = library.flowsweep_lu_update
        self._update.argtypes = (pointer, size, size, size, pointer, size)

    def factor(self, panel: np.ndarray) -> tuple[np.ndarray, int]:
        """Factors a panel in place; returns its row swaps."""
        width, rows = panel.shape
        pivots = np.empty(width, np.uint32)
        fault = self._factor(panel.ctypes.data, rows, width, pivots.ctypes.data)
        if fault:
            raise ValueError(f"column {fault - 1} of the panel has no pivot: no inverse")
        return pivots, rows * width * width - width**3 // 3

    def swap(self, block: np.ndarray, first: int, pivots: np.ndarray) -> None:
        """Swaps rows of a block of columns like those of a panel, whose first row is `first`."""
        count, rows = block.shape
        self._swap(block.ctypes.data, rows, count, first, pivots.ctypes.data, len(pivots))

    def update(self, block: np.ndarray, first: int, panel: np.ndarray) -> int:
        """Updates a block of columns right of the panel to its part of U and the remainder."""
        count, rows = map(int, block.shape)
        width: int = len(panel)
        self._update(block.ctypes.data, rows, count, first, panel.ctypes.data, width)
        return count * (width * width + 2 * (rows - first - width) * width)


def upper_times(block: np.ndarray, first: int, x: np.ndarray) -> np.ndarray:
    """Returns the contribution to U x of the columns from column `first`."""
    part = np.zeros(block.shape[1])
    for number, column in enumerate(block):
        part[: first + number + 1] += column[: first + number + 1] * x[number]
    return part


def lower_times(block: np.ndarray, first: int, y: np.ndarray) -> np.ndarray:
    """Returns the contribution to L y of columns from `first`; L has ones on its diagonal."""
    part = np.zeros(block.shape[1])
    for number, column in enumerate(block):
        row = first + number
        part[row] += y[number]
        part[row + 1 :] += column[row + 1 :] * y[number]
    return part


def swapped(values: np.ndarray, swaps: list[tuple[int, np.ndarray]]) -> np.ndarray:
    """Returns a column with its rows swapped like those of all panels."""
    values = values.copy()
    for first, pivots in swaps:
        for step, pivot in enumerate(pivots):
            a, b = first + step, first + int(pivot)
            values[[a, b]] = values[[b, a]]
    return values
