"""Intervals and brackets on shapes and noises that were not used to choose a method.

Prints, for each of ten shapes and of six noises, how often an interval of a slowdown and a bracket
of a threshold contain the truth, and how wide they are; then the worst of the 60 pairs. The curves
and the noises differ from those of made_sweeps.py and intervals.py. Exits with 1 if a goal is
missed. `--compare` adds the results of another version of the package, given its folder `python`,
for the same sweeps.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from zlib import crc32

import numpy as np

from flowsweep.analysis.need import Points, threshold
from flowsweep.analysis.slowdown import Line

RTTS = (0.5, 1.5, 4.0, 9.0, 20.0, 45.0, 100.0)
#: As planned by `flowsweep run` with three repetitions.
RUNS, BASELINE_RUNS = 3, 6
SPREAD = 0.02
LEVELS = (1.1, 1.5)
SEED = 4949
# In %: how often intervals and brackets must contain the truth, for each shape and each noise.
LEAST_HELD, LEAST_BRACKETS = 93, 95
Curve = Callable[[np.ndarray, float], np.ndarray]
#: Slowdown less 1 at an RTT of `u` ms; `c` is log-uniform from 2 to 60 ms.
SHAPES: dict[str, Curve] = {
    "logistic": lambda u, c: 1.2 / (1 + (c / u) ** 3),
    "logarithmic": lambda u, c: 0.1 * np.log1p(u / c) / np.log(2),
    "exponential": lambda u, c: np.minimum(0.1 * np.expm1(u / c) / np.expm1(1), 4),
    "hockey stick": lambda u, c: 0.5 * np.maximum(u / c - 1, 0),
    "cubic": lambda u, c: 0.1 * (u / c) ** 3,
    "two steps": lambda u, c: 0.12 * (u >= c) + 0.6 * (u >= 5 * c),
    "step on a slope": lambda u, c: 0.02 * u / c + 0.3 * (u >= c),
    "capped": lambda u, c: np.minimum(0.1 * u / c, 0.45),
    "fall after a step": lambda u, c: 0.25 * (u >= c) - 0.1 * (u >= 4 * c),
    "flat": lambda u, c: 0.03 * u / (u + c),
}
NOISES = ("skewed", "Laplace", "even", "neighbours alike", "every tenth slow", "grows with time")


def scatter(kind: str, slowdowns: np.ndarray, random: np.random.Generator) -> list[np.ndarray]:
    """Returns the noise of each run of each point, in standard deviations, with median 0."""
    counts = [BASELINE_RUNS, *[RUNS] * (len(slowdowns) - 1)]
    size = sum(counts)
    if kind == "skewed":
        flat = (random.gamma(2.0, size=size) - 1.6783) / 2**0.5
    elif kind == "Laplace":
        flat = random.laplace(size=size) / 2**0.5
    elif kind == "even":
        flat = random.uniform(-(3**0.5), 3**0.5, size=size)
    elif kind == "neighbours alike":
        # in run order: blocks that contain every point once
        flat = random.normal(size=size) * (1 - 0.5**2) ** 0.5
        for place in range(1, size):
            flat[place] += 0.5 * flat[place - 1]
        return _dealt(flat, counts, random)
    elif kind == "every tenth slow":
        flat = random.normal(size=size) + 8 * (random.random(size) < 0.1)
    else:
        flat = random.normal(size=size)
    parts = np.split(flat, np.cumsum(counts)[:-1])
    if kind == "grows with time":
        return [part * one**0.5 for part, one in zip(parts, slowdowns, strict=True)]
    return parts


def _dealt(flat: np.ndarray, counts: list[int], random: np.random.Generator) -> list[np.ndarray]:
    """Distributes the noise of successive runs to the runs' points."""
    order = []
    for _ in range(RUNS):
        block = [0, *range(len(counts))]
        random.shuffle(block)
        order += block
    return [flat[np.array(order) == point] for point in range(len(counts))]


