"""Models of run.json and app.json: the keys that are read, and their valid values.

A user's own run.json may contain only the axes and `completion_s`; all its other keys
stay in the column `json`. Each value that Python or the report's SQL reads is checked, and a wrong
one is reported with its file and place; no other value is checked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from flowsweep import addresses
from flowsweep.files import inputs
from flowsweep.runs.applications import Application
from flowsweep.runs.outcomes import Outcomes  # noqa: TC001 - pydantic reads it
from flowsweep.runs.record_fields import (
    Count,
    Name,
    Record,
    Seconds,
    Time,
    Whole,
    only_object,
    only_objects,
)
from flowsweep.validation import refused

EXAMPLE = '{"axes": {"rtt": "16ms"}, "completion_s": 12.3}'


class Host(Record):
    """A host of a run."""

    name: Name | None = None
    site: Name | None = None
    address: Annotated[Name, AfterValidator(addresses.canonical)] | None = None


class Lateness(Record):
    """The lateness of the emulator, ns."""

    p99: Count | None = None


def _counters(value: object) -> object:
    """Checks the counters of a link or port: each of them, and their sum, fits into 64 bits."""
    if not isinstance(value, dict):
        return {}
    for key, count in value.items():
        is_read = key in COUNTERS or key.startswith("dropped_")
        is_right = count is None or (type(count) is int and 0 <= count < MOST_FRAMES)
        if is_read and not is_right:
            raise refused(
                f"{key} is not a number of frames", inputs.shorten_value(count), "0 or more"
            )
    return value


COUNTERS = ("received", "duplicated", "delivered", "in_flight", "kernel_dropped")
MOST_FRAMES = 2**50


class Direction(Record):
    """One direction of an emulated link, or a port."""

    name: Name | None = None
    sender: Name | None = Field(None, alias="from")
    receiver: Name | None = Field(None, alias="to")


Directions = Annotated[
    list[Annotated[Direction, BeforeValidator(_counters)]], BeforeValidator(only_objects)
]


class Emulator(Record):
    """The counters of the emulator, as `link_balance` reads them."""

    lateness_ns: Lateness | None = None
    links: Directions = Field(default_factory=list, max_length=4096)
    ports: Directions = Field(default_factory=list, max_length=4096)


class Link(Record):
    """A link between two sites, as requested."""

    rate_bit_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    links: Whole | None = None


def _check_pairs(value: object) -> object:
    """Checks that no pair of sites has two links, of which nobody could say which one counts."""
    links = only_objects(value)
    seen = set()
    for link in links if isinstance(links, list) else ():
        ends = link.get("between")
        if not isinstance(ends, list) or len(ends) < 2:
            continue
        pair = frozenset(map(str, ends[:2]))
        if pair in seen:
            raise refused(
                f"the pair {' and '.join(sorted(pair))} is there twice",
                "two entries",
                "one for each pair: `links: 2` for two parallel ones of one rate, `back` for "
                "another rate the other way",
            )
        seen.add(pair)
    return links


class Run(Record):
    """run.json of one run."""

    experiment: Name | None = None
    app: Name | None = None
    compute: Name | None = None
    repetition: Whole | None = None
    block: Whole | None = None
    baseline: bool | None = None
    warmup: bool | None = None
    start: Time = None
    end: Time = None
    completion_s: Seconds | None = None
    outcomes: Outcomes = Field(default_factory=list)
    status: Name | None = None
    reason: str | None = None
    hosts: list[Host] | None = None
    spec_hash: str | None = None
    queue_bytes: Count | None = None
    emulator: Emulator | None = None
    links: Annotated[list[Link], BeforeValidator(_check_pairs)] = Field(default_factory=list)
    axes: dict[str, Any] | None = None
    application: Annotated[Application, BeforeValidator(only_object)] = Field(
        default_factory=Application
    )


def read(path: Path) -> tuple[dict[str, Any], str] | None:
    """Reads a run.json or app.json; returns the object and its text, None if it is missing.

    Raises:
        FlowsweepError: The file is no usable JSON object.
    """
    if not path.exists() and not path.is_symlink():
        return None
    return inputs.read_object(path, "the record of a run", EXAMPLE)
