"""Tests whether runs became slower or faster in the order in which they were made.

The logarithm of each time is regressed on the rank of the run in the order of all runs, both less
the mean of their point: least squares with a level for each point (the within estimator:
Wooldridge, "Introductory Econometrics", chapter 14). The slope is tested by Student's t. A point
that is measured late, as in a refinement, is therefore no drift. Outliers are limited as in an
interval (flowsweep.analysis.noise). The test finds a drift in about 5 % of synthetic sweeps that
have none (tests/truth/drifts.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flowsweep.analysis import noise, student

#: A drift is reported below this probability.
LEVEL = 0.05
#: Degrees of freedom, runs less points and slope, below which a drift's interval is too wide.
LEAST_FREEDOM = 3


@dataclass(frozen=True)
class Drift:
    """How the time of a run changes from the first run to the last.

    Attributes:
        change: As a share of the time; positive where runs become slower.
        low: Lower end of its 95 % interval.
        high: Upper end.
        p: Probability that chance alone makes a change at least as large, of either sign.
    """

    change: float
    low: float
    high: float
    p: float


def find(groups: Sequence[Sequence[tuple[int, float]]]) -> Drift | None:
    """Finds the drift of a sweep; None if the runs are too few or too alike to show it.

    Args:
        groups: The runs of each point: start (any unit) and duration (s).
    """
    groups = [group for group in groups if len(group) > 1]
    started = sorted(start for group in groups for start, _ in group)
    places = {start: place / max(len(started) - 1, 1) for place, start in enumerate(started)}
    scatter = noise.pool([[time for _, time in group] for group in groups])
    if isinstance(scatter, str):
        return None
    x, y = [], []
    for group in groups:
        order = np.array([places[start] for start, _ in group])
        logs = np.log([time for _, time in group])
        reach = noise.WINSOR * scatter.spread
        logs = np.clip(logs, np.median(logs) - reach, np.median(logs) + reach)
        x.append(order - order.mean())
        y.append(logs - logs.mean())
    order, residual = np.concatenate(x), np.concatenate(y)
    freedom = len(order) - len(groups) - 1
    across = float(order @ order)
    if freedom < LEAST_FREEDOM or across == 0:
        return None
    slope = float(order @ residual) / across
    rest = residual - slope * order
    error = math.sqrt(float(rest @ rest) / freedom / across)
    if error == 0:
        return None
    half = student.quantile(0.975, freedom) * error
    return Drift(
        change=math.expm1(slope),
        low=math.expm1(slope - half),
        high=math.expm1(slope + half),
        p=2 * student.tail(abs(slope) / error, freedom),
    )
