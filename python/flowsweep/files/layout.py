"""The layout of an experiment's tables: `tables/run=<run>/host=<host>/<table>.parquet`.

All tables of a run are in one folder, so that one rename replaces a run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from flowsweep.files.locks import folder_locked
from flowsweep.files.outputs import explaining
from flowsweep.files.owned import is_table

RUN, HOST, SUFFIX = "run=", "host=", ".parquet"


def run_folders(tables: Path) -> Iterator[os.DirEntry[str]]:
    """Yields the folders of the runs, unsorted."""
    with os.scandir(tables) as entries:
        yield from (one for one in entries if one.name.startswith(RUN) and one.is_dir())


def files_of(run: os.DirEntry[str]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yields the tables of a run: the name of the host's folder and the file."""
    with suppress(FileNotFoundError), os.scandir(run) as hosts:
        for host in hosts:
            if host.name.startswith(HOST) and host.is_dir():
                with os.scandir(host) as files:
                    yield from ((host.name, file) for file in files if file.name.endswith(SUFFIX))


def bring_up_to_date(tables: Path) -> None:
    """Moves tables out of the layout of earlier versions, which had a folder for each table.

    Nothing else in the folder is touched. If a run was ingested again since, its new table
    stays. After a kill, the next command moves the rest.

    Raises:
        FlowsweepError: This user may not move the tables.
    """
    if not tables.is_dir() or next(_find_old_tables(tables), None) is None:
        return
    what = f"{tables}: tables that an earlier version laid out by table cannot be moved"
    with explaining(what), folder_locked(tables):
        for file in [*_find_old_tables(tables)]:
            place = tables / file.relative_to(tables).relative_to(file.stem)
            place.parent.mkdir(parents=True, exist_ok=True)
            file.rename(place)
            with suppress(OSError):  # a folder with other files stays
                for folder in file.parents[:3]:
                    folder.rmdir()


def _find_old_tables(tables: Path) -> Iterator[Path]:
    """Yields flowsweep's tables at `<table>/run=<run>/host=<host>/<table>.parquet`."""
    with os.scandir(tables) as entries:
        names = [one.name for one in entries if one.is_dir(follow_symlinks=False)]
    for name in sorted(names):
        if name.startswith((RUN, ".")):
            continue
        for file in sorted((tables / name).glob(f"{RUN}*/{HOST}*/{name}{SUFFIX}")):
            place = tables / file.relative_to(tables / name)
            if not place.exists() and not file.is_symlink() and is_table(file):
                yield file
