"""Marks of the files that flowsweep wrote; no other file is removed or replaced."""

from __future__ import annotations

import mmap
import os
import re
import stat
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from flowsweep.errors import FlowsweepError

#: A key in the key-value metadata of every table.
TABLE_MARK = b"flowsweep.table"
#: Columns that identify a table `runs` of versions that gave it no mark.
RUNS_COLUMNS = (b"rtt_asked_ns", b"completion_s", b"spec_hash")
REPORT_MARK = b'<meta name="generator" content="flowsweep">'
#: A part of the comment on a table of the database.
DATABASE_MARK = b"flowsweep.database"
#: Where the blocks of a DuckDB file begin, after its three headers.
DUCKDB_BLOCKS = 3 * 4096
#: The folder of the facts, and the names of its files; hidden ones are of earlier versions.
FACTS = "facts"
_FACT = re.compile(
    r"parts\.json|[^/.][^/]*/[0-9a-f]{16}-[0-9a-f]{16}\.parquet(\.part)?|\.flowsweep-[0-9a-f]+\.part"
)
#: Part of reports of versions that gave them no mark.
REPORT_SECTION = b'<section id="provenance">'
#: The longest footer to read: footers have a few kilobytes, and a damaged file any length.
MAX_FOOTER = 1 << 24
MAX_REPORT = 1 << 25


def refuse_foreign_tables(path: Path) -> None:
    """Raises if `path`, or a file below it, exists and is no table of flowsweep.

    Args:
        path: The path of a table, `*.parquet`, or of a folder of tables.
    """
    if path.suffix == ".parquet":
        _refuse(path, is_table, "a table that flowsweep wrote")
        return
    for folder in (path.parent, path):
        if os.path.lexists(folder) and not stat.S_ISDIR(folder.lstat().st_mode):
            raise _foreign_error(folder, "no folder", "a folder of tables")
    # Facts are a cache, so that damaged ones may be replaced too.
    is_ours = _is_fact_name if path.name == FACTS else is_table
    for place, names, files in os.walk(path, onerror=_raise):
        for name in (*names, *files):
            inner = Path(place, name)
            if name in files or inner.is_symlink():
                _refuse(inner, is_ours, "a table that flowsweep wrote")


def refuse_foreign_report(path: Path) -> None:
    """Raises if `path` exists and is no report of flowsweep."""
    _refuse(path, is_report, "a report that flowsweep wrote")


def refuse_foreign_database(path: Path) -> None:
    """Raises if `path` exists and is no database of flowsweep."""
    _refuse(path, is_database, "a database that flowsweep wrote")


def is_database(path: Path) -> bool:
    """Returns whether a DuckDB file may be replaced: it has flowsweep's mark, or is not whole.

    The mark is the comment of a table. Nobody can read an empty or a truncated file.
    """
    with path.open("rb") as file:
        if (size := file.seek(0, os.SEEK_END)) < 12:
            return not size
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            is_marked = content.find(DATABASE_MARK) >= 0
            return content[8:12] == b"DUCK" and (is_marked or size < _stated_size(content))


def _stated_size(content: mmap.mmap) -> int:
    """Returns the size of a DuckDB file as the newer of its two headers states it."""
    if len(content) < DUCKDB_BLOCKS:
        return DUCKDB_BLOCKS
    headers = (struct.unpack_from("<8x5Q", content, at) for at in (4096, 8192))
    _, _, _, blocks, block_bytes = max(headers)
    return int(DUCKDB_BLOCKS + blocks * block_bytes)


def is_table(path: Path, name: str | None = None) -> bool:
    """Returns whether a Parquet file has flowsweep's mark; reads only the file's end.

    Args:
        path: The file.
        name: The table that the mark must name; None for any.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size < 12:
            return False
        file.seek(size - 8)
        length, magic = int.from_bytes(file.read(4), "little"), file.read(4)
        if magic != b"PAR1" or length > min(size - 12, MAX_FOOTER):
            return False
        file.seek(size - 8 - length)
        footer = file.read(length)
    if name is not None:
        # Key and value in Thrift's compact form: field 2, a text, its length.
        return TABLE_MARK + b"\x18" + bytes([len(name)]) + name.encode() in footer
    return TABLE_MARK in footer or all(column in footer for column in RUNS_COLUMNS)


def _is_fact_name(path: Path) -> bool:
    return _FACT.fullmatch(f"/{path}".rpartition(f"/{FACTS}/")[2]) is not None


def is_report(path: Path) -> bool:
    """Returns whether a page is one of flowsweep's reports."""
    with path.open("rb") as file:
        page = file.read(MAX_REPORT)
    return REPORT_MARK in page or (REPORT_SECTION in page and b"flowsweep" in page)


def _refuse(path: Path, is_ours: Callable[[Path], bool], expected: str) -> None:
    with suppress(FileNotFoundError, NotADirectoryError):
        if found := _fault_of(path, is_ours):
            raise _foreign_error(path, found, expected)


def _fault_of(path: Path, is_ours: Callable[[Path], bool]) -> str | None:
    kind = path.lstat().st_mode
    if stat.S_ISLNK(kind):
        return "a link"
    if not stat.S_ISREG(kind):
        return "a folder" if stat.S_ISDIR(kind) else "no plain file"
    try:
        return None if is_ours(path) else "a file without flowsweep's mark"
    except FileNotFoundError:
        raise
    except OSError as error:
        return str(error.strerror)


def _foreign_error(path: Path, found: str, expected: str) -> FlowsweepError:
    return FlowsweepError(
        f"{path}: in the way, and not removed because flowsweep did not write it",
        found=found,
        expected=f"{expected}, or nothing yet",
        remedy="move it away, or name another folder",
    )


def _raise(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error
