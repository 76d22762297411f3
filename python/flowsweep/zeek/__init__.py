"""Zeek's logs: read as their headers say, written as Parquet, compared with our own flows."""

from __future__ import annotations

import re
from pathlib import Path

#: How logs are called: `conn.log`, `conn.2026-11-24-10-00-00.log.gz`, `pc1.conn.log.zst`.
LOG_NAME = re.compile(r"(?P<stem>.+)\.log(?:\.(?:gz|zst|lz4|bz2|xz))?")


def is_log(path: Path) -> bool:
    """Whether a file is called as logs of Zeek are."""
    return LOG_NAME.fullmatch(path.name) is not None
