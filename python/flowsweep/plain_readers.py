"""Keeps tables unchanged while other programs read them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from flowsweep.files import file_sets


@contextmanager
def reading(folder: str | PathLike[str]) -> Iterator[None]:
    """Makes flowsweep commands wait until the end of the `with` block before they change tables.

    DuckDB and Polars open Parquet files by name, one after the other. If a run is ingested again
    meanwhile, some of its files may be old and some new.

        with flowsweep.reading("results/demo"):
            duckdb.sql("select count(*) from 'results/demo/tables/*/*/flows.parquet'").show()

    First finishes the changes of a killed command. For other programs, use the shell:
    `flock --shared results/demo/tables duckdb ...`.

    Args:
        folder: results/<experiment>, or a folder of tables.
    """
    path = Path(folder)
    tables = path / "tables"
    with file_sets.reading(tables if tables.is_dir() else file_sets.find_tables_folder(path)):
        yield
