"""Quantiles and tails of Student's t distribution."""

from __future__ import annotations

import functools
import math
from statistics import NormalDist

# Newton's method stops at this relative step; a double is no more precise.
PRECISION = 1e-14
MOST_STEPS = 200


@functools.lru_cache(maxsize=4096)
def quantile(probability: float, freedom: float) -> float:
    """Returns the value that a t variable stays below with this probability.

    Newton's method starts at the normal quantile, which is lower, and does not overshoot, as the
    distribution function is concave.

    Args:
        probability: From 0.5 to below 1.
        freedom: Degrees of freedom, at least 1; they need not be whole.
    """
    value = NormalDist().inv_cdf(probability)
    for _ in range(MOST_STEPS):
        step = (tail(value, freedom) - (1.0 - probability)) / _density(value, freedom)
        value += step
        if abs(step) <= PRECISION * value:
            break
    return value


def tail(value: float, freedom: float) -> float:
    """Returns the probability that a t variable is above `value` >= 0 (DLMF 8.17)."""
    x = freedom / (freedom + value**2)
    a, b = freedom / 2.0, 0.5
    if x < (a + 1.0) / (a + b + 2.0):
        return _incomplete_beta(a, b, x) / 2.0
    return (1.0 - _incomplete_beta(b, a, value**2 / (freedom + value**2))) / 2.0


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Returns the regularised incomplete beta function by continued fraction (DLMF 8.17.22)."""
    if x == 0:
        return 0.0
    log = a * math.log(x) + b * math.log1p(-x) - math.log(a)
    front = math.exp(log + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b))
    # Lentz's method: the fraction, and the ratios of successive numerators and denominators.
    fraction, over, under = 1.0, 1.0, 0.0
    for number in range(1, MOST_STEPS):
        half = number // 2
        if number % 2:
            term = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            term = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        over, under = 1.0 + term / over, 1.0 / (1.0 + term * under)
        fraction *= over * under
        if abs(over * under - 1.0) < PRECISION:
            break
    return front / fraction


def _density(value: float, freedom: float) -> float:
    log = math.lgamma((freedom + 1.0) / 2.0) - math.lgamma(freedom / 2.0)
    log -= (math.log(freedom * math.pi) + (freedom + 1.0) * math.log1p(value**2 / freedom)) / 2.0
    return math.exp(log)
