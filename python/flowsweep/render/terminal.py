"""Rows to the terminal: plain columns, cut from the right where the window is narrow."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

GAP = 2


def print_rows(rows: pl.DataFrame) -> None:
    """Aligned columns on stdout; a file or pipe gets all of them."""
    columns = []
    for name in rows.columns:
        is_number = rows[name].dtype.is_numeric()
        cells = [_cell(value) for value in rows[name]]
        width = max(map(len, [name, *cells]))
        columns.append(
            [cell.rjust(width) if is_number else cell.ljust(width) for cell in [name, *cells]]
        )
    left_out: list[str] = []
    if sys.stdout.isatty():
        columns, left_out = _fitting(columns, shutil.get_terminal_size().columns)
    for line in zip(*columns, strict=True):
        print((" " * GAP).join(line).rstrip())
    if left_out:
        print(f"not shown: {', '.join(left_out)} (--format csv shows all)", file=sys.stderr)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.0f}"
    return str(value)


def _fitting(columns: list[list[str]], width: int) -> tuple[list[list[str]], list[str]]:
    """The columns that fit, and the names of those that do not."""
    used = -GAP
    for index, column in enumerate(columns):
        used += len(column[0]) + GAP
        if used > width and index:
            return columns[:index], [other[0].strip() for other in columns[index:]]
    return columns, []
