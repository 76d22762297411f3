"""The types of an experiment file's fields: text with units, checked and converted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    PlainSerializer,
    WithJsonSchema,
)

from flowsweep import units
from flowsweep.errors import FlowsweepError
from flowsweep.validation import refused


class Model(BaseModel):
    """The base of every part of an experiment file: it refuses unknown keys, and is frozen."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        populate_by_name=True,
        defer_build=True,  # parts are built only with the whole
    )


def _quantity(parse: Callable[[Any], Any], *, zero: str | None) -> Callable[[Any], Any]:
    """Returns a pydantic validator around a parser of `units`; `zero` is the reason to refuse 0."""

    def check(text: object) -> object:
        try:
            value = parse(text)
        except FlowsweepError as error:
            raise refused(error.what, error.found, error.expected, error.remedy) from None
        if value < 0 or (value == 0 and zero is not None):
            reason = zero if value == 0 else "a negative value has no meaning"
            raise refused(f'"{text}" is not possible here', f'"{text}"', f"more than 0: {reason}")
        return value

    return check


def _text(pattern: str, example: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": pattern, "examples": [example]})


@dataclass(frozen=True)
class Jitter:
    """Standard deviation of the delay of each direction: a time, or a share of that delay."""

    ns: int = 0
    share: float = 0.0

    @classmethod
    def parse(cls, text: str | float) -> Jitter:
        """Parses "0.5ms", or "20%" of the one-way delay that the link adds."""
        if str(text).strip().endswith("%"):
            return cls(share=units.parse_fraction(text))
        return cls(ns=units.parse_time(text))

    def at_delay(self, delay_ns: int) -> int:
        """Returns the nanoseconds at this one-way delay."""
        return self.ns + round(self.share * delay_ns)

    def __str__(self) -> str:
        """Returns the text that `parse` reads."""
        return f"{100 * self.share:.6g}%" if self.share else units.format_time(self.ns)

    def __bool__(self) -> bool:
        return bool(self.ns or self.share)


def _jitter(value: object) -> Jitter:
    if isinstance(value, Jitter):
        return value
    try:
        return Jitter.parse(value)  # type: ignore[arg-type]
    except FlowsweepError as error:
        raise refused(error.what, error.found, f"{error.expected}, or 20% of the delay") from None


#: Names of congestion controls: the kernel allows 15 characters.
CONGESTION = r"^[a-z0-9_-]{1,15}$"
Congestion = Annotated[str, Field(pattern=CONGESTION)]
#: Names of variants: part of a run's name, in which `_` replaces `-`.
VARIANT = r"^[a-z0-9][a-z0-9-]{0,29}$"
VariantName = Annotated[str, Field(pattern=VARIANT)]
#: Names of hosts and sites: an interface name has at most 15 bytes, including our prefix.
NAME = r"^[a-z][a-z0-9-]{0,9}$"
SiteName = Annotated[str, Field(pattern=NAME)]
#: Names of workloads: the prefix of the names of their runs.
WORKLOAD = r"^[a-z][a-z0-9_]*$"
WorkloadName = Annotated[str, Field(pattern=WORKLOAD)]
_NUMBER = r"^[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)? ?"
_TIME = _text(_NUMBER + "(ns|us|µs|ms|s|min|h)$", "16ms")
Time = Annotated[int, BeforeValidator(_quantity(units.parse_time, zero=None)), _TIME]
Duration = Annotated[
    int,
    BeforeValidator(_quantity(units.parse_time, zero="nothing happens in no time")),
    _text(_NUMBER + "(ns|us|µs|ms|s|min|h)$", "60s"),
]
Rate = Annotated[
    float,
    BeforeValidator(_quantity(units.parse_rate, zero="a link of rate 0 carries nothing")),
    _text(_NUMBER + "[kMG]?bit/s$", "100Mbit/s"),
]
Size = Annotated[
    int,
    BeforeValidator(_quantity(units.parse_size, zero="nothing fits into 0 bytes")),
    _text(_NUMBER + "([kMG]|[KMG]i)?B$", "256KiB"),
]
Share = Annotated[
    float,
    BeforeValidator(_quantity(units.parse_fraction, zero=None)),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": 1},
                {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)? ?%$"},
            ],
            "examples": ["1%", 0.01],
        }
    ),
]
JitterText = Annotated[
    InstanceOf[Jitter],
    BeforeValidator(_jitter),
    PlainSerializer(str),
    _text(_NUMBER + "(ns|us|µs|ms|s|%)$", "0.5ms"),
]
