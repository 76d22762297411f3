"""Reads the critical path of a run, for a timeline next to its messages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from flowsweep.critical_path.columns import NAME


class Piece(NamedTuple):
    """A piece of the critical path.

    Attributes:
        host: The host where the time passed.
        receiver: The receiver of a message; None for computing.
        part: What the time was spent on.
        begin: Its start in ns since 1970, on the reference clock.
        end: Its end, likewise.
    """

    host: str
    receiver: str | None
    part: str
    begin: int
    end: int


def read(hosts: Mapping[str, Path]) -> list[Piece]:
    """Returns the pieces in order; none if the run has no critical path.

    Args:
        hosts: The folder of each host's tables.
    """
    import polars as pl

    begin = pl.col("begin").dt.epoch("ns")
    found = [
        pl.read_parquet(folder / f"{NAME}.parquet", hive_partitioning=False).select(
            pl.lit(host).alias("host"), "receiver", "part", begin.alias("begin"),
            (begin + pl.col("duration_ns")).alias("end"), "step",
        )
        for host, folder in hosts.items()
        if (folder / f"{NAME}.parquet").is_file()
    ]  # fmt: skip
    if not found:
        return []
    return [Piece(*row) for row in pl.concat(found).sort("step").drop("step").iter_rows()]
