"""Sweeps generated from a known curve: eleven shapes, several grids, two kinds of noise.

Noise: a run takes `truth * exp(spread * z)`, z normal, so that the true median is the curve. In the
shape "one outlier" z has Student's t distribution with 3 degrees of freedom, and one run of the
sweep, possibly of the baseline, takes half as long again. In "noisy baseline" the baseline's
spread is three times as large. "At a tried point" is the hardest case: the curve is slightly above
the level there, so that each end of an interval is wrong as often as possible. In every second
sweep, on average, the baseline has as many runs as the other points, otherwise twice as many, as
with `flowsweep run`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flowsweep.analysis.need import Points
from flowsweep.analysis.slowdown import Line

# Mildest first: RTTs in ms, by factors of about four, two and 1.4; rates in Mbit/s.
GRIDS = (
    ("rtt", (0.3, 1, 4, 16, 64)),
    ("rtt", (1, 2, 4, 8, 16, 32, 64)),
    ("rtt", (1, 1.4, 2, 2.8, 4, 5.6, 8, 11, 16, 22, 32)),
    ("rate", (1000, 300, 100, 50, 20, 10)),
)
SHAPES = (
    "linear", "convex", "concave", "step", "plateau", "bump", "saturating", "noisy baseline",
    "one outlier", "threshold outside", "at a tried point",
)  # fmt: skip
OUTLIER = 1.5
NOISY = 3.0


@dataclass(frozen=True)
class Sweep:
    """A generated sweep and its true curve.

    Attributes:
        curve: True median slowdown at a hardness (RTT in ms, or 1/rate), 1 at the first point.
        is_monotone: Whether the curve never falls.
    """

    points: Points
    curve: Callable[[np.ndarray], np.ndarray]
    is_monotone: bool

    def slowdowns(self) -> np.ndarray:
        """Returns the true median slowdown at the tried points."""
        return self.curve(self.points.hardness)

    def crossings(self, level: float) -> list[float]:
        """Returns every value, in ms or Mbit/s, at which the true curve crosses the level."""
        ends = self.points.hardness[[0, -1]]
        fine = np.geomspace(ends[0], ends[1], 20_001)
        above = self.curve(fine) >= level
        passed = fine[1:][above[1:] != above[:-1]]
        return [float(one if self.points.axis == "rtt" else 1 / one) for one in passed]


def make(shape: str, runs: int, spread: float, seed: int) -> Sweep:
    """Returns one sweep of a shape; the same arguments give the same times."""
    random = np.random.default_rng([SHAPES.index(shape), runs, round(spread * 1e4), seed])
    axis, values = GRIDS[random.integers(len(GRIDS))]
    hardness = np.array(values, dtype=float) if axis == "rtt" else 1 / np.array(values)
    curve = _curve(shape, hardness, random)
    truth = curve(hardness)
    has_tails = shape == "one outlier"
    spreads = np.full(len(values), spread)
    if shape == "noisy baseline":
        spreads[0] *= NOISY
    counts = [runs * int(random.integers(1, 3)), *[runs] * (len(values) - 1)]
    times = [
        10
        * median
        * np.exp(width * (random.standard_t(3, n) if has_tails else random.normal(size=n)))
        for median, width, n in zip(truth, spreads, counts, strict=True)
    ]
    if has_tails:
        point = int(random.integers(len(times)))
        times[point][0] *= OUTLIER
    lists = [one.tolist() for one in times]
    points = Points(
        axis, [float(x) for x in values], Line(lists, lists[0], 0), [False] * len(values)
    )
    return Sweep(points, curve, is_monotone=shape != "bump")


def _curve(
    shape: str, hardness: np.ndarray, random: np.random.Generator
) -> Callable[[np.ndarray], np.ndarray]:
    """Returns the true curve; its crossing of 1.1 is log-uniform in the range."""
    first, last = hardness[0], hardness[-1]
    crossing = float(np.exp(random.uniform(np.log(first * 1.3), np.log(last / 1.1))))

    if shape == "at a tried point":
        crossing = float(random.choice(hardness[1:])) * 0.999

    def part(u: np.ndarray) -> np.ndarray:
        """Returns 0 at the baseline, 1 at the crossing."""
        return (np.asarray(u) - first) / (crossing - first)

    if shape == "convex":
        return lambda u: 1 + 0.1 * part(u) ** 2
    if shape == "concave":
        return lambda u: 1 + 0.1 * part(u) ** 0.5
    if shape == "step":
        height = random.uniform(0.15, 1.0)
        return lambda u: 1 + height * (np.asarray(u) >= crossing)
    if shape == "plateau":
        # Up to a shelf above or below the level, along it, and up again from eight times as far on.
        shelf = random.uniform(0.03, 0.4)
        return lambda u: 1 + shelf * (np.minimum(part(u), 1) + np.maximum(part(u) - 8, 0))
    if shape == "bump":
        height, width = random.uniform(0.15, 0.6), random.uniform(0.3, 1.2)
        peak = np.log(crossing)
        rest = height * np.exp(-(((np.log(first) - peak) / width) ** 2))
        return lambda u: (
            1 + height * np.exp(-(((np.log(np.asarray(u)) - peak) / width) ** 2)) - rest
        )
    if shape == "saturating":
        limit = random.uniform(0.05, 0.8)
        return lambda u: 1 + limit * (1 - np.exp(-part(u)))
    if shape == "threshold outside":
        reached = random.uniform(0.0, 0.1)
        return lambda u: 1 + reached * (np.asarray(u) - first) / (last - first)
    return lambda u: 1 + 0.1 * part(u)
