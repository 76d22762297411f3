"""Files that belong together, such as the tables of one capture: all of one writing, or none.

Their writer fills a hidden folder beside their places (see `staging`), and puts what is whole
into place. A folder of a single set that is not there yet appears in one renaming.

Who replaces files locks the folder of the places, and its readers share that lock. It is the
folder itself that is locked: no file is left there, and a read-only folder has a lock too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from flowsweep.files import staging
from flowsweep.files.locks import folder_locked, leave_lock, take_lock, tell
from flowsweep.files.outputs import explaining, replacing
from flowsweep.files.owned import refuse_foreign_tables
from flowsweep.files.staging import LOCK, NEW
from flowsweep.signals import cleaning, held

TRIES = 100


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
        say: Told who is waited for.
        is_alone: Whether the folder is of this set alone, and may appear as a whole.
        place: Gives the hidden folder of the set.

    Raises:
        FlowsweepError: Something that is not flowsweep's has one of the places, or the folder
            cannot be written to.
    """
    staging.check_places(folder, places)
    with _writer(folder, name, say, is_alone=is_alone, place=place) as writer:
        yield writer.root
        with explaining(f"cannot write to {folder}"):
            writer.publish(places)


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


@contextmanager
def scratch_folder(base: Path | None = None) -> Iterator[Path]:
    """A folder for what is needed for a moment; those of killed processes are removed.

    Args:
        base: Where it is made; the folder for temporary files otherwise.
    """
    import tempfile

    base = base or Path(tempfile.gettempdir())
    name, place = os.urandom(8).hex(), staging.inside
    with _writer(base, name, tell, is_alone=False, place=place) as writer:
        yield writer.root


@contextmanager
def reading(folder: Path, say: Callable[[str], None] = tell) -> Iterator[int | None]:
    """Nobody changes the sets of `folder` while this is entered; none of them is half changed.

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


def folder_of_sets(folder: Path) -> Path:
    """The folder of the places that holds `folder` of a host or a run; or `folder` itself."""
    folder = folder.absolute()
    if folder.name.startswith("host="):
        folder = folder.parent
    return folder.parent if folder.name.startswith("run=") else folder


@contextmanager
def _writer(
    folder: Path,
    name: str,
    say: Callable[[str], None],
    *,
    is_alone: bool,
    place: Callable[[Path, str], Path] = staging.beside,
) -> Iterator[_Writer]:
    made: list[Path] = []
    writers: list[_Writer] = []

    def clean() -> None:
        for writer in writers:
            writer.end()
        for path in reversed(made):
            with suppress(OSError):  # what holds something stays
                path.rmdir()

    with cleaning(clean):
        with explaining(f"cannot create {folder}"), held():
            writers.append(_Writer(folder, name, made, say, is_alone=is_alone, place=place))
        yield writers[0]


class _Writer:
    """The one writer of a set, with the set's hidden folder for itself.

    Args:
        folder: Of the places.
        name: Of the set.
        made: Gets the folders that this makes, before it does.
        say: Told who is waited for.
        is_alone: Whether what is written becomes `folder` where that is not there.
        place: Gives the hidden folder of a set.

    Attributes:
        root: Folder to write into.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        made: list[Path],
        say: Callable[[str], None],
        *,
        is_alone: bool,
        place: Callable[[Path, str], Path],
    ) -> None:
        self._folder = folder
        self._say = say
        staging.settle(folder, say)
        for left in reversed(range(TRIES)):
            self._work = place(folder, name)
            try:
                staging.make(self._work, made)
                self._lock = take_lock(self._work / LOCK, say)
                break
            except FileNotFoundError:
                # Who had it is ready, or took it for a dead one's before it was locked. If it is
                # a link that leads nowhere, that does not change.
                if not left:
                    raise
        self.root = self._work / NEW
        self._appears = is_alone and not os.path.lexists(folder)
        try:
            if not self._appears:
                staging.make_missing(folder, made)
                folder.mkdir(exist_ok=True)  # says so where a file is in its place
            # What a killed writer of this set left is finished or removed first.
            staging.roll_forward(folder, self._work, say)
            staging.empty(self._work)
            self.root.mkdir()
        except BaseException:
            self.end()
            raise

    def publish(self, places: Sequence[str]) -> None:
        """Puts what was written into its places."""
        if self._appears:
            with held():
                staging.appear(self._work, self._folder)
            return
        # A writer that failed may have removed the folder that it had made.
        self._folder.mkdir(exist_ok=True)
        with folder_locked(self._folder, self._say):
            staging.check_places(self._folder, places)
            with held():
                staging.commit(self._folder, self._work, places)
                staging.move(self._folder, self._work)

    def end(self) -> None:
        """Removes the hidden folder, unless something in it counts and is not in its place."""
        with suppress(OSError):
            if not staging.is_ready(self._work):
                staging.remove(self._work)
        leave_lock(self._lock)
