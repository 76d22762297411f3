"""The outcomes by which a run is judged, in addition to its completion time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from flowsweep.errors import FlowsweepError
from flowsweep.files import inputs
from flowsweep.outcome_names import (
    BELOW,
    COMPLETION,
    MOST,
    MOST_UNIT,
    NOT_BELOW,
    PATTERN,
    Better,
)
from flowsweep.runs.record_fields import Name, Number, Record
from flowsweep.validation import refused


def _refuse_negative(value: float) -> float:
    """Refuses a value below 0: how many times worse it is than another is not defined."""
    if value < 0:
        raise refused(BELOW, f"{value:g}", NOT_BELOW)
    return value


class Outcome(Record):
    """A number that a run reports about itself.

    Attributes:
        unit: The printed unit; empty for counts and shares.
        better: Whether less is better, or more.
    """

    name: Annotated[str, Field(pattern=PATTERN)]
    unit: Annotated[Name, Field(max_length=MOST_UNIT)] = ""
    better: Better
    value: Annotated[Number, AfterValidator(_refuse_negative)]


def _check_distinct(value: object) -> object:
    if not isinstance(value, list):
        raise refused(
            "not a list of outcomes", inputs.shorten_value(value), '[{"name": ..., "value": ...}]'
        )
    if len(value) > MOST:
        raise refused("too many outcomes", str(len(value)), f"at most {MOST}")
    names = [one.get("name") for one in value if isinstance(one, dict)]
    for name in names:
        if name == COMPLETION:
            raise refused(
                f"{COMPLETION} is no outcome of this list",
                f'"{name}"',
                "`completion_s`, in seconds",
            )
        if names.count(name) > 1:
            raise refused("an outcome is there twice", inputs.shorten_value(name), "each name once")
    return value


Outcomes = Annotated[list[Outcome], BeforeValidator(_check_distinct)]


def rows(outcomes: Iterable[Outcome]) -> list[dict[str, Any]]:
    """Returns the outcomes as values of the table `runs`."""
    return [one.model_dump() for one in outcomes]


def check_alike(runs: Iterable[dict[str, Any]]) -> None:
    """Checks that an outcome has the same meaning in all runs of an application.

    Args:
        runs: Rows of the table `runs`.

    Raises:
        FlowsweepError: Two runs differ in the outcome's unit, or in `better`.
    """
    seen: dict[tuple[str, str], tuple[str, str, str]] = {}
    for run in runs:
        for one in run["outcomes"] or ():
            meant = (one["unit"], one["better"])
            unit, better, first = seen.setdefault((run["app"], one["name"]), (*meant, run["run"]))
            if meant != (unit, better):
                raise FlowsweepError(
                    f"{run['run']}: outcome {one['name']} is not that of {first}",
                    found=_describe(*meant),
                    expected=f"{_describe(unit, better)}, as in {first}",
                    remedy="give one unit and one `better` to an outcome, or two names",
                )


def _describe(unit: str, better: str) -> str:
    return f'unit "{unit}", {better} is better'
