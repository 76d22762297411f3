"""Reads tables through DuckDB, with times that all DuckDB functions accept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from flowsweep import _parsers
from flowsweep.notebook import Shown
from flowsweep.streams import Streamed, relation


class Rows(Streamed, Protocol):
    """One table, with times in nanoseconds."""

    @property
    def name(self) -> str:
        """The table's name, such as flows."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The table's files."""

    def _shown_files(self) -> tuple[Path, ...]: ...


@dataclass(frozen=True, repr=False)
class Microseconds(Shown):
    """A table whose times are rounded to microseconds.

    DuckDB 2.0 lacks `-`, `date_trunc`, `time_bucket`, `epoch` and `+ interval` for times in
    nanoseconds. Columns that end in `_ns` stay in nanoseconds.
    """

    rows: Rows

    @property
    def name(self) -> str:  # type: ignore[override]
        """The table's name, such as flows."""
        return self.rows.name

    @property
    def files(self) -> tuple[Path, ...]:
        """The table's files."""
        return self.rows.files

    def _shown_files(self) -> tuple[Path, ...]:
        return self.rows._shown_files()  # noqa: SLF001 - of the same kind

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Returns the rows as an Arrow C stream."""
        times = [name for name, kind, *_ in _parsers.columns(self.name) if kind == "time"]
        casts = ", ".join(f"{name}::timestamptz as {name}" for name in times)
        columns = f"* replace ({casts})" if casts else "*"
        stream: object = relation(self.rows).project(columns).__arrow_c_stream__(requested_schema)
        return stream
