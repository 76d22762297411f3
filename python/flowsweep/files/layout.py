"""Where the tables of an experiment lie: `tables/run=<run>/host=<host>/<table>.parquet`.

All tables of a run are in one folder, so that one renaming replaces a run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path

from flowsweep.errors import FlowsweepError
from flowsweep.files.locks import folder_locked

RUN, HOST, SUFFIX = "run=", "host=", ".parquet"


def run_folders(tables: Path) -> Iterator[os.DirEntry[str]]:
    """The folders of the runs, in no order."""
    with os.scandir(tables) as entries:
        yield from (one for one in entries if one.name.startswith(RUN) and one.is_dir())


def files_of(run: os.DirEntry[str]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """The tables of a run: the name of the host's folder and the file."""
    with suppress(FileNotFoundError), os.scandir(run) as hosts:
        for host in hosts:
            if host.name.startswith(HOST) and host.is_dir():
                with os.scandir(host) as files:
                    yield from ((host.name, file) for file in files if file.name.endswith(SUFFIX))


def table_names(tables: Path) -> frozenset[str]:
    """Names of the tables that some run has."""
    return frozenset(
        file.name.removesuffix(SUFFIX)
        for run in run_folders(tables)
        for _, file in files_of(run)
        if not file.name.startswith(".")
    )


def bring_up_to_date(tables: Path) -> None:
    """Moves tables of flowsweep 0.1, `<table>/run=<run>/host=<host>/<table>.parquet`.

    Each file is renamed. A command that is killed meanwhile leaves the rest to the next one.

    Raises:
        FlowsweepError: This user may not move them.
    """
    with os.scandir(tables) if tables.is_dir() else nullcontext(()) as entries:
        outdated = [Path(one) for one in entries if one.name[0].isalpha() and one.is_dir()]
        outdated = [path for path in outdated if not path.name.startswith(RUN)]
    if not outdated:
        return
    try:
        with folder_locked(tables):
            for table in outdated:
                for file in sorted(table.glob(f"{RUN}*/{HOST}*/{table.name}{SUFFIX}")):
                    place = tables / file.relative_to(table)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    file.rename(place)
                _remove_empty(table)
    except OSError as error:
        raise FlowsweepError(
            f"{tables}: its tables lie where flowsweep 0.1 put them, and cannot be moved",
            found=f"{tables}/<table>/run=<run>: {error.strerror}",
            expected=f"{tables}/run=<run>/host=<host>/<table>.parquet",
            remedy=f"flowsweep report {tables.parent}, as a user who may write there",
        ) from error


def _remove_empty(folder: Path) -> None:
    """Removes folders that hold nothing, `folder` included."""
    for inner, _, _ in os.walk(folder, topdown=False):
        with suppress(OSError):
            Path(inner).rmdir()
