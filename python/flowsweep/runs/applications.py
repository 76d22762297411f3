"""The model of app.json: what the report reads of an application's record of its run."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, Field

from flowsweep.files import inputs
from flowsweep.runs.outcomes import Outcomes  # noqa: TC001 - pydantic reads it
from flowsweep.runs.record_fields import (
    Name,
    Number,
    Record,
    Seconds,
    Whole,
    only_object,
    only_objects,
)
from flowsweep.validation import refused


class Phase(Record):
    """A time span of one rank."""

    rank: Whole | None = None
    start_s: Number | None = None
    end_s: Number | None = None


class Transfer(Record):
    """Bytes from one rank to another."""

    sender: Whole | None = Field(None, alias="from")
    receiver: Whole | None = Field(None, alias="to")
    byte_count: Whole | None = Field(None, alias="bytes")
    start_s: Number | None = None
    end_s: Number | None = None


class Sent(Record):
    """Messages and bytes that one rank sent to another."""

    byte_count: Whole | None = Field(None, alias="bytes")


class Primitive(Record):
    """Calls of one MPI function."""

    calls: Whole | None = None
    seconds: Number | None = None


def _key(value: object) -> object:
    """Checks a key that the report's SQL uses in a JSON path."""
    if isinstance(value, str) and not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", value):
        found = inputs.shorten_value(value)
        raise refused("not the name of a rank or call", found, "letters, digits, _ and -")
    return value


Key = Annotated[str, BeforeValidator(_key)]


class Rank(Record):
    """One process of the application."""

    rank: Whole | None = None
    host: Name | None = None
    to: Annotated[
        dict[Key, Annotated[Sent, BeforeValidator(only_object)]], BeforeValidator(only_object)
    ] = Field(default_factory=dict)
    mpi: Annotated[
        dict[Key, Annotated[Primitive, BeforeValidator(only_object)]], BeforeValidator(only_object)
    ] = Field(default_factory=dict)


class Size(Record):
    """A message whose time was measured."""

    message_bytes: Whole | None = None
    mean_s: Number | None = None


class Stream(Record):
    """A transfer whose speed was measured."""

    mbit_s: Number | None = None
    beside_mbit_s: Number | None = None


class Answer(Record):
    """The answer of the application."""

    sizes: Annotated[list[Size], BeforeValidator(only_objects)] = Field(default_factory=list)
    streams: Annotated[list[Stream], BeforeValidator(only_objects)] = Field(default_factory=list)


class Application(Record):
    """app.json: what the application reports about its own run."""

    completion_s: Seconds | None = None
    outcomes: Outcomes = Field(default_factory=list)
    compute: Name | None = None
    phases: Annotated[list[Phase], BeforeValidator(only_objects)] = Field(default_factory=list)
    transfers: Annotated[list[Transfer], BeforeValidator(only_objects)] = Field(
        default_factory=list
    )
    ranks: Annotated[list[Rank], BeforeValidator(only_objects)] = Field(default_factory=list)
    answer: Annotated[Answer, BeforeValidator(only_object)] = Field(default_factory=Answer)
