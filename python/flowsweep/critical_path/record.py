"""Reads what the critical path needs from run.json: the times of the run, and link rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from flowsweep.runs import records
from flowsweep.runs.record_fields import (
    Name,
    Number,
    Record,
    Time,
    checked,
    only_object,
    only_objects,
)


def _only_names(value: object) -> object:
    """Keeps the names of a list; a hand-written run.json may have a number of ranks instead."""
    names = value if isinstance(value, list) else []
    return [name for name in names if isinstance(name, str)]


Names = Annotated[list[Name], BeforeValidator(_only_names)]


class _Direction(Record):
    """One direction of an emulated link."""

    sender: Name | None = Field(None, alias="from")
    receiver: Name | None = Field(None, alias="to")
    rate_bit_s: Number | None = None


class _Link(Record):
    """A link between two sites, as the experiment requested it."""

    between: Names = Field(default_factory=list)
    rate_bit_s: Number | None = None


class _Emulator(Record):
    links: Annotated[list[_Direction], BeforeValidator(only_objects)] = Field(default_factory=list)


class _Application(Record):
    start: Time = None
    end: Time = None


class _Run(Record):
    application: Annotated[_Application, BeforeValidator(only_object)] = Field(
        default_factory=_Application
    )
    start: Time = None
    end: Time = None
    ranks: Names = Field(default_factory=list)
    sites: Annotated[dict[str, Names], BeforeValidator(only_object)] = Field(default_factory=dict)
    emulator: Annotated[_Emulator, BeforeValidator(only_object)] = Field(default_factory=_Emulator)
    links: Annotated[list[_Link], BeforeValidator(only_objects)] = Field(default_factory=list)


@dataclass(frozen=True)
class Circumstances:
    """When a program ran, and over which links.

    Attributes:
        start: When it began, on the clock of the host `clock_of`, in ns since 1970; None if
            unknown.
        end: When it had its result, likewise.
        clock_of: Host of its first rank; None if unknown.
        rates: Rate of the link from one host to another, bit/s.
    """

    start: int | None
    end: int | None
    clock_of: str | None
    rates: Mapping[tuple[str, str], float]


def read(path: Path) -> Circumstances:
    """Reads the circumstances from run.json; without the file, all are unknown.

    Raises:
        FlowsweepError: A value is invalid.
    """
    record, _ = records.read(path) or ({}, "")
    run: _Run = checked(_Run, record, path)
    times = run.application if run.application.end is not None else run
    return Circumstances(
        times.start, times.end, run.ranks[0] if run.ranks else None, _find_host_rates(run)
    )


def _find_host_rates(run: _Run) -> dict[tuple[str, str], float]:
    """Returns the lowest known rate of the link between the sites of two hosts."""
    site_rates: dict[tuple[str, str], float] = {}
    ways = [(one.sender, one.receiver, one.rate_bit_s) for one in run.emulator.links]
    for link in run.links:
        if len(link.between) == 2:
            one, other = link.between
            ways += [(one, other, link.rate_bit_s), (other, one, link.rate_bit_s)]
    for sender, receiver, rate in ways:
        if sender is not None and receiver is not None and rate:
            known = site_rates.get((sender, receiver), rate)
            site_rates[sender, receiver] = min(rate, known)
    return {
        (sender, receiver): rate
        for (from_site, to_site), rate in site_rates.items()
        for sender in run.sites.get(from_site, ())
        for receiver in run.sites.get(to_site, ())
    }
