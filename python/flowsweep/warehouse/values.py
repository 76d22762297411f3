"""Types and values of DuckDB as those of Polars, and as text of SQL."""

from __future__ import annotations

from typing import Any

from flowsweep.files.parquet_files import quoted


def dtype(kind: str) -> Any:
    """The type of Polars for one of DuckDB; times are in UTC, as DuckDB is told to use."""
    import polars as pl

    if kind.endswith("[]"):
        return pl.List(dtype(kind.removesuffix("[]")))
    if kind.startswith("TIMESTAMP"):
        return pl.Datetime("ns", "UTC")
    if kind.endswith("INT") or kind == "INTEGER":
        return pl.Int64
    return {"BOOLEAN": pl.Boolean, "VARCHAR": pl.String, "JSON": pl.String}.get(kind, pl.Float64)


def literal(item: object) -> str:
    """The value in a statement."""
    if item is None:
        return "null"
    if isinstance(item, str):
        return quoted(item)
    if isinstance(item, float) and item in (float("inf"), float("-inf")):
        return f"'{item}'::double"
    return str(item)
