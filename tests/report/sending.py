"""An experiment in which one host sends a different amount in each run, and its facts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import tiny

from flowsweep.warehouse import Warehouse

if TYPE_CHECKING:
    import polars as pl

#: The facts that `sent` reads.
ASKED = ["host_totals"]
WEST, EAST = "10.77.1.1", "10.77.2.1"


def rows(warehouse: Warehouse, fact: str) -> pl.DataFrame:
    return warehouse.select(f"select * from {fact} order by all")


def experiment(directory: Path, runs: int = 3) -> Path:
    """Makes runs in which pc3 sends, a different amount in each."""
    tiny.runs(directory, [tiny.run(f"r{one}", baseline=one == 0) for one in range(runs)])
    for one in range(runs):
        add_tables(directory, f"r{one}", 100 * (one + 1))
    return directory


def add_tables(directory: Path, run: str, size: int) -> None:
    tiny.table(directory, "captures", run, "pc3", [tiny.capture()])
    tiny.table(directory, "flows", run, "pc3", [tiny.flow(EAST, WEST)])
    tiny.table(directory, "throughput", run, "pc3", tiny.bins(EAST, WEST, {0: size, 7: 2 * size}))


def sent(directory: Path) -> dict[str, int]:
    """Returns the wire bytes that the host sent in each run, from the facts."""
    found = rows(Warehouse(directory), "host_totals")
    return dict(found.select("run", "wire_bytes").iter_rows())
