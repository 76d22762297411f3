"""Finds the kind of testbed of a run; `experiment.testbeds` lists them."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING

from flowsweep.experiment import testbeds

if TYPE_CHECKING:
    from flowsweep.experiment import Run
    from flowsweep.testbed.kind import Kind


def find(run: Run) -> Kind:
    """Returns the kind of testbed that makes this run."""
    return _load(run.experiment.testbed.kind)


def _load(kind: str) -> Kind:
    found: Kind = import_module(f"{testbeds.KINDS[kind]}.kind").KIND
    return found


def warnings(runs: Iterable[Run]) -> list[str]:
    """Returns a line for each reason why some of these runs will fail."""
    by_kind: dict[str, list[Run]] = {}
    for run in runs:
        by_kind.setdefault(run.experiment.testbed.kind, []).append(run)
    return [line for kind, own in by_kind.items() for line in _load(kind).warnings(own)]
