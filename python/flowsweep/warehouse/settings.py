"""Opens DuckDB with a memory limit and a folder to spill to."""

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

#: The memory limit of queries, such as 4GB; DuckDB's default is 80 % of the memory.
MEMORY = "FLOWSWEEP_MEMORY"
#: The folder to spill to; the default is the folder for temporary files.
SPILL = "FLOWSWEEP_SPILL"


_numbers = itertools.count()


def spill_folder() -> Path:
    """Returns the folder for large temporary files."""
    named = os.environ.get(SPILL)
    return Path(named) if named else file_sets.temporary_folder()


@cache
def _scratch(base: Path) -> Path:
    """Returns this process's folder in `base`; after a kill, the next process removes it."""
    entered = ExitStack()
    try:
        folder = entered.enter_context(file_sets.scratch_folder(base))
    except (OSError, FlowsweepError):  # DuckDB reports it if memory is short
        return base / f"flowsweep-{os.getpid()}"
    signals.at_end(entered.close)
    return folder


def connect() -> duckdb.DuckDBPyConnection:
    """Opens a database in memory, with the limits that the environment sets.

    Raises:
        FlowsweepError: The memory limit is not an amount of memory.
    """
    # DuckDB creates the folder when needed. Two databases in one folder would share its files.
    spill = _scratch(spill_folder()) / f"spill-{next(_numbers)}"
    connection = duckdb.connect(config={"temp_directory": str(spill)})
    # The progress bar would go to the output. In Jupyter without ipywidgets the bar is off, and
    # setting it fails.
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
