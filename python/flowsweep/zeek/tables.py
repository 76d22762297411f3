"""Makes the tables that `flowsweep parse` writes from `conn.log`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from flowsweep.errors import FlowsweepError
from flowsweep.files.file_sets import scratch_folder
from flowsweep.zeek import convert, flows

#: The tables that `conn.log` fills.
FILLED = ("flows", "captures")


def rows_of(files: Sequence[Path]) -> tuple[pl.DataFrame, convert.Converted, convert.Log]:
    """Returns all rows of logs of one kind, the logs' faults, and a description of the first log.

    Raises:
        FlowsweepError: One of the files is no log.
    """
    logs = [_look(path) for path in files]
    with scratch_folder() as folder:
        target = folder / "log.parquet"
        done = convert.convert(logs, target)
        return pl.read_parquet(target, memory_map=False), done, logs[0]


def _look(path: Path) -> convert.Log:
    log = convert.look(path)
    if log is None:
        raise FlowsweepError(
            f"{path}: no Zeek log, or an empty one",
            expected="a log as Zeek writes it: TSV with its header, or JSON",
            remedy="give the capture itself, or its conn.log",
        )
    return log


def write(files: Sequence[Path], paths: Mapping[str, Path]) -> tuple[int, convert.Converted]:
    """Writes the tables `FILLED` from the parts of one `conn.log`; returns its connections' number.

    Raises:
        FlowsweepError: One of the files is no `conn.log`.
    """
    for path in files:
        if (kind := _look(path).kind) != "conn":
            raise FlowsweepError(
                f"{path}: there are no flows in this log",
                found=f"Zeek's {kind}.log",
                expected="conn.log",
                remedy=f"flowsweep zeek-logs {path} --output DIR makes a table of it",
            )
    conn, done, _ = rows_of(files)
    place = str(files[0])
    rows = flows.flows(conn, place)
    both = {"flows": rows, "captures": flows.captures(rows, flows.display_name(files[0]))}
    for table, frame in both.items():
        convert.write_marked(frame, paths[table], table)
    return conn.height, done
