"""Keeps tables unchanged while other programs read them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from flowsweep.files import file_sets


@contextmanager
def reading(folder: str | PathLike[str]) -> Iterator[None]:
    """Makes commands of flowsweep wait before they change tables, while this is entered.

    Whoever opens the Parquet files by their names, as DuckDB and Polars do, opens one after the
    other. Of a run that is ingested again meanwhile some may be old and some new.

        with flowsweep.reading("results/demo"):
            duckdb.sql("select count(*) from 'results/demo/tables/*/*/flows.parquet'").show()

    What a killed command left half done is finished first. For another program the shell does the
    same: `flock --shared results/demo/tables duckdb ...`.

    Args:
        folder: results/<experiment>, or a folder of tables.
    """
    path = Path(folder)
    tables = path / "tables"
    with file_sets.reading(tables if tables.is_dir() else file_sets.find_tables_folder(path)):
        yield
