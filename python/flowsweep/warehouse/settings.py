"""Opens DuckDB with limits: how much memory it may take, and where it spills the rest."""

from __future__ import annotations

import itertools
import os
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import duckdb

from flowsweep import signals
from flowsweep.errors import FlowsweepError
from flowsweep.files import file_sets, parquet_files

#: The most that queries may take, such as 4GB; DuckDB takes 80 % of the memory otherwise.
MEMORY = "FLOWSWEEP_MEMORY"
#: The folder for what does not fit into it; the folder for temporary files otherwise.
SPILL = "FLOWSWEEP_SPILL"


_numbers = itertools.count()


def spill_folder() -> Path:
    """Where there is room for what is large."""
    named = os.environ.get(SPILL)
    return Path(named) if named else file_sets.temporary_folder()


@cache
def _scratch(base: Path) -> Path:
    """A folder of this process in `base`: removed at its end or, if it is killed, by the next."""
    entered = ExitStack()
    try:
        folder = entered.enter_context(file_sets.scratch_folder(base))
    except (OSError, FlowsweepError):  # needed only when memory is short, and reported then
        return base / f"flowsweep-{os.getpid()}"
    signals.at_end(entered.close)
    return folder


def connect() -> duckdb.DuckDBPyConnection:
    """A database in memory, with the limits that the environment sets.

    Raises:
        FlowsweepError: A limit is none.
    """
    # DuckDB makes the folder when it needs it. Two databases would write to the same files in it.
    spill = _scratch(spill_folder()) / f"spill-{next(_numbers)}"
    connection = duckdb.connect(config={"temp_directory": str(spill)})
    # Its bar would go to the output. In Jupyter without ipywidgets it is off, and to set it fails.
    connection.execute("select current_setting('enable_progress_bar')")
    if connection.fetchone() != (False,):
        connection.execute("set enable_progress_bar = false")
    if memory := os.environ.get(MEMORY):
        try:
            connection.execute(f"set memory_limit = {parquet_files.quote(memory)}")
        except duckdb.Error:
            raise FlowsweepError(
                f"{MEMORY} is no amount of memory",
                found=f'"{memory}"',
                expected="such as 4GB or 500MB",
                remedy=f"unset {MEMORY}, or set it to such an amount",
            ) from None
    return connection
