"""Replaces files that belong together, such as the tables of one capture, all at once.

Their writer fills a hidden folder beside their places (see `staging`), and moves the finished
files into place. A folder of a single set that is not there yet appears in one renaming.

A writer locks the folder of the places, and readers share that lock. It is the
folder itself that is locked: no file is left there, and a read-only folder has a lock too.
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
    """A folder to write into, whose files replace those of an earlier writing when this is left.

    After a failure, or a signal, all is as it was. A second writer of the set waits.

    Args:
        folder: Where the files come to lie; made where it lacks.
        name: Of the set among those of the folder.
        places: Of all files (`flows.parquet`) of the set in `folder`, or its one folder (`run=r1`).
            A file that is not written this time is removed.
        say: Called with the name of the process that is waited for.
        is_alone: Whether the folder is of this set alone, and may appear as a whole.
        place: Gives the hidden folder of the set.

    Raises:
        FlowsweepError: Something that is not flowsweep's has one of the places, or the folder
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
            # A writer that failed may have removed the folder that it had made.
            folder.mkdir(exist_ok=True)
            with folder_locked(folder, say):
                staging.check_places(folder, places)
                with hold():
                    staging.commit(folder, work, places)
                    staging.move(folder, work)


@contextmanager
def one_file(path: Path, say: Callable[[str], None] = tell) -> Iterator[IO[bytes]]:
    """A table of its own to write, such as `runs`, in place of an earlier one.

    Args:
        path: Of the table; its folder is made where it lacks.
        say: Told who is waited for.

    Raises:
        FlowsweepError: A file that is not flowsweep's has the place, or it cannot be replaced.
    """
    refuse_foreign_tables(path)
    with explaining(f"cannot write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        staging.settle(path.parent, say)
        with folder_locked(path.parent, say), replacing(path) as stream:
            yield stream


def temporary_folder() -> Path:
    """The folder for temporary files: TMPDIR, or what Python finds.

    Python writes a file to see whether TMPDIR can be used: a kill leaves it there.
    """
    named = os.environ.get("TMPDIR", "")
    if Path(named).is_absolute() and os.access(named, os.W_OK | os.X_OK):
        return Path(named)
    import tempfile

    return Path(tempfile.gettempdir())


@contextmanager
def scratch_folder(base: Path | None = None) -> Iterator[Path]:
    """A folder for what is needed for a moment; those of killed processes are removed.

    Args:
        base: Where it is made; the folder for temporary files otherwise.
    """
    base = base or temporary_folder()
    work = staging.inside(base, os.urandom(8).hex())
    with _hidden_folder(base, work, tell, is_alone=False):
        yield work / NEW


@contextmanager
def reading(folder: Path, say: Callable[[str], None] = tell) -> Iterator[int | None]:
    """Keeps the sets of `folder` from being changed while this is entered; all of them are whole.

    A folder that is not there, or whose names this user may not read, is not waited for.

    Args:
        folder: Of the places.
        say: Told who is waited for.

    Yields:
        The descriptor of the lock, if there is one: it is held as long as a copy of it is open.

    Raises:
        FlowsweepError: A killed writer's work is neither done nor can be finished by this user.
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
    """The folder of all tables, if `folder` is that of a host or a run; else `folder` itself."""
    folder = folder.absolute()
    if folder.name.startswith("host="):
        folder = folder.parent
    return folder.parent if folder.name.startswith("run=") else folder


@contextmanager
def _hidden_folder(
    folder: Path, work: Path, say: Callable[[str], None], *, is_alone: bool
) -> Iterator[Path]:
    """The hidden folder `work` for one writer, empty but for `new`; see `file_set`.

    It is removed behind the block, unless committed files in it are not yet in place.
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
            with suppress(OSError):  # what holds something stays
                path.rmdir()

    with cleaning(clean):
        with explaining(f"cannot create {folder}"), hold():
            staging.settle(folder, say)
            locks.append(staging.claim(work, made, say))
            if not is_alone or os.path.lexists(folder):
                staging.make_missing(folder, made)
                folder.mkdir(exist_ok=True)  # says so where a file is in its place
            # What a killed writer of this set left is finished or removed first.
            staging.roll_forward(folder, work, say)
            staging.empty(work)
            (work / NEW).mkdir()
        yield work
