"""Tables by way of DuckDB, with times that all functions of DuckDB take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from flowsweep import _parsers
from flowsweep.notebook import Shown

if TYPE_CHECKING:
    import duckdb


class Streamed(Protocol):
    """What has the Arrow PyCapsule stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Its rows."""


class Rows(Streamed, Protocol):
    """One table, with times in nanoseconds."""

    @property
    def name(self) -> str:
        """The table's name, such as flows."""

    @property
    def files(self) -> tuple[Path, ...]:
        """What it is read from."""

    def _shown_files(self) -> tuple[Path, ...]: ...


@dataclass(frozen=True, repr=False)
class Microseconds(Shown):
    """A table whose times are rounded to microseconds.

    DuckDB 2.0 lacks `-`, `date_trunc`, `time_bucket`, `epoch` and `+ interval` for times with
    nanoseconds. Columns that end in `_ns` keep their nanoseconds.
    """

    rows: Rows

    @property
    def name(self) -> str:  # type: ignore[override]
        """The table's name, such as flows."""
        return self.rows.name

    @property
    def files(self) -> tuple[Path, ...]:
        """What it is read from."""
        return self.rows.files

    def _shown_files(self) -> tuple[Path, ...]:
        return self.rows._shown_files()  # noqa: SLF001 - of the same kind

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as an Arrow C stream."""
        times = [name for name, kind, *_ in _parsers.columns(self.name) if kind == "time"]
        casts = ", ".join(f"{name}::timestamptz as {name}" for name in times)
        columns = f"* replace ({casts})" if casts else "*"
        stream: object = _relation(self.rows).project(columns).__arrow_c_stream__(requested_schema)
        return stream


@dataclass(frozen=True)
class Head:
    """The first rows of a table; of a capture no more is read than they need."""

    rows: Streamed
    count: int

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as an Arrow C stream."""
        stream: object = _relation(self.rows).limit(self.count).__arrow_c_stream__(requested_schema)
        return stream


def _relation(rows: Streamed) -> duckdb.DuckDBPyRelation:
    """A table for an empty database that shows times in UTC."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    return connection.from_arrow(rows)
