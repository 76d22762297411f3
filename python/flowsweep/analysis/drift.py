"""Whether runs became slower or faster in the order in which they were made.

The logarithm of each time less the mean of its point is held against the place of the run in the
order of all runs, less the mean of its point's places: least squares with a level for each point
(the within estimator: Wooldridge, "Introductory Econometrics", chapter 14). The slope is tested by
Student's t. So a point that is made late, as in a refinement, is no drift. A run that lies apart
counts for no more than in an interval (flowsweep.analysis.noise). Of made sweeps without a drift
about 5 % are found to have one (tests/truth/drifts.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flowsweep.analysis import noise, student

#: A drift is reported below this probability.
LEVEL = 0.05
#: Runs less points and slope: below this the interval of a drift is too wide to say anything.
LEAST_FREEDOM = 3


@dataclass(frozen=True)
class Drift:
    """How the time of a run changes from the first run to the last.

    Attributes:
        change: As a share of the time; positive where runs become slower.
        low: Lower end of its 95 % interval.
        high: Upper end.
        p: How often chance alone makes such a change, or a larger one, of either sign.
    """

    change: float
    low: float
    high: float
    p: float


def find(groups: Sequence[Sequence[tuple[int, float]]]) -> Drift | None:
    """The drift of a sweep; None where the runs are too few or too alike to show it.

    Args:
        groups: Of each point its runs: when it began (any unit), and how long it took (s).
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
