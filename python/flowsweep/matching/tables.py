"""Writes matched captures as Parquet tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep import _parsers
from flowsweep.defaults import MATCH_WINDOW_NS, MATCH_WINDOW_PACKETS
from flowsweep.files.file_sets import file_set
from flowsweep.matching.hosts import readings
from flowsweep.parsing import name_paths, readable_errors, show_path

if TYPE_CHECKING:
    from flowsweep._parsers import MatchSummary
    from flowsweep.matching.hosts import Host

TABLES = tuple(_parsers.matched_tables())


def write(
    hosts: Sequence[Host],
    output: Path,
    *,
    window_ns: int = MATCH_WINDOW_NS,
    window_packets: int = MATCH_WINDOW_PACKETS,
    progress: Callable[[int, int], None] | None = None,
) -> MatchSummary:
    """Matches the captures of `hosts` into `<table>.parquet` in `output`; returns counts.

    Args:
        hosts: The capture points.
        output: The folder.
        window_ns: How long a packet waits for its match at the other end.
        window_packets: How many packets wait at most.
        progress: Called now and then with the bytes and packets read; captures are read twice, or
            three times where interfaces cut or merged segments.

    Raises:
        CaptureError: A capture cannot be read at all; the tables stay as they were.
    """
    names = [f"{table}.parquet" for table in TABLES]
    with file_set(output, "matched", names, is_alone=False) as folder, readable_errors():
        return _parsers.match_captures(
            [
                (
                    host.name,
                    name_paths(host.captures),
                    host.addresses,
                    host.dropped,
                    host.span,
                    host.kernel,
                )
                for host in hosts
            ],
            readings(hosts),
            {
                table: (folder / f"{table}.parquet", show_path(output / f"{table}.parquet"))
                for table in TABLES
            },
            window_ns=window_ns,
            window_packets=window_packets,
            notes=[
                ("flowsweep.files", json.dumps([show_path(p) for h in hosts for p in h.captures])),
                ("flowsweep.addresses", json.dumps({h.name: h.addresses for h in hosts})),
                ("flowsweep.window_ns", str(window_ns)),
                ("flowsweep.window_packets", str(window_packets)),
            ],
            progress=progress,
        )
