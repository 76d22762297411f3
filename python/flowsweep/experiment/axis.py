"""The classes of the entries in `axes.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from flowsweep.experiment.model import Experiment
    from flowsweep.experiment.workload import Workload


@dataclass(frozen=True)
class Column:
    """A column of the points: the requested value and, if it is measured, the measured one.

    Attributes:
        asked: The column's name in the points and in the rows of the queries.
        meaning: Its description, with the unit.
        raw: The column of the table `runs` that it is computed from, in base units.
        kind: The SQL type of `raw`.
        scale: The divisor of `raw`; None for 1.
        measured: The column of the measured value; None if it is not measured.
        measured_meaning: The description of `measured`.
        raw_measured: The column of `runs` that `measured` is computed from.
        number: How `flowsweep.render.points` formats a value.
        words: The text around the formatted value in the label of a point.
        noun: What is counted, if `number` is `count`.
        unset: The label of a missing value; None: the name and "unset".
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
        """The column to print: the measured one, if there is one."""
        return self.measured or self.asked


@dataclass(frozen=True)
class Axis:
    """A quantity or name that a sweep varies.

    Attributes:
        name: Its key under `axes:`, after `--set`, and in `axes` of run.json.
        field: The attribute of a `Point`, and of the object that the axis applies to.
        value: The type of one value in an experiment file.
        description: Its description in the JSON schema.
        parse: Parses the text of `--set`; raises FlowsweepError.
        format: Writes a value as text with its unit.
        applies_to: The object that it changes: the link between sites, the sockets of the hosts,
            the sites, or the workload.
        columns: Its columns; values that are shares have a second column.
        baseline: Returns the value at the baseline.
        read: Parses a value of run.json, which other programs write too; default: `parse`.
        raw_measured: A measured column of `runs` that the points do not have.
        may_be_zero: Whether 0 is a valid value.
        mildest: Which end is the mildest for the application; None: neither.
        label: The title of a figure's axis.
        moves: Other axes that this one changes as well.
        is_listed: Whether its values are under `axes:`; variants have their own key, because
            each of them lists the parameters that it changes.
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
        """Returns the value with its unit; None if the kernel's default applies."""
        return None if value is None else self.format(value)

    def recorded(self, value: Any) -> Any:
        """Returns a value of run.json in base units."""
        return (self.read or self.parse)(value)

    @property
    def raw_columns(self) -> tuple[str, str | None]:
        """The columns of `runs` with the requested and the measured value."""
        first = self.columns[0]
        return first.raw, first.raw_measured or self.raw_measured
