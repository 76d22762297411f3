"""Reuses the rows of queries that an earlier report left in results/NAME/NAME.duckdb.

The rows are reused if the tables, the SQL and the programs are unchanged: the file contains a
digest of all three.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import duckdb

import flowsweep
from flowsweep import content
from flowsweep.files import parquet_files
from flowsweep.files.owned import DATABASE_MARK
from flowsweep.warehouse import signatures

#: Files that determine the rows: the package's Python, the SQL and its descriptions.
PROGRAMS = ("*.py", "*.sql", "*.yaml")


def mark(state: str) -> str:
    """Returns the comment by which a database records what its rows were computed from.

    Args:
        state: A text that differs whenever the tables differ.
    """
    programs = _programs(content.PACKAGE, content.folder("reports"))
    return f"{DATABASE_MARK.decode()} {signatures.digest(f'{state} {programs}')}"


def path_of(directory: Path) -> Path:
    """Returns the path of the database of results/<experiment>."""
    return directory / f"{directory.absolute().name}.duckdb"


def attach(
    connection: duckdb.DuckDBPyConnection, path: Path, wanted: Callable[[], str]
) -> frozenset[str]:
    """Attaches the database to the connection as `kept`, read-only.

    Args:
        connection: The warehouse's connection.
        path: The database file.
        wanted: Returns the mark that the database must have.

    Returns:
        The queries whose rows it contains; none if it is missing or has another mark.
    """
    if not path.is_file():
        return frozenset()
    try:
        connection.execute(f"attach {parquet_files.quote(str(path))} as kept (read_only)")
        # Only tables: a view with the name of a query could read any file.
        rows = connection.execute(
            "select table_name from duckdb_tables() where database_name = 'kept' "
            "and schema_name = 'main' and exists (select * from duckdb_tables() where "
            "database_name = 'kept' and schema_name = 'models' and comment = ?)",
            [wanted()],
        ).fetchall()
    except duckdb.Error:
        return frozenset()
    return frozenset(row[0] for row in rows)


@functools.cache
def _programs(*folders: Path) -> str:
    """Returns a digest of all programs that rows depend on."""
    parts = [flowsweep.__version__, duckdb.__version__]
    for folder in folders:
        for pattern in PROGRAMS:
            for path in sorted(folder.rglob(pattern)):
                text = path.read_text(encoding="utf-8")
                parts += [path.relative_to(folder).as_posix(), signatures.digest(text)]
    return signatures.digest("\n".join(parts))
