"""Outcomes that a command prints: where they stand in its output.

The patterns are those of Rust's `regex`, which takes time linear in the text for one match. To find
all matches of a text may take its square, so a line gives one match at most.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, field_validator

from flowsweep.errors import FlowsweepError
from flowsweep.experiment.quantities import Model
from flowsweep.outcome_names import COMPLETION, MOST_UNIT, PATTERN, Better
from flowsweep.validation import refused

if TYPE_CHECKING:
    from pathlib import Path

#: Bytes at the beginning and at the end of a longer output that are searched.
BEGINNING_BYTES, END_BYTES = 65_536, 1 << 20
LINE_CHARACTERS = 4096
MOST_PATTERN = 200


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
        """Whether it may be the completion time."""
        return (self.unit, self.better) == ("s", "less")

    def value(self, name: str, lines: list[str]) -> float:
        """The outcome in these lines.

        Raises:
            FlowsweepError: No line has it, or what it has is no number.
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
        return value


#: `completion_time: measured` is timed by the testbed, as that of a command without outcomes.
MEASURED = "measured"
Name = Annotated[str, Field(pattern=PATTERN)]
Outcomes = dict[Name, Printed | Literal["measured"]]


def check(outcomes: Outcomes, command: str | None) -> None:
    """Checks what a workload is judged by.

    Raises:
        PydanticCustomError: The command prints no outcome, or an outcome contradicts its name.
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
    """The outcomes in what a command printed, as app.json states them.

    Raises:
        FlowsweepError: One is not there, or is no number.
    """
    lines = _lines(log)
    values = {
        name: one.value(name, lines) for name, one in outcomes.items() if isinstance(one, Printed)
    }
    found: dict[str, Any] = {
        "outcomes": [
            {"name": name, "unit": one.unit, "better": one.better, "value": values[name]}
            for name, one in outcomes.items()
            if isinstance(one, Printed) and name != COMPLETION
        ]
    }
    if COMPLETION in values:
        found["completion_s"] = values[COMPLETION]
    return found


def _lines(log: Path) -> list[str]:
    """The lines that a command printed, without the middle of a long output and of long lines."""
    with log.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        text = file.read(BEGINNING_BYTES if size > BEGINNING_BYTES + END_BYTES else size)
        if file.tell() < size:
            file.seek(size - END_BYTES)
            text += b"\n" + file.read(END_BYTES)
    return [line[:LINE_CHARACTERS] for line in re.split(r"[\r\n]+", text.decode(errors="replace"))]


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FlowsweepError(f"outcome {name}: {text[:40]!r} is not a number")
    return value


def _matches(pattern: str, lines: list[str]) -> Any:
    """The groups of the first match in each line."""
    import polars as pl

    return pl.Series(lines, dtype=pl.String).str.extract_groups(pattern)
