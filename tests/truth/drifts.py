"""Tests the detection of drift with generated sweeps whose drift is known.

Prints for each kind of noise, number of points and number of repetitions the share of sweeps with
a reported drift, for true drifts of 0, 1, 3 and 10 %. Exits with 1 if a goal is missed. Runs are
made in blocks, as by `flowsweep run`: each point once in every block, in a random order, the
baseline twice. The seeds follow from the arguments.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from zlib import crc32

import intervals
import numpy as np

from flowsweep.analysis import drift

KINDS = (*intervals.ALIKE, *intervals.UNLIKE, intervals.MODES)
POINTS = (5, 9)
REPETITIONS = (2, 3, 6)
DRIFTS = (0.0, 0.01, 0.03, 0.1)
# In %: false reports at most, over all kinds of noise and in one of them.
MOST_FALSE, MOST_FALSE_OF_ONE = 6, 9
# In %: reports of a drift of 10 %, with three or more repetitions and normal noise.
LEAST_FOUND = 95


def made(
    kind: str, points: int, repetitions: int, change: float, random: np.random.Generator
) -> list[list[tuple[int, float]]]:
    """Returns start and time of each run of each point; the last run takes longer by `change`."""
    line = intervals.made(kind, points, repetitions, random)
    blocks = []
    for _ in range(repetitions):
        block = [0, *range(points)]
        random.shuffle(block)
        blocks += block
    left = [random.permutation(times).tolist() for times in line.times]
    groups: list[list[tuple[int, float]]] = [[] for _ in range(points)]
    for place, point in enumerate(blocks):
        slower = (1 + change) ** (place / (len(blocks) - 1))
        groups[point].append((place, left[point].pop() * slower))
    return groups


def measure(kind: str, points: int, repetitions: int, change: float, sweeps: int) -> float:
    """Returns the share of sweeps, in %, in which a drift is reported."""
    seed = [crc32(kind.encode()), points, repetitions, round(change * 1e4)]
    random = np.random.default_rng(seed)
    found = [drift.find(made(kind, points, repetitions, change, random)) for _ in range(sweeps)]
    return 100 * float(np.mean([one is not None and one.p < drift.LEVEL for one in found]))


def main() -> int:
    """Prints the table; returns 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sweeps", type=int, default=1_000)
    sweeps = parser.parse_args().sweeps
    rows = [(kind, points, runs) for kind in KINDS for points in POINTS for runs in REPETITIONS]
    jobs = [(*row, change, sweeps) for row in rows for change in DRIFTS]
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        found = list(pool.map(measure, *zip(*jobs, strict=True)))
    print(f"Drift told, in %: {sweeps:,} made sweeps each, {intervals.SPREAD:.0%} spread")
    print(f"{'noise':26}{'points':>7}{'runs':>6}" + "".join(f"{one:>8.0%}" for one in DRIFTS))
    shares = np.array(found).reshape(len(rows), len(DRIFTS))
    for (kind, points, runs), percentages in zip(rows, shares, strict=True):
        print(f"{kind:26}{points:>7}{runs:>6}" + "".join(f"{one:>8.1f}" for one in percentages))
    false, most = shares[:, 0].mean(), shares[:, 0].max()
    least = min(
        percentages[-1]
        for (kind, _, runs), percentages in zip(rows, shares, strict=True)
        if kind == "normal" and runs >= 3
    )
    goals = [
        (f"false {false:.1f} %, goal at most {MOST_FALSE} %", false <= MOST_FALSE),
        (
            f"of one kind {most:.1f} %, goal at most {MOST_FALSE_OF_ONE} %",
            most <= MOST_FALSE_OF_ONE,
        ),
        (f"10 % found {least:.1f} %, goal at least {LEAST_FOUND} %", least >= LEAST_FOUND),
    ]
    for text, is_reached in goals:
        print(f"{text}: {'reached' if is_reached else 'MISSED'}")
    return 0 if all(is_reached for _, is_reached in goals) else 1


if __name__ == "__main__":
    sys.exit(main())
