"""Quantiles of Student's t distribution."""

from __future__ import annotations

import functools
import math

# Halvings of an interval of at most 1e6: the result is exact to the last digits of a double.
HALVINGS = 100


def quantile(probability: float, freedom: float) -> float:
    """The value that a t variable stays below with this probability.

    Between whole degrees of freedom it is interpolated in their inverse, in which it is close to
    a straight line.

    Args:
        probability: From 0.5 to below 1.
        freedom: Degrees of freedom, at least 1.
    """
    whole = math.floor(freedom)
    fewer, more = _quantile(probability, whole), _quantile(probability, whole + 1)
    part = (1 / whole - 1 / freedom) * whole * (whole + 1)
    return fewer + part * (more - fewer)


@functools.lru_cache(maxsize=4096)
def _quantile(probability: float, freedom: int) -> float:
    low, high = 0.0, 1.0
    while _below(high, freedom) < probability:
        high *= 2.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        if _below(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return high


def _below(value: float, freedom: int) -> float:
    """The distribution function for `value` >= 0 (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(value / math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    is_odd = freedom % 2 == 1
    term = cosine if is_odd else 1.0
    total = 0.0 if freedom == 1 else term
    for number in range(3 if is_odd else 2, freedom - 1, 2):
        term *= cosine * cosine * (number - 1) / number
        total += term
    both = 2.0 / math.pi * (angle + sine * total) if is_odd else sine * total
    return 0.5 + both / 2.0
