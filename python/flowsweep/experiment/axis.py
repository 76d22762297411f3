"""The classes of an entry in `axes.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from flowsweep.experiment.model import Experiment
    from flowsweep.experiment.workload import Workload


@dataclass(frozen=True)
class Column:
    """A column of the points: what was asked for and, where it is measured, what was measured.

    Attributes:
        asked: Its name in the points and in the rows of the queries.
        meaning: What it holds, with its unit.
        raw: The column of the table `runs` that it is made of, in base units.
        kind: The type of `raw` in SQL.
        scale: `raw` is divided by it; None where `raw` is taken as it is.
        measured: The column of what was measured; None where nothing is.
        measured_meaning: What that column holds.
        raw_measured: The column of `runs` that it is made of.
        number: How `flowsweep.render.points` writes a value.
        words: The text around the written value in the label of a point.
        noun: What is counted, where `number` is `count`.
        unset: The label where there is no value; None: the name and "unset".
        head: The column's heading in a table, and its name in the label of a point.
        unit: The unit of its values.
    """

    asked: str
    meaning: str
    raw: str
    kind: Literal["bigint", "double", "varchar"]
    scale: float | None = None
    measured: str | None = None
    measured_meaning: str = ""
    raw_measured: str | None = None
    number: Literal["estimate", "plain", "size", "share", "count", "text"] = "plain"
    words: str = "{}"
    noun: str = ""
    unset: str | None = None
    head: str = ""
    unit: str = ""

    @property
    def shown(self) -> str:
        """The column whose value is printed: the measured one, where there is one."""
        return self.measured or self.asked


@dataclass(frozen=True)
class Axis:
    """One thing that a sweep varies.

    Attributes:
        name: Its key under `axes:`, after `--set`, and in `axes` of run.json.
        field: The attribute of a `Point`, and of what the axis applies to.
        value: The type of one value in an experiment file.
        description: What the JSON schema says of it.
        parse: Reads the text of `--set`; raises FlowsweepError.
        format: Writes a value as text with its unit.
        applies_to: What a value of it changes: the link between sites, the sockets of
            the hosts, the sites, or the workload.
        columns: Its columns; a value that is a share instead of an amount has a second one.
        baseline: The value at the baseline.
        read: Reads a value of run.json, which other programs write too; default: `parse`.
        raw_measured: A column of `runs` that no point has.
        may_be_zero: Whether 0 is a value.
        mildest: Which end is the mildest for the application; None: neither.
        label: The title of a figure's axis.
        moves: Other axes that this one changes as well.
        is_listed: Whether its values stand under `axes:`; those of the variants have a key of
            their own, because each says what it changes.
    """

    name: str
    field: str
    value: Any
    description: str
    parse: Callable[[str], Any]
    format: Callable[[Any], str]
    applies_to: Literal["link", "sockets", "sites", "workload"]
    columns: tuple[Column, ...]
    baseline: Callable[[Experiment, Workload], Any]
    read: Callable[[Any], Any] | None = None
    raw_measured: str | None = None
    may_be_zero: bool = False
    mildest: Literal["least", "most"] | None = None
    label: str = ""
    moves: tuple[str, ...] = ()
    is_listed: bool = True

    def text(self, value: Any) -> str | None:
        """The value with its unit; None where the value is left to the kernel."""
        return None if value is None else self.format(value)

    def recorded(self, value: Any) -> Any:
        """The value of run.json in base units."""
        return (self.read or self.parse)(value)

    @property
    def raw_columns(self) -> tuple[str, str | None]:
        """The columns of `runs` with what was asked for and what was measured."""
        first = self.columns[0]
        return first.raw, first.raw_measured or self.raw_measured
