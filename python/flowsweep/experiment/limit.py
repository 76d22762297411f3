"""Absolute limits of outcomes: `need: {p99_latency: "< 10 ms"}`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from flowsweep.outcome_names import MOST_UNIT, PATTERN
from flowsweep.validation import refused

TEXT = rf"^\s*(<=?|>=?)\s*([0-9.eE+-]+)\s*(\P{{C}}{{0,{MOST_UNIT}}})\s*$"
#: Without backtracking, as in `units`, because a text may be long.
_READ = re.compile(rf"\s*+(<=?|>=?)\s*+([0-9.eE+-]++)\s*+(\S.{{0,{MOST_UNIT - 1}}}?)?\s*+")
EXPECTED = 'a limit, such as "< 10 ms" or "> 500 1/s"'
#: Units of time, in seconds.
TIMES = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Limit:
    """A bound of an outcome: below or above a value; relations with `=` include the value."""

    relation: str
    value: float
    unit: str

    def in_unit(self, unit: str) -> float | None:
        """Returns the value in the unit of an outcome; None if the units do not convert."""
        if unit == self.unit:
            return self.value
        if unit in TIMES and self.unit in TIMES:
            # 10 us must not become 0.009999999999999998 ms.
            return float(f"{self.value * TIMES[self.unit] / TIMES[unit]:.12g}")
        return None


def parse(text: str) -> Limit | None:
    """Parses a limit; returns None if the text is none."""
    match = _READ.fullmatch(text)
    if match is None:
        return None
    relation, number, unit = match.groups()
    try:
        value = float(number)
    except ValueError:
        return None
    return Limit(relation, value, unit or "") if math.isfinite(value) else None


def _limit(value: object) -> object:
    found = parse(value) if isinstance(value, str) else None
    if found is None:
        raise refused("not a limit", repr(value), EXPECTED)
    return value


Text = Annotated[
    str,
    BeforeValidator(_limit),
    WithJsonSchema({"type": "string", "pattern": TEXT.replace(r"\P{C}", "[^\\u0000-\\u001f]")}),
]
Needs = dict[Annotated[str, Field(pattern=PATTERN)], Text]
