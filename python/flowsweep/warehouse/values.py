"""Converts types and values of DuckDB to those of Polars, and to SQL text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowsweep.files.parquet_files import quote

if TYPE_CHECKING:
    import duckdb
    import polars as pl

_PLAIN = ("BOOLEAN", "DOUBLE", "FLOAT", "JSON", "VARCHAR")


def frame(connection: duckdb.DuckDBPyConnection, sql: str, are_many: bool = False) -> pl.DataFrame:
    """Returns the rows of a query: 64-bit integers, doubles, texts, times in ns, lists of these.

    Args:
        connection: Runs the query.
        sql: The query.
        are_many: Whether to fetch the rows as Arrow, which takes a twentieth of the time. At exit
            of a process that used Arrow, DuckDB reports leaked objects, although none grow.
    """
    import polars as pl

    if are_many:
        relation = connection.sql(sql)
        kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
        if all(map(_is_taken, kinds.values())):
            return _convert_arrow(pl.DataFrame(relation), _schema(kinds))
    # With a relation DuckDB would bind the query twice, which takes as long as running it.
    connection.execute(sql)
    schema = _schema({name: str(kind) for name, kind, *_ in connection.description})
    return pl.DataFrame(connection.fetchall(), schema=schema, orient="row", strict=False)


def _schema(kinds: dict[str, str]) -> dict[str, Any]:
    return {name: _dtype(kind) for name, kind in kinds.items()}


def _convert_arrow(taken: pl.DataFrame, schema: dict[str, Any]) -> pl.DataFrame:
    """Casts Arrow rows to the types of `schema`; times without a zone are in UTC."""
    import polars as pl

    zoneless = [
        name
        for name, kind in taken.schema.items()
        if isinstance(kind, pl.Datetime) and kind.time_zone is None
    ]
    in_utc = taken.with_columns(pl.col(zoneless).dt.replace_time_zone("UTC"))
    return in_utc.cast(schema)  # type: ignore[arg-type]


def _is_taken(kind: str) -> bool:
    kind = kind.removesuffix("[]")
    return _is_integer(kind) or kind in _PLAIN or kind.startswith(("DECIMAL", "TIMESTAMP"))


def _is_integer(kind: str) -> bool:
    return kind.endswith("INT") or kind == "INTEGER"


def _dtype(kind: str) -> Any:
    """Returns the Polars type for a DuckDB type; times are in UTC, as set in DuckDB."""
    import polars as pl

    if kind.endswith("[]"):
        return pl.List(_dtype(kind.removesuffix("[]")))
    if kind.startswith("TIMESTAMP"):
        return pl.Datetime("ns", "UTC")
    if _is_integer(kind):
        return pl.Int64
    return {"BOOLEAN": pl.Boolean, "VARCHAR": pl.String, "JSON": pl.String}.get(kind, pl.Float64)


def literal(item: object) -> str:
    """Returns the value as an SQL literal."""
    if item is None:
        return "null"
    if isinstance(item, str):
        return quote(item)
    if isinstance(item, float) and item in (float("inf"), float("-inf")):
        return f"'{item}'::double"
    return str(item)
