"""Tests the 95 % intervals of a slowdown with sweeps whose truth is known.

Prints for each kind of noise, number of points and number of repetitions how often an interval
contains the true slowdown, and the interval's width (median ratio of its ends) next to the width
from each point's own runs alone. Exits with 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from flowsweep.analysis.slowdown import Line, Median

# The baseline has twice as many runs, as in a plan.
REPETITIONS = (2, 3, 6, 10)
POINTS = (5, 9)
SPREAD = 0.02
OUTLIER = 1.5
# Noise that is equal at all points, and noise that is not.
ALIKE = ("normal", "one outlier", "long tails", "long tails, one outlier")
UNLIKE = ("baseline twice", "baseline three times", "growing along the line", "each its own")
# Three of ten runs take longer by two standard deviations: the mean describes neither group.
MODES = "two modes"
# In %: for equal and for unequal scatter; two repetitions promise nothing. Above the maximum,
# intervals would be wider than necessary.
LEAST, LEAST_UNLIKE, MOST, LEAST_PROMISED = 93, 91, 98, 3


@dataclass(frozen=True)
class Measured:
    """A share in %, and the median ratio of the ends of an interval."""

    held: float
    width: float
    own_width: float


def made(kind: str, points: int, repetitions: int, random: np.random.Generator) -> Line:
    """Returns a sweep with a true slowdown of 1 + 0.05 per point and noise with median 1."""
    times = []
    for index in range(points):
        count = repetitions * (2 if index == 0 else 1)
        noise = random.standard_normal(count)
        if kind.startswith("long tails"):
            noise = random.standard_t(3, count)
        if kind == MODES:
            noise = 0.3 * noise + 2 * (random.random(count) < 0.3)
        spread = SPREAD
        if kind.startswith("baseline") and index == 0:
            spread *= 2 if kind.endswith("twice") else 3
        if kind == "growing along the line":
            spread *= 0.5 + 1.5 * index / (points - 1)
        if kind == "each its own":
            spread *= np.exp(0.6 * random.standard_normal())
        times.append((10 * truth(index) * np.exp(spread * noise)).tolist())
    if kind.endswith("one outlier"):
        times[int(random.integers(points))][0] *= OUTLIER
    return Line(times, times[0], 0)


def truth(index: int) -> float:
    """Returns the true slowdown of a point."""
    return 1 + 0.05 * index


def measure(kind: str, points: int, repetitions: int, sweeps: int) -> Measured:
    """Returns the result over many sweeps."""
    random = np.random.default_rng([len(kind), points, repetitions])
    held, widths, own = [], [], []
    for _ in range(sweeps):
        line = made(kind, points, repetitions, random)
        base = Median.estimate(line.baseline)
        for index in range(1, points):
            low, high = line.intervals[index]
            held.append(low <= truth(index) <= high)
            widths.append(high / low if low else math.inf)
            alone, above = Median.estimate(line.times[index]).compared(base)
            own.append(above / alone if alone else math.inf)
    return Measured(
        100 * float(np.mean(held)),
        float(np.median(widths)),
        float(np.median(own)),
    )


def main() -> int:
    """Prints the table; returns 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sweeps", type=int, default=1_000)
    sweeps = parser.parse_args().sweeps
    jobs = [
        (kind, points, repetitions, sweeps)
        for kind in (*ALIKE, *UNLIKE, MODES) for points in POINTS for repetitions in REPETITIONS
    ]  # fmt: skip
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        found = list(pool.map(measure, *zip(*jobs, strict=True)))
    print(f"Intervals of a slowdown: {sweeps:,} made sweeps of each kind, {SPREAD:.0%} spread")
    print(f"{'noise':26}{'points':>7}{'runs':>6}{'holds %':>9}{'ratio of ends':>19}")
    for (kind, points, repetitions, _), one in zip(jobs, found, strict=True):
        widths = f"{one.width:.3f} ({one.own_width:.3f})"
        print(f"{kind:26}{points:>7}{repetitions:>6}{one.held:>9.1f}{widths:>19}")
    print("In brackets: by each point's own runs.")
    return judge([job[:3] for job in jobs], found)


def judge(jobs: list[tuple[str, int, int]], found: list[Measured]) -> int:
    """Prints the extremes with the goals; returns 1 if a goal is missed."""
    promised = [
        (kind, one.held)
        for (kind, _, repetitions), one in zip(jobs, found, strict=True)
        if repetitions >= LEAST_PROMISED
    ]
    plain = [held for kind, held in promised if kind == ALIKE[0]]
    found_least = [
        (words, min(held for kind, held in promised if (kind in ALIKE) == is_alike), goal)
        for words, is_alike, goal in (("alike", True, LEAST), ("not alike", False, LEAST_UNLIKE))
    ]
    for words, least, goal in found_least:
        print(f"least where {words} {least:.1f} %, goal at least {goal} %: {_word(least >= goal)}")
    is_close = max(plain) <= MOST
    print(f"most with normal noise {max(plain):.1f} %, goal at most {MOST} %: {_word(is_close)}")
    return 0 if is_close and all(least >= goal for _, least, goal in found_least) else 1


def _word(reached: bool) -> str:
    return "reached" if reached else "MISSED"


if __name__ == "__main__":
    sys.exit(main())
