"""Zeek's types and the column types for them.

Zeek's documentation: https://docs.zeek.org/en/master/script-reference/types.html.
"""

from __future__ import annotations

import re
from functools import cache

import polars as pl

TIME = pl.Datetime("ns", "UTC")
#: The types to read and to store a value, by Zeek's name of its type. All others are text.
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
#: Types whose values are read as another type first, and may be invalid in their own.
CONVERTED = frozenset(kind for kind in READ if READ[kind] != KEPT[kind])
CONTAINER = re.compile(r"(?:set|vector|table|list)\[(.*)\]")
#: Zeek writes six decimals of seconds; a double represents them exactly from 1970 to 2255.
MICROSECONDS = 1e6
LATEST_S = 9.2e9
ESCAPED = re.compile(rb"\\x([0-9a-fA-F]{2})")


def element(kind: str) -> str | None:
    """Returns the type of a container's elements; None for any other type."""
    found = CONTAINER.fullmatch(kind)
    return found[1] if found else None


def dtype(kind: str) -> pl.DataType | type[pl.DataType]:
    """Returns the column type for a type: times in ns since 1970 UTC, intervals as ns durations."""
    inner = element(kind)
    # Zeek does not nest containers. If one is nested nevertheless, its elements stay text.
    return KEPT.get(kind, pl.String) if inner is None else pl.List(KEPT.get(inner, pl.String))


def common(one: str, other: str) -> str:
    """Returns the type of a column in two logs: text, if the types differ."""
    return one if dtype(one) == dtype(other) else "string"


def convert(column: pl.Expr, kind: str) -> pl.Expr:
    """Converts a column from its type in `READ` to that in `KEPT`; invalid values are null."""
    if kind in ("time", "interval"):
        whole = pl.when(column.abs() < LATEST_S).then(column * MICROSECONDS)
        return (whole.round().cast(pl.Int64) * 1000).cast(dtype(kind))
    if kind == "bool":
        return column.replace_strict({"T": True, "F": False}, default=None)
    return column


def elements(column: pl.Expr, kind: str, separator: str, unset: str) -> pl.Expr:
    """Splits a container that was read as text into a list; unset elements are null."""
    read, final = READ.get(kind, pl.String), KEPT.get(kind, pl.String)
    one = pl.element()
    one = pl.when(one != unset).then(one)
    one = convert(one.cast(read, strict=False), kind) if read != pl.String else convert(one, kind)
    return column.str.split(separator).list.eval(one.cast(final))


@cache
def resolve_escapes(text: str) -> str:
    r"""Resolves the escapes of a text (`\x09`); returns it unchanged if that gives no UTF-8."""
    content = ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), text.encode())
    try:
        return content.decode()
    except UnicodeDecodeError:
        return text
