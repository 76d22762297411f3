"""The real captures that tests read: those in `data/`, or the larger set in FLOWSWEEP_PCAPS.

Both sets are laid out alike: captures, `MANIFEST.csv` with their origin, and `oracle/` with what
other programs found in them. `data/README.md` names the captures of the small one.
"""

from __future__ import annotations

import csv
import gzip
import os
from functools import cache
from pathlib import Path
from typing import TypeVar

DATA = Path(__file__).parent / "data"
#: The folder of the set in use.
PCAPS = Path(os.environ.get("FLOWSWEEP_PCAPS") or DATA).resolve()
IS_LARGE = DATA.resolve() != PCAPS
#: Zeek 8.0.10's logs of each capture: a folder per capture.
ZEEK_LOGS = PCAPS / "oracle" / "zeek-8.0.10"

Row = dict[str, str]
Some = TypeVar("Some")

if not (PCAPS / "oracle" / "files.csv").is_file():
    message = f"FLOWSWEEP_PCAPS: {PCAPS} has no oracle/files.csv, as the folder of a set must"
    raise FileNotFoundError(message)


def by_size(small: Some, large: Some) -> Some:
    """Returns the value for the set in use, as limits are as strict as the set allows."""
    return large if IS_LARGE else small


@cache
def rows(name: str) -> list[Row]:
    """Returns the rows of a table of the set, which may be compressed by gzip."""
    path = PCAPS / name
    if path.suffix == ".gz":
        with gzip.open(path, "rt", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
