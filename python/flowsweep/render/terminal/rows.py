"""Prints rows in plain columns, and narrows them in a narrow window."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flowsweep import numbers, printing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import polars as pl

GAP = 2
SHORTEST_TEXT = 16
CUT = "…"


@dataclass
class Column:
    """A printed column: its name, then its cells."""

    name: str
    cells: list[str]
    is_number: bool

    @property
    def width(self) -> int:
        """Characters of the widest cell, or of the name."""
        return max(map(len, [self.name, *self.cells]))

    @property
    def is_same_everywhere(self) -> bool:
        """Whether there are several rows, all with the same value."""
        return len(self.cells) > 1 and len(set(self.cells)) == 1

    def cut(self, width: int) -> None:
        """Cuts longer cells, which then end in an ellipsis."""
        self.cells = [
            cell if len(cell) <= width else cell[: width - len(CUT)] + CUT for cell in self.cells
        ]

    def lines(self) -> list[str]:
        """Returns name and cells padded to the same width, numbers to the right."""
        pad, width = str.rjust if self.is_number else str.ljust, self.width
        return [pad(cell, width) for cell in [self.name, *self.cells]]


def print_rows(rows: pl.DataFrame, first: Collection[str] = ()) -> None:
    """Prints aligned columns on stdout; a file or pipe gets all of them, unless COLUMNS is set.

    In a narrow window, columns with a single value move below the table and text is cut. Columns
    that still do not fit are left out and named: first asked values beside measured ones, then
    from the right.

    Args:
        rows: The rows to print.
        first: Columns that are left out only after all others, the last of them first.
    """
    columns = [
        Column(name, [_cell(value) for value in rows[name]], rows[name].dtype.is_numeric())
        for name in rows.columns
    ]
    notes: list[str] = []
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        columns, notes = _fit(columns, shutil.get_terminal_size().columns, first)
    for line in zip(*(column.lines() for column in columns), strict=True):
        print((" " * GAP).join(line).rstrip())
    for note in notes:
        print(note, file=sys.stderr)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return numbers.TRUTH[value]
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.0f}"
    return printing.line(str(value))


def _width(columns: list[Column], measure: Callable[[Column], int] = lambda one: one.width) -> int:
    return sum(measure(column) + GAP for column in columns) - GAP


def _shortest(column: Column) -> int:
    """Returns the least width of a column: text may be cut, numbers may not."""
    longest = max(len(column.name), SHORTEST_TEXT)
    return column.width if column.is_number else min(column.width, longest)


def _fit(
    columns: list[Column], width: int, first: Collection[str]
) -> tuple[list[Column], list[str]]:
    """Returns the columns that fit, narrower if needed, and notes on the others."""
    if _width(columns) <= width:
        return columns, []
    same = [column for column in columns if column.is_same_everywhere]
    kept = [column for column in columns if not column.is_same_everywhere] or columns[:1]
    notes = []
    if texts := [f"{column.name} {column.cells[0]}" for column in same if column not in kept]:
        notes.append(f"in every row: {', '.join(texts)}")
    left_out = []
    while len(kept) > 1 and _width(kept, _shortest) > width:
        left_out.append(kept.pop(_find_least(kept, first)))
    _cut_widest(kept, width)
    if left_out:
        names = ", ".join(column.name for column in columns if column in left_out)
        notes.append(f"not shown: {names} (a wider window, or --format csv, shows all)")
    return kept, notes


def _cut_widest(columns: list[Column], width: int) -> None:
    """Cuts the widest texts until all fits, or nothing can be cut."""
    widths = [column.width for column in columns]
    least = [_shortest(column) for column in columns]
    too_wide = _width(columns) - width
    while too_wide > 0 and (able := [at for at, wide in enumerate(widths) if wide > least[at]]):
        widths[max(able, key=widths.__getitem__)] -= 1
        too_wide -= 1
    for column, wide in zip(columns, widths, strict=True):
        if not column.is_number:
            column.cut(wide)


def _find_least(columns: list[Column], first: Collection[str]) -> int:
    """Returns the place of the column that is least missed."""
    names = [column.name for column in columns]
    others = [name for name in names if name not in first]
    if not others:
        order = list(first)
        return names.index(max(names, key=order.index))
    asked = [name for name in others if "_asked" in name and name.replace("_asked", "") in names]
    return names.index((asked or others)[-1])
