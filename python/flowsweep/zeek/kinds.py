"""Zeek's types and the columns that hold them.

What each means: https://docs.zeek.org/en/master/script-reference/types.html.
"""

from __future__ import annotations

import re
from functools import cache

import polars as pl

TIME = pl.Datetime("ns", "UTC")
#: How a value is read, and how it is kept, by Zeek's name of its type. All others are text.
READ: dict[str, type[pl.DataType]] = {
    "bool": pl.String,
    "count": pl.UInt64,
    "int": pl.Int64,
    "double": pl.Float64,
    "time": pl.Float64,
    "interval": pl.Float64,
    "port": pl.UInt16,
}
KEPT: dict[str, pl.DataType | type[pl.DataType]] = {
    **READ,
    "bool": pl.Boolean,
    "time": TIME,
    "interval": pl.Duration("ns"),
}
CONTAINER = re.compile(r"(?:set|vector|table|list)\[(.*)\]")
#: Zeek writes six decimals of seconds; a double holds those of 1970 to 2255 exactly.
MICROSECONDS = 1e6
LATEST_S = 9.2e9
ESCAPED = re.compile(rb"\\x([0-9a-fA-F]{2})")


def element(kind: str) -> str | None:
    """The type of the elements of a container; None of any other type."""
    found = CONTAINER.fullmatch(kind)
    return found[1] if found else None


def dtype(kind: str) -> pl.DataType | type[pl.DataType]:
    """Converts values of a type: times to ns since 1970 UTC, intervals to durations in ns."""
    inner = element(kind)
    # Zeek does not nest containers. The elements of one that is nested all the same stay text.
    return KEPT.get(kind, pl.String) if inner is None else pl.List(KEPT.get(inner, pl.String))


def common(one: str, other: str) -> str:
    """The type that a column has whose logs do not agree: text, if it is not the same."""
    return one if dtype(one) == dtype(other) else "string"


def convert(column: pl.Expr, kind: str) -> pl.Expr:
    """A column that was read as `READ` says as it is kept; what does not fit is null."""
    if kind in ("time", "interval"):
        whole = pl.when(column.abs() < LATEST_S).then(column * MICROSECONDS)
        return (whole.round().cast(pl.Int64) * 1000).cast(dtype(kind))
    if kind == "bool":
        return column.replace_strict({"T": True, "F": False}, default=None)
    return column


def elements(column: pl.Expr, kind: str, separator: str, unset: str) -> pl.Expr:
    """A container that was read as text: a list of its elements, unset ones null."""
    read, final = READ.get(kind, pl.String), KEPT.get(kind, pl.String)
    one = pl.element()
    one = pl.when(one != unset).then(one)
    one = convert(one.cast(read, strict=False), kind) if read != pl.String else convert(one, kind)
    return column.str.split(separator).list.eval(one.cast(final))


@cache
def resolve_escapes(text: str) -> str:
    r"""A text whose escapes (`\x09`) are resolved; left as it is where that is no UTF-8."""
    content = ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), text.encode())
    try:
        return content.decode()
    except UnicodeDecodeError:
        return text
