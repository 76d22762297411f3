"""Replaces files that belong together, such as the tables of one capture, all at once.

A writer fills a hidden folder (see `staging`) and then moves the finished files to their places. A
new folder that contains a single set appears by one rename.

A writer locks the folder of the places, and readers share that lock. The lock is on the
folder itself: it leaves no file there, and a read-only folder can be locked too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from flowsweep.files import staging
from flowsweep.files.locks import folder_locked, tell
from flowsweep.files.outputs import explaining, replacing
from flowsweep.files.owned import refuse_foreign_tables
from flowsweep.files.staging import NEW
from flowsweep.signals import cleaning, hold


@contextmanager
def file_set(
    folder: Path,
    name: str,
    places: Sequence[str],
    say: Callable[[str], None] = tell,
    *,
    is_alone: bool,
    place: Callable[[Path, str], Path] = staging.beside,
) -> Iterator[Path]:
    """Yields a folder to write into; when the block ends, its files replace the older ones.

    After a failure or a signal, all is as before. A second writer of the set waits.

    Args:
        folder: The destination of the files; created if it is missing.
        name: The name of the set, unique in the folder.
        places: All files of the set in `folder` (`flows.parquet`), or its one folder (`run=r1`).
            A file that is not written this time is removed.
        say: Called with a message that names the process that this one waits for.
        is_alone: Whether the folder contains only this set, and may appear as a whole.
        place: Returns the hidden folder of the set.

    Raises:
        FlowsweepError: A file that is not flowsweep's is at one of the places, or the folder
            cannot be written to.
    """
    staging.check_places(folder, places)
    with _hidden_folder(folder, place(folder, name), say, is_alone=is_alone) as work:
        yield work / NEW
        with explaining(f"cannot write to {folder}"):
            if is_alone and not os.path.lexists(folder):
                with hold():
                    staging.appear(work, folder)
                return
            # A writer that failed may have removed the folder that it created.
            folder.mkdir(exist_ok=True)
            with folder_locked(folder, say):
                staging.check_places(folder, places)
                with hold():
                    staging.commit(folder, work, places)
                    staging.move(folder, work)


@contextmanager
def one_file(path: Path, say: Callable[[str], None] = tell) -> Iterator[IO[bytes]]:
    """Yields a stream for a single table, such as `runs`, which replaces an earlier one.

    Args:
        path: The table; its folder is created if it is missing.
        say: Called with a message that names the process that this one waits for.

    Raises:
        FlowsweepError: A file that is not flowsweep's is there, or it cannot be replaced.
    """
    refuse_foreign_tables(path)
    with explaining(f"cannot write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        staging.settle(path.parent, say)
        with folder_locked(path.parent, say), replacing(path) as stream:
            yield stream


def temporary_folder() -> Path:
    """Returns the folder for temporary files: TMPDIR, or Python's choice.

    Python would write a test file into TMPDIR, which a kill leaves there.
    """
    named = os.environ.get("TMPDIR", "")
    if Path(named).is_absolute() and os.access(named, os.W_OK | os.X_OK):
        return Path(named)
    import tempfile

    return Path(tempfile.gettempdir())


@contextmanager
def scratch_folder(base: Path | None = None) -> Iterator[Path]:
    """Yields a temporary folder; removes those of killed processes.

    Args:
        base: The parent folder; by default the folder for temporary files.
    """
    base = base or temporary_folder()
    work = staging.inside(base, os.urandom(8).hex())
    with _hidden_folder(base, work, tell, is_alone=False):
        yield work / NEW


@contextmanager
def reading(folder: Path, say: Callable[[str], None] = tell) -> Iterator[int | None]:
    """Locks the sets of `folder` against writers in the block; all of them are complete.

    A folder that is missing, or that this user may not list, is not locked.

    Args:
        folder: The folder of the places.
        say: Called with a message that names the process that this one waits for.

    Yields:
        The descriptor of the lock, or None: the lock lasts while a copy of it is open.

    Raises:
        FlowsweepError: A killed writer's work is unfinished, and this user cannot finish it.
    """
    staging.settle(folder, say)
    while folder.is_dir() and os.access(folder, os.R_OK):
        with folder_locked(folder, say, shared=True) as descriptor:
            if not staging.any_ready(folder):
                yield descriptor
                return
        staging.finish(folder, say)
    yield None


def find_tables_folder(folder: Path) -> Path:
    """Returns the folder of all tables if `folder` is a host's or a run's; else `folder`."""
    folder = folder.absolute()
    if folder.name.startswith("host="):
        folder = folder.parent
    return folder.parent if folder.name.startswith("run=") else folder


@contextmanager
def _hidden_folder(
    folder: Path, work: Path, say: Callable[[str], None], *, is_alone: bool
) -> Iterator[Path]:
    """Creates the hidden folder `work` for one writer, empty except for `new`; see `file_set`.

    It is removed after the block, unless it contains committed files that are not yet in place.
    """
    made: list[Path] = []
    locks: list[int] = []

    def clean() -> None:
        for lock in locks:
            with suppress(OSError):
                if not staging.is_ready(work):
                    staging.remove(work)
            os.close(lock)
        for path in reversed(made):
            with suppress(OSError):  # a folder with other files stays
                path.rmdir()

    with cleaning(clean):
        with explaining(f"cannot create {folder}"), hold():
            staging.settle(folder, say)
            locks.append(staging.claim(work, made, say))
            if not is_alone or os.path.lexists(folder):
                staging.make_missing(folder, made)
                folder.mkdir(exist_ok=True)  # fails if a file is in its place
            # First finish or remove what a killed writer of this set left.
            staging.roll_forward(folder, work, say)
            staging.empty(work)
            (work / NEW).mkdir()
        yield work
