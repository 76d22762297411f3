"""Rows of queries that an earlier report left in results/NAME/NAME.duckdb.

They are taken instead of being computed again where the same tables, the same SQL and the same
programs would give them: the file names a digest of all three.
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

#: What leads from tables to rows: Python of the package, SQL and its descriptions.
PROGRAMS = ("*.py", "*.sql", "*.yaml")


def mark(state: str) -> str:
    """The comment by which a database records what its rows were made from.

    Args:
        state: Differs as soon as the tables do.
    """
    programs = _programs(content.PACKAGE, content.folder("reports"))
    return f"{DATABASE_MARK.decode()} {signatures.digest(f'{state} {programs}')}"


def path_of(directory: Path) -> Path:
    """The place of the database of results/<experiment>."""
    return directory / f"{directory.absolute().name}.duckdb"


def attach(
    connection: duckdb.DuckDBPyConnection, path: Path, wanted: Callable[[], str]
) -> frozenset[str]:
    """Gives a connection the database `kept`, to read.

    Args:
        connection: Of the warehouse.
        path: Of the database.
        wanted: The mark that it must have.

    Returns:
        The queries whose rows are in it; none where it is not there or has another mark.
    """
    if not path.is_file():
        return frozenset()
    try:
        connection.execute(f"attach {parquet_files.quote(str(path))} as kept (read_only)")
        # A view of this name could read any file.
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
    """A digest of all programs that rows depend on."""
    parts = [flowsweep.__version__, duckdb.__version__]
    for folder in folders:
        for pattern in PROGRAMS:
            for path in sorted(folder.rglob(pattern)):
                text = path.read_text(encoding="utf-8")
                parts += [path.relative_to(folder).as_posix(), signatures.digest(text)]
    return signatures.digest("\n".join(parts))
