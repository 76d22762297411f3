"""Finds outcomes that a command prints in its output.

The patterns are those of Rust's `regex`, which finds one match in linear time. Finding all matches
may take quadratic time, so each line gives at most one match.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, field_validator

from flowsweep.errors import FlowsweepError
from flowsweep.experiment.quantities import Model
from flowsweep.files.inputs import BEGINNING_BYTES, END_BYTES
from flowsweep.outcome_names import (
    BELOW,
    COMPLETION,
    MOST_UNIT,
    NOT_BELOW,
    PATTERN,
    Better,
)
from flowsweep.validation import refused

if TYPE_CHECKING:
    from pathlib import Path

LINE_CHARACTERS = 4096
MOST_PATTERN = 200
_LINE_END = re.compile(rb"[\r\n]+")


class Printed(Model):
    """An outcome as a command prints it."""

    pattern: str = Field(
        description="A regular expression with one group, the number: `tps = ([0-9.]+)`. In the "
        "syntax of Rust's regex; it is looked for in each line, which it matches once at most.",
        min_length=1,
        max_length=MOST_PATTERN,
    )
    unit: str = Field(
        "", description="Its unit, as it is printed.", max_length=MOST_UNIT, pattern=r"^\P{C}*$"
    )
    better: Better = Field(description="Whether less of it is better, or more.")
    take: Literal["last", "sum", "mean", "least", "most"] = Field(
        "last",
        description="What counts where several lines match, as of a command on several hosts.",
    )

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        import polars as pl

        try:
            groups = _matches(pattern, [""]).struct.fields
        except pl.exceptions.ComputeError as error:
            why = " ".join(str(error).splitlines()[0].split())
            raise refused("not a pattern", f"{pattern!r}: {why}", "Rust's regex syntax") from None
        if len(groups) != 1:
            raise refused(
                "a pattern has one group, the number",
                f"{pattern!r} with {len(groups)}",
                "one pair of parentheses; (?:...) is no group",
            )
        return pattern

    @property
    def is_time(self) -> bool:
        """Whether it has the unit and direction of a completion time."""
        return (self.unit, self.better) == ("s", "less")

    def value(self, name: str, lines: list[str]) -> float:
        """Returns the outcome from these lines.

        Raises:
            FlowsweepError: No line matches, or the match is no number.
        """
        groups = _matches(self.pattern, lines)
        found = groups.struct.field(groups.struct.fields[0]).drop_nulls().to_list()
        if not found:
            raise FlowsweepError(f"outcome {name}: no line that was printed matches {self.pattern}")
        values = [_number(name, text) for text in (found[-1:] if self.take == "last" else found)]
        value = {
            "last": values[-1],
            "sum": sum(values),
            "mean": sum(values) / len(values),
            "least": min(values),
            "most": max(values),
        }[self.take]
        if not math.isfinite(value):
            raise FlowsweepError(f"outcome {name}: the {self.take} of its values is no number")
        if value < 0:
            raise FlowsweepError(f"outcome {name}: {value:g} {BELOW}", expected=NOT_BELOW)
        return value


#: With `completion_time: measured` the testbed measures it, as for a command without outcomes.
MEASURED = "measured"
Name = Annotated[str, Field(pattern=PATTERN)]
Outcomes = dict[Name, Printed | Literal["measured"]]


def check(outcomes: Outcomes, command: str | None) -> None:
    """Checks the outcomes of a workload.

    Raises:
        PydanticCustomError: The workload has no command, or an outcome contradicts its name.
    """
    if outcomes and command is None:
        raise refused("an app reports its outcomes itself", "`outcomes`", "them with a `command`")
    for name, one in outcomes.items():
        if one == MEASURED and name != COMPLETION:
            raise refused(f"{name} is not measured", MEASURED, f"a pattern; {COMPLETION} alone is")
        if isinstance(one, Printed) and name == COMPLETION and not one.is_time:
            raise refused(
                f"{COMPLETION} is in seconds",
                f'unit "{one.unit}", better {one.better}',
                "unit: s, better: less",
            )


def read(outcomes: Outcomes, log: Path) -> dict[str, Any]:
    """Returns the outcomes in a command's output, in the form of app.json.

    Raises:
        FlowsweepError: An outcome is missing or no number.
    """
    printed = {name: one for name, one in outcomes.items() if isinstance(one, Printed)}
    lines, is_cut = _lines(log)
    values = {}
    for name, one in printed.items():
        if is_cut and one.take != "last":
            raise FlowsweepError(
                f"outcome {name}: the {one.take} of more lines than are read",
                found=f"{log.stat().st_size:,} bytes of output",
                expected=f"at most {BEGINNING_BYTES + END_BYTES:,} bytes",
                remedy="have the program print less, or the value itself at the end (take: last)",
            )
        values[name] = one.value(name, lines)
    found: dict[str, Any] = {
        "outcomes": [
            {"name": name, "unit": one.unit, "better": one.better, "value": values[name]}
            for name, one in printed.items()
            if name != COMPLETION
        ]
    }
    if COMPLETION in values:
        found["completion_s"] = values[COMPLETION]
    return found


def _lines(log: Path) -> tuple[list[str], bool]:
    """Returns the lines of a command's output, cut if they are long, and whether lines are missing.

    Those in the middle of a long output are, with the two that the cuts would leave in part.
    """
    with log.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        is_cut = size > BEGINNING_BYTES + END_BYTES
        text = file.read(BEGINNING_BYTES if is_cut else size)
        if is_cut:
            file.seek(size - END_BYTES)
            text = b"\n".join([*_LINE_END.split(text)[:-1], *_LINE_END.split(file.read())[1:]])
    lines = re.split(r"[\r\n]+", text.decode(errors="replace"))
    return [line[:LINE_CHARACTERS] for line in lines], is_cut


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FlowsweepError(f"outcome {name}: {text[:40]!r} is not a number")
    return value


def _matches(pattern: str, lines: list[str]) -> Any:
    """Returns the groups of the first match in each line."""
    import polars as pl

    return pl.Series(lines, dtype=pl.String).str.extract_groups(pattern)
