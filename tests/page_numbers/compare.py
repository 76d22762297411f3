"""Compares the rows of a page with recomputed rows."""

from __future__ import annotations

import base64
import gzip
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

#: Sums of the same doubles in different order differ by less.
RELATIVE = 1e-9


@dataclass(frozen=True)
class Expected:
    """Rows that a query must have.

    Attributes:
        rows: All of them, as exact as doubles are.
        order: Columns that sort both sides alike.
        decimals: Number of decimals to which the query rounds a column; others are exact.
        figures: Columns that keep four decimals, or as many as show three figures.
    """

    rows: pl.DataFrame
    order: Sequence[str]
    decimals: Mapping[str, int] = field(default_factory=dict)
    figures: frozenset[str] = frozenset()

    def tolerance(self, column: str, value: float) -> float:
        """Returns how far a row's value may be from `value`: half of its last decimal."""
        exact = RELATIVE * abs(value)
        if column in self.figures:
            size = math.floor(math.log10(abs(value))) if value else 0
            return 0.5001 * 10.0 ** -max(4, 2 - size) + exact
        if column in self.decimals:
            return 0.5001 * 10.0 ** -self.decimals[column] + exact
        return exact


@dataclass(frozen=True)
class Comparison:
    """The result of comparing one query.

    Attributes:
        faults: What differs, in words.
        missing: Columns of the query that were not recomputed.
        numbers: How many numbers agree.
    """

    faults: list[str]
    missing: set[str]
    numbers: int


def page_rows(html: str) -> list[pl.DataFrame]:
    """Returns the data of each figure and table of a page, in the page's order."""
    found = re.findall(r'<script type="application/gzip">(.*?)</script>', html)
    unpacked = [gzip.decompress(base64.b64decode(packed)) for packed in found]
    return [pl.read_csv(io.BytesIO(rows), infer_schema_length=None) for rows in unpacked]


def compare(name: str, rows: pl.DataFrame, expected: Expected) -> Comparison:
    """Compares every column that both have, row by row."""
    missing = set(rows.columns) - set(expected.rows.columns)
    unknown = set(expected.rows.columns) - set(rows.columns)
    assert not unknown, f"{name} has no columns {sorted(unknown)}"
    if rows.height != expected.rows.height:
        return Comparison([f"{name}: {rows.height} rows, not {expected.rows.height}"], missing, 0)
    columns = expected.rows.columns
    ordered = rows.sort(expected.order, nulls_last=False).select(columns)
    its = expected.rows.sort(expected.order, nulls_last=False)
    faults, numbers = [], 0
    for column in columns:
        for place, (shown, value) in enumerate(zip(ordered[column], its[column], strict=True)):
            numbers += isinstance(value, int | float) and not isinstance(value, bool)
            if not _agrees(shown, value, expected, column):
                where = {key: its[key][place] for key in expected.order}
                faults.append(f"{name}.{column} is {shown!r}, not {value!r}, at {where}")
    return Comparison(faults, missing, numbers)


def _agrees(shown: Any, value: Any, expected: Expected, column: str) -> bool:
    if isinstance(value, float | int) and not isinstance(value, bool):
        if not isinstance(shown, float | int):
            return False
        return abs(shown - value) <= expected.tolerance(column, value)
    return bool(shown == value)
