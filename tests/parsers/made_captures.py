"""Tables of small captures: those in `tests/data/threads`, and those that a test makes."""

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
    """All tables of a capture, by name."""
    with tempfile.TemporaryDirectory() as folder:
        files = {table: Path(folder) / f"{table}.parquet" for table in (*TABLES, "packets")}
        write_tables(name_paths([path]), files, files, Options(synced=False))
        return {table: pl.read_parquet(file) for table, file in files.items()}


def tables(content: bytes) -> Tables:
    """All tables of a capture of these bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.pcap"
        path.write_bytes(content)
        return tables_of(path)


def thread(name: str) -> Tables:
    """All tables of a capture in `tests/data/threads`, by the beginning of its name."""
    (path,) = THREADS.glob(f"{name}-*")
    return tables_of(path)


def parse(name: str, folder: Path) -> tuple[int, str]:
    """What `flowsweep parse` ends with, and what it says."""
    (path,) = THREADS.glob(f"{name}-*")
    command = [sys.executable, "-m", "flowsweep", "parse", path, "--output", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def flow_rows(found: Tables, *columns: str) -> list[tuple[object, ...]]:
    """Columns of the table `flows`."""
    return found["flows"].select(columns).rows()
