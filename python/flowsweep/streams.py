"""Passes Arrow streams through an empty DuckDB, to cut off rows or change columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import duckdb


class Streamed(Protocol):
    """An object with the Arrow PyCapsule stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Returns the rows as an Arrow C stream."""


@dataclass(frozen=True)
class Head:
    """The first rows of a table; a capture is read only as far as they need."""

    rows: Streamed
    count: int

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Returns the first rows as an Arrow C stream."""
        stream: object = relation(self.rows).limit(self.count).__arrow_c_stream__(requested_schema)
        return stream


def relation(rows: Streamed) -> duckdb.DuckDBPyRelation:
    """Returns a table as a relation of an empty database that shows times in UTC."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    return connection.from_arrow(rows)
