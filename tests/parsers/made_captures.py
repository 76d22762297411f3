"""Reads the tables of small captures: those in `tests/data/threads` and those that tests build."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl
from collection import DATA

from flowsweep.parsing import TABLES, Options, name_paths, write_tables

THREADS = DATA / "threads"

Tables = dict[str, pl.DataFrame]


def tables_of(path: Path) -> Tables:
    """Returns all tables of a capture, by name."""
    with tempfile.TemporaryDirectory() as folder:
        files = {table: Path(folder) / f"{table}.parquet" for table in (*TABLES, "packets")}
        write_tables(name_paths([path]), files, files, Options(synced=False))
        return {table: pl.read_parquet(file) for table, file in files.items()}


def tables(content: bytes) -> Tables:
    """Returns all tables of a capture with this content."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.pcap"
        path.write_bytes(content)
        return tables_of(path)


def thread(name: str) -> Tables:
    """Returns all tables of the capture in `tests/data/threads` whose name begins with `name`."""
    (path,) = THREADS.glob(f"{name}-*")
    return tables_of(path)


def parse(name: str, folder: Path) -> tuple[int, str]:
    """Returns the exit code of `flowsweep parse` and its messages."""
    (path,) = THREADS.glob(f"{name}-*")
    command = [sys.executable, "-m", "flowsweep", "parse", path, "--output", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def flow_rows(found: Tables, *columns: str) -> list[tuple[object, ...]]:
    """Returns columns of the table `flows`, row by row."""
    return found["flows"].select(columns).rows()
