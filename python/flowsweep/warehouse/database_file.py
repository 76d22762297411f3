"""results/NAME/NAME.duckdb: what a report was made from, for any program that opens such a file.

The schema `main` contains the rows of every query, as tables; `models` the runs, points and
captures that they share; `files` and `facts` views over the Parquet files. The paths in the views
are relative to results/NAME, so that the folder may be moved: a program with another working
directory sets `file_search_path`.

DuckDB 1.4, the long-term support release, opens it too. That version has no type for nanoseconds
with a time zone, so times are TIMESTAMP_NS here, in UTC.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from flowsweep.files import file_sets, outputs, parquet_files
from flowsweep.files.owned import FACTS
from flowsweep.warehouse import answers, figures, parts, settings
from flowsweep.warehouse.catalog import figure_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowsweep.warehouse.database import Warehouse

#: Models whose values are in a table or follow from one row, so that every write gives the same.
MODELS = ("runs", "points", "point_runs", "hosts", "captures")
#: The oldest DuckDB that can open the file.
STORAGE_VERSION = "v1.4.0"


def write(warehouse: Warehouse) -> Path:
    """Writes the database whole or not at all, in place of an older one, and returns its path."""
    path = answers.path_of(warehouse.directory)
    with (
        warehouse.reading(),
        file_sets.scratch_folder(settings.spill_folder()) as folder,
    ):
        made = folder / "made.duckdb"
        _copy_tables(warehouse, made)
        _add_views(warehouse, made)
        # DuckDB writes in place; a copy under a hidden name can replace the old file in one step.
        with outputs.replacing(path) as stream, made.open("rb") as source:
            shutil.copyfileobj(source, stream)
            # DuckDB would replay the log that a killed writer of the older file left.
            log = path.with_name(f"{path.name}.wal")
            with outputs.explaining(f"cannot remove {log}"):
                log.unlink(missing_ok=True)
    return path


def _copy_tables(warehouse: Warehouse, made: Path) -> None:
    # First, because finding whether facts can be kept may open another connection.
    warehouse.keep_facts()
    connection = warehouse.connection
    tables = {name: warehouse.answer(name) for name in figure_names(warehouse.catalog.folder)}
    for name in MODELS:
        warehouse.prepare(f"from {name}")
    times = _find_times(connection)
    connection.execute(
        f"attach {parquet_files.quote(str(made))} as made (storage_version '{STORAGE_VERSION}')"
    )
    try:
        # One transaction, because each waits for the disk.
        connection.begin()
        for name, table in tables.items():
            rows = _with_plain_times(f"from {table}", times.get(table, []))
            connection.execute(f'create table made.main."{name}" as {rows}')
        connection.execute("create schema made.models")
        for name in MODELS:
            rows = _with_plain_times(f"from {name}", times.get(name, []))
            connection.execute(f'create table made.models."{name}" as {rows} order by all')
        connection.commit()
    except BaseException:
        # The file is discarded: an error here would hide the cause.
        with suppress(duckdb.Error):
            connection.rollback()
            connection.execute("detach made")
        raise
    connection.execute("detach made")


def _add_views(warehouse: Warehouse, made: Path) -> None:
    with duckdb.connect(made) as connection:
        connection.begin()
        folder = parquet_files.quote(str(warehouse.directory.absolute()))
        connection.execute(f"set file_search_path = {folder}")
        for schema, views in (("files", _files(warehouse)), ("facts", _facts(warehouse))):
            connection.execute(f"create schema {schema}")
            for name, query in views.items():
                connection.execute(f'create view {schema}."{name}" as {query}')
            for name, times in _find_times(connection, schema).items():
                query = _with_plain_times(views[name], times)
                connection.execute(f'create or replace view {schema}."{name}" as {query}')
        _add_comments(warehouse, connection)
        connection.commit()


def _add_comments(warehouse: Warehouse, connection: duckdb.DuckDBPyConnection) -> None:
    # 1,800 statements that read nothing: the optimizer and more threads would triple their time.
    connection.execute("pragma disable_optimizer")
    connection.execute("set threads = 1")
    found = connection.execute(
        "select table_name, column_name from duckdb_columns() where schema_name = 'main'"
    ).fetchall()
    for name in figure_names(warehouse.catalog.folder):
        about = figures.read_description(warehouse.catalog.folder, name)
        _comment(connection, f'table main."{name}"', about.get("description", ""))
        known = {column for table, column in found if table == name}
        for column, meaning in about.get("columns", {}).items():
            if column in known:
                _comment(connection, f'column main."{name}"."{column}"', meaning)
    # Written several times: DuckDB stores its catalog in blocks of 4 KiB, and a search of the file
    # does not find a mark that crosses a block boundary.
    mark = warehouse.mark()
    for name in MODELS:
        _comment(connection, f'table models."{name}"', mark)


def _find_times(
    connection: duckdb.DuckDBPyConnection, schema: str = "main"
) -> dict[str, list[str]]:
    """Returns the columns that are times with a zone, by table or view."""
    found = connection.execute(
        "select table_name, list(column_name order by column_index) from duckdb_columns() "
        "where schema_name = ? and data_type = 'TIMESTAMPTZ_NS' group by all",
        [schema],
    ).fetchall()
    return dict(found)


def _with_plain_times(query: str, times: Sequence[str]) -> str:
    """Returns the query with times as TIMESTAMP_NS, via a number: a cast applies the time zone."""
    if not times:
        return query
    plain = ", ".join(f'make_timestamp_ns(epoch_ns("{name}")) as "{name}"' for name in times)
    return f"select * replace ({plain}) from ({query})"  # noqa: S608 - queries of this file


def _comment(connection: duckdb.DuckDBPyConnection, what: str, words: str) -> None:
    connection.execute(f"comment on {what} is {parquet_files.quote(words)}")


def _files(warehouse: Warehouse) -> dict[str, str]:
    """Returns a query over the files of each table, with paths relative to results/<experiment>."""
    tables = Path(warehouse.tables.name)
    found = {"runs": parquet_files.query_files([tables / "runs.parquet"])}
    for table in sorted(warehouse.catalog.tables):
        found[table] = parquet_files.query_folder(tables, table)
    return found


def _facts(warehouse: Warehouse) -> dict[str, str]:
    """Returns a query over the files of each fact that is kept."""
    kept = warehouse.directory / FACTS
    return {
        name: parts.view(FACTS, name)
        for name in sorted(warehouse.catalog.facts)
        if next((kept / name).glob("*.parquet"), None) is not None
    }
