"""Zeek logs: reads them, writes them as Parquet, and compares them with flowsweep's own flows."""

from __future__ import annotations

import re
from pathlib import Path

#: Names of logs: `conn.log`, `conn.2026-11-24-10-00-00.log.gz`, `pc1.conn.log.zst`.
LOG_NAME = re.compile(r"(?P<stem>.+)\.log(?:\.(?:gz|zst|lz4|bz2|xz))?")


def is_log(path: Path) -> bool:
    """Returns whether a file is named like a Zeek log."""
    return LOG_NAME.fullmatch(path.name) is not None
