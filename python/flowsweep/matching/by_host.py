"""Divides the matched tables of a run among its hosts: a packet's row belongs to its sender.

So they are stored with the run's other tables, and replaced with them at the next ingest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep.files import parquet_files
from flowsweep.files.file_sets import scratch_folder
from flowsweep.matching import tables

if TYPE_CHECKING:
    from flowsweep._parsers import MatchSummary
    from flowsweep.matching.hosts import Host

#: The tables that are divided, each with an SQL expression for the host that gets a row.
OWNERS = {"fates": "coalesce(sender, receiver)", "one_way": "sender"}


def write(hosts: Sequence[Host], place: Callable[[str, str], Path]) -> MatchSummary:
    """Matches the captures of `hosts`, and writes each host's part.

    Args:
        hosts: The capture points.
        place: The file to write, by host and table.

    Returns:
        Counts, as `tables.write` returns them.

    Raises:
        CaptureError: A capture cannot be read at all.
    """
    import duckdb

    with scratch_folder() as scratch, duckdb.connect() as connection:
        summary = tables.write(hosts, scratch)
        for table, owner in OWNERS.items():
            rows = parquet_files.query_plain([scratch / f"{table}.parquet"])
            for host in hosts:
                path = place(host.name, table)
                path.parent.mkdir(parents=True, exist_ok=True)
                own = f"{rows} where {owner} = {parquet_files.quote(host.name)}"
                connection.execute(parquet_files.copy(own, path, table))
    return summary