def measure(shape: str, noise: str, sweeps: int) -> dict[str, float]:
    """Returns shares in %, and the median ratios of the ends, for one shape and noise."""
    random = np.random.default_rng([SEED, crc32(shape.encode()), crc32(noise.encode())])
    held, widths, bracket_held, bracket_widths, closed, answers = [], [], [], [], 0, 0
    grid = np.array(RTTS)
    fine = np.geomspace(RTTS[0], RTTS[-1], 4_001)
    for _ in range(sweeps):
        c = float(np.exp(random.uniform(np.log(2), np.log(60))))
        first = 1 + SHAPES[shape](grid[:1], c)[0]
        truth, curve = ((1 + SHAPES[shape](u, c)) / first for u in (grid, fine))
        times = [
            (10 * one * np.exp(SPREAD * part)).tolist()
            for one, part in zip(truth, scatter(noise, truth, random), strict=True)
        ]
        line = Line(times, times[0], 0)
        for (low, high), one in zip(line.intervals[1:], truth[1:], strict=True):
            held.append(low <= one <= high)
            widths.append(high / low if low else np.inf)
        points = Points("rtt", list(RTTS), line, [False] * len(RTTS))
        for level in LEVELS:
            above = curve >= level
            crossings = fine[1:][above[1:] != above[:-1]]
            if not len(crossings):
                continue
            answers += 1
            found = threshold(points, level)
            low, high = found.low or 0.0, found.high or np.inf
            if found.low is None and found.high is None:
                continue
            bracket_held.append(bool(((crossings >= low) & (crossings <= high)).all()))
            if low > 0 and high < np.inf:
                closed += 1
                bracket_widths.append(high / low)
    return {
        "held": 100 * float(np.mean(held)),
        "width": float(np.median(widths)),
        "bracket held": 100 * float(np.mean(bracket_held)) if bracket_held else np.nan,
        "closed": 100 * closed / answers if answers else np.nan,
        "bracket width": float(np.median(bracket_widths)) if bracket_widths else np.nan,
    }


def measure_all(sweeps: int) -> list[dict[str, float]]:
    """Measures every shape with every noise; the noise varies fastest."""
    pairs = [(shape, noise, sweeps) for shape in SHAPES for noise in NOISES]
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        return list(pool.map(measure, *zip(*pairs, strict=True)))


COLUMNS = ("held", "width", "bracket held", "closed", "bracket width")


def main() -> int:
    """Prints the tables, or with `--json` the numbers of every pair."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--compare", type=Path, metavar="PYTHON")
    given = parser.parse_args()
    found = measure_all(given.sweeps)
    if given.json:
        print(json.dumps(found))
        return 0
    versions = [_table(found)]
    if given.compare:
        command = [sys.executable, __file__, "--json", "--sweeps", str(given.sweeps)]
        environment = os.environ | {"PYTHONPATH": str(given.compare.resolve())}
        text = subprocess.run(command, env=environment, check=True, capture_output=True).stdout
        versions.insert(0, _table(json.loads(text)))
    print(f"{given.sweeps} sweeps of each shape and noise, seed {SEED}, {len(RTTS)} points with")
    print(f"{RUNS} runs, {BASELINE_RUNS} at the baseline, {SPREAD:.0%} spread; in %, or ratios")
    print(f"{'':20}" + "".join(f"{name:>19}" for name in COLUMNS))
    for axis, names in ((1, list(SHAPES)), (0, list(NOISES))):
        for place, name in enumerate(names):
            cells = [
                " to ".join(
                    _shown(column, one.take(place, axis=1 - axis)[:, number]) for one in versions
                )
                for number, column in enumerate(COLUMNS)
            ]
            print(f"{name:20}" + "".join(f"{cell:>19}" for cell in cells))
        print()
    least = [float(np.nanmin(one[:, :, 0])) for one in versions]
    print("least held by the intervals of one shape and noise:", *(f"{one:.1f} %" for one in least))
    return judge(versions[-1])


def judge(found: np.ndarray) -> int:
    """Prints the worst shape or noise with the goals; returns 1 if one is missed.

    Args:
        found: Shape (shapes, noises, columns).
    """
    crossing = ~np.isnan(found[:, :, 2]).all(axis=1)
    held = min(found[:, :, 0].mean(axis=axis).min() for axis in (0, 1))
    brackets = min(np.nanmean(found[crossing][:, :, 2], axis=axis).min() for axis in (0, 1))
    goals = (
        ("intervals", held, LEAST_HELD),
        ("brackets", brackets, LEAST_BRACKETS),
    )
    for name, least, goal in goals:
        word = "reached" if least >= goal else "MISSED"
        print(f"least held by {name} {least:.1f} %, goal at least {goal} %: {word}")
    return 0 if all(least >= goal for _, least, goal in goals) else 1


def _table(found: list[dict[str, float]]) -> np.ndarray:
    """Returns an array of shape (shapes, noises, columns)."""
    values = [[one[name] for name in COLUMNS] for one in found]
    return np.array(values).reshape(len(SHAPES), len(NOISES), len(COLUMNS))


def _shown(column: str, values: np.ndarray) -> str:
    """Formats the mean of the known values: a curve that crosses no level has no bracket."""
    known = values[~np.isnan(values)]
    places = {"width": 3, "bracket width": 2}.get(column, 1)
    return f"{known.mean():.{places}f}" if len(known) else "-"


if __name__ == "__main__":
    sys.exit(main())
