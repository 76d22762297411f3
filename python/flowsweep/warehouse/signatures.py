"""Signatures of each run's table files, which differ whenever a file differs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from flowsweep.files import layout, parquet_files

if TYPE_CHECKING:
    import duckdb

#: The signature of each run, by the run's name.
Signatures = dict[str, str]
#: With at most this many runs, every file is checked each time; with more, only the folders of the
#: runs. To overwrite files of a larger experiment in place, remove its folder `facts`.
SMALL_SWEEP = 500


def state(tables: Path) -> list[tuple[str, int, int]]:
    """Returns a list that differs whenever a run's tables, or `runs`, are written again."""
    found = []
    for path in sorted(tables.iterdir()):
        with suppress(OSError):
            if not path.name.startswith("."):
                about = path.stat()
                found.append((path.name, about.st_ino, about.st_mtime_ns))
    return found


def are_smaller_than(tables: Path, limit_bytes: int) -> bool:
    """Returns whether the tables of all runs together have less than `limit_bytes`."""
    total = 0
    for folder in layout.run_folders(tables):
        for _, file in layout.files_of(folder):
            with suppress(OSError):
                total += file.stat().st_size
            if total >= limit_bytes:
                return False
    return True


def runs_with_tables(tables: Path) -> int:
    """Returns the number of runs that have tables."""
    return sum(1 for _ in layout.run_folders(tables))


@dataclass(frozen=True)
class Inputs:
    """The runs that have tables or a row in `runs`.

    Attributes:
        signatures: The signature of each run, sorted by name.
        sizes: Bytes of the tables of each run.
        folders: Names of each run's folders in the folder of the tables.
    """

    signatures: Signatures
    sizes: dict[str, int]
    folders: dict[str, set[str]]

    def select(self, runs: Sequence[str]) -> Inputs:
        """Returns the inputs of some of the runs."""
        return Inputs(
            *(
                {run: known[run] for run in runs}
                for known in (self.signatures, self.sizes, self.folders)
            )  # type: ignore[arg-type]
        )


def read_inputs(tables: Path, connection: duckdb.DuckDBPyConnection) -> Inputs:
    """Returns the signatures, sizes and folders of all runs.

    Args:
        tables: The folder of all tables.
        connection: Reads runs.parquet.
    """
    marks: dict[str, list[str]] = {}
    sizes: dict[str, int] = {}
    folders: dict[str, set[str]] = {}
    for folder in layout.run_folders(tables):
        run = unquote(folder.name.removeprefix("run="))
        for host, file in layout.files_of(folder):
            with suppress(OSError):
                about = file.stat()
                sizes[run] = sizes.get(run, 0) + about.st_size
                table = file.name.removesuffix(".parquet")
                mark = f"{table} {host} {about.st_size} {about.st_mtime_ns}"
                marks.setdefault(run, []).append(mark)
                folders.setdefault(run, set()).add(folder.name)
    for run, mark in _records(tables, connection):
        marks.setdefault(run, []).append(mark)
    signatures = {run: digest("\n".join(sorted(marks[run]))) for run in sorted(marks)}
    return Inputs(
        signatures,
        {run: sizes.get(run, 0) for run in signatures},
        {run: folders.get(run, set()) for run in signatures},
    )


def _records(tables: Path, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """Returns the hashes of each run's rows in `runs`, as text."""
    rows = parquet_files.query_files([tables / "runs.parquet"])
    return connection.execute(
        f"with hashed as (select run, hash(record) as mark from ({rows}) as record) "  # noqa: S608
        "select run, string_agg(mark::varchar, ' ' order by mark) from hashed "
        "where run is not null group by run"
    ).fetchall()


def digest(text: str) -> str:
    """Returns 16 hexadecimal digits of a text's SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
