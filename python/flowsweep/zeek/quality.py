"""Derives the quality of the traffic that Zeek saw from its logs: gaps and dropped packets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from flowsweep.zeek import convert, tsv


def dropped_packets(paths: Iterable[Path]) -> int | None:
    """Returns the dropped packets by the parts of `stats.log`; None if they do not state them.

    Zeek states them for live traffic: `pkts_dropped` since the previous row.
    """
    found = None
    for path in paths:
        log = convert.look(path)
        if log is None or log.kind != "stats":
            continue
        for frame in convert.frames(log, {}, tsv.Faults()):
            if "pkts_dropped" in frame.columns:
                drops = frame["pkts_dropped"].cast(pl.Int64, strict=False).drop_nulls()
                if drops.len():
                    found = (found or 0) + int(drops.sum())
    return found


#: The kind of a log in its name, and not a part of the host's: `connector1.conn.log`.
_KIND = re.compile(r"(^|\.)conn(?=[._-])")


def beside(conn: Path) -> list[Path]:
    """Returns the `stats.log` in the folder of a `conn.log`, of the same host and time, if any."""
    stats = conn.with_name(_KIND.sub(r"\1stats", conn.name, count=1))
    return [stats] if stats != conn and stats.is_file() else []


def facts(flow_rows: pl.DataFrame, dropped: int | None) -> dict[str, Any]:
    """Returns the values that determine the grade, like a row of the model `capture_facts`.

    Args:
        flow_rows: The table `flows` of the log.
        dropped: Packets dropped; None if unknown.
    """
    connections = flow_rows.unique("connection")
    tcp = flow_rows.filter(pl.col("protocol") == "tcp")
    return {
        "packets": int(flow_rows["packets"].sum()),
        "dropped_packets": dropped or 0,
        "is_drops_known": dropped is not None,
        "midstream_connections": connections.filter(pl.col("start") == "midstream").height,
        "missed_bytes": int(connections["missed_bytes"].sum()),
        "payload_bytes": int(tcp["payload_bytes"].sum()),
    }
