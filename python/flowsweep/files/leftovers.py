"""Removes what killed commands of earlier versions left, where it is surely theirs."""

from __future__ import annotations

import os
import re
import stat
import time
from contextlib import suppress
from pathlib import Path

#: Untouched for so long, it is nobody's any more: the disk may be shared, and its writer elsewhere.
AGE_S = 86_400.0
TABLE = re.compile(r"[a-z]+\.parquet\.part-(?P<process>[0-9]+)")
FILES = re.compile(r"\.report\..{8}\.part|\.[^/]+\.parquet\.part")
FOLDER = re.compile(r"\.ingest-.+")


def remove_leftovers(folder: Path) -> None:
    """Removes unfinished tables, reports and folders of `ingest` of this user from `folder`."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                path = folder / entry.name
                kind = path.lstat().st_mode
                table = TABLE.fullmatch(entry.name)
                if table or FILES.fullmatch(entry.name):
                    if stat.S_ISREG(kind) and _is_left(path) and not _lives(table):
                        path.unlink()
                elif FOLDER.fullmatch(entry.name) and stat.S_ISDIR(kind):
                    _remove_ingest(path)


def _is_left(path: Path) -> bool:
    about = path.lstat()
    return about.st_uid == os.geteuid() and time.time() - about.st_mtime > AGE_S


def _lives(table: re.Match[str] | None) -> bool:
    return table is not None and Path("/proc", table["process"]).exists()


def _remove_ingest(work: Path) -> None:
    """A folder of `ingest`, if no more than tables, whole or not, is in it."""
    inner = sorted(work.rglob("*"), reverse=True)  # what is in a folder before the folder
    files = [path for path in inner if path.is_symlink() or not path.is_dir()]
    if all(map(_is_left, (work, *inner))) and all(
        path.suffix == ".parquet" or TABLE.fullmatch(path.name) for path in files
    ):
        for path in inner:
            path.unlink() if path in files else path.rmdir()
        work.rmdir()
