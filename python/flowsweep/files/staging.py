"""Prepares files in a hidden folder, and moves them into place.

The hidden folder is a sibling of the folder of the places, so that a reader of all files below the
latter does not find unfinished ones. It belongs to one writer and contains

* `lock`: a file that is locked while the writer lives;
* `new`: the files that are being written;
* `ready`: formerly `new`, once all files are on disk. This rename commits them;
* `cleared`: formerly `ready`, once no older file is at any of the places;
* `old`: the replaced files.

Each entry is renamed to its place in the folder; an empty file stands for a table to remove.
Every step can be repeated: the next process that finds an abandoned folder finishes its steps.
A folder replaces its predecessor in a single step, if the file system can exchange names.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from flowsweep.errors import FlowsweepError
from flowsweep.files.locks import folder_locked, free_lock, locked, take_lock
from flowsweep.files.outputs import (
    HIDDEN,
    explaining,
    open_new,
    remove_parts,
    sync,
)
from flowsweep.files.owned import FACTS, refuse_foreign_tables

LOCK = "lock"
NEW, READY, CLEARED, OLD = "new", "ready", "cleared", "old"
#: The names that may be put into place: a foreign hidden folder must not replace other files.
PLACE = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_.-]*\.parquet|run=[^/\0]+|{FACTS}")
#: Files that are synced at once.
MAX_SYNCS = 16
#: Attempts to create a hidden folder that another process removes each time.
TRIES = 100
#: The most bytes of a hidden name. Longer names are cut; writers with the same name wait.
MAX_NAME = 200
#: Separates the names of a folder and its set in the name of a sibling hidden folder.
_INFIX = ".flowsweep-set-"
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def beside(folder: Path, name: str) -> Path:
    """Returns the hidden folder of a set, a sibling of `folder`, or in it if that is impossible."""
    real = folder.resolve()
    if len(os.fsencode(real.name)) > MAX_NAME // 2 or _INFIX in real.name or not _is_open(real):
        return inside(folder, name)
    return real.parent / _shorten_name(f".{real.name}{_INFIX}{name}")


def inside(folder: Path, name: str) -> Path:
    """Returns the hidden folder `name` in `folder`."""
    return folder / _shorten_name(f"{HIDDEN}{name}")


def _shorten_name(name: str) -> str:
    return os.fsdecode(os.fsencode(name)[:MAX_NAME])


def _is_open(folder: Path) -> bool:
    """Returns whether this user may rename a sibling of `folder` to a name in it."""
    parent = folder.parent
    if not parent.exists():
        return True
    if not os.access(parent, os.R_OK | os.W_OK | os.X_OK):
        return False
    if not folder.exists():
        return True
    # One file system may be mounted at both, and rename does not work across mounts.
    escaped = "".join(f"\\{ord(one):03o}" if one in " \t\n\\" else one for one in str(folder))
    with suppress(OSError), Path("/proc/self/mountinfo").open("rb") as mounts:
        if any(line.split()[4] == os.fsencode(escaped) for line in mounts):
            return False
    return folder.stat().st_dev == parent.stat().st_dev


def make_missing(folder: Path, made: list[Path]) -> None:
    """Creates a folder and its missing parents; appends the created ones to `made`."""
    missing = [path for path in (folder, *folder.parents) if not os.path.lexists(path)]
    for path in reversed(missing):
        made.append(path)
        path.mkdir(exist_ok=True)


def claim(work: Path, made: list[Path], say: Callable[[str], None]) -> int:
    """Locks a hidden folder, which is created if missing; returns the lock's descriptor.

    Raises:
        FlowsweepError: The folder is another user's, or not a folder.
    """
    for left in reversed(range(TRIES)):
        is_new = not os.path.lexists(work)
        try:
            make_missing(work, made)
            _check_own(work, is_new=is_new)
            return take_lock(work / LOCK, say)
        except FileNotFoundError:
            # Its owner has finished, or another process removed it as abandoned before the lock
            # was taken. For a dangling link, no further attempt helps.
            if not left:
                raise
    raise AssertionError


def _check_own(work: Path, *, is_new: bool) -> None:
    about = work.lstat()
    if not stat.S_ISDIR(about.st_mode) or (not is_new and about.st_uid != os.geteuid()):
        raise FlowsweepError(
            f"{work}: in the way",
            found=f"something of user {about.st_uid}",
            expected=f"a folder of user {os.geteuid()}, or nothing yet",
            remedy=f"see what it is: ls -ld {work}; then remove it, or name another folder",
        )


def check_places(folder: Path, places: Sequence[str]) -> None:
    """Raises if a file at one of `places` is not flowsweep's, or may not be moved."""
    for place in places:
        if not PLACE.fullmatch(place):
            raise ValueError(f"{place}: no place of a table")
        path = folder / place
        with suppress(FileNotFoundError, NotADirectoryError):  # missing, or just moved away
            refuse_foreign_tables(path)
            if not _is_movable(path):
                raise FlowsweepError(
                    f"{path}: this user may not replace it",
                    found=f"owned by user {path.lstat().st_uid}",
                    remedy="change its permissions, or name another folder",
                )


def _is_movable(path: Path) -> bool:
    about, parent = path.lstat(), path.parent.stat()
    user = os.geteuid()
    kept = parent.st_mode & stat.S_ISVTX and user not in {0, about.st_uid, parent.st_uid}
    # Moving a folder also changes its entry `..`.
    needed = (path.parent, path) if stat.S_ISDIR(about.st_mode) else (path.parent,)
    return not kept and all(os.access(one, os.W_OK | os.X_OK) for one in needed)


def appear(work: Path, folder: Path) -> None:
    """Renames `new` to `folder`, which does not exist yet."""
    _sync_all(work / NEW)
    (work / NEW).rename(folder)
    sync(folder.parent)


def commit(folder: Path, work: Path, places: Sequence[str] = ()) -> None:
    """Renames a finished set of files to `ready`; after that, any process may finish the move.

    Args:
        folder: The folder of the places.
        work: Its hidden folder.
        places: Tables to remove if they were not written this time.
    """
    for place in places:
        if os.path.lexists(folder / place) and not os.path.lexists(work / NEW / place):
            os.close(open_new(work / NEW / place))
    _sync_all(work / NEW)
    (work / NEW).rename(work / READY)
    sync(work)
    sync(work.parent)


def _sync_all(root: Path) -> None:
    """Syncs all files below `root`; many at once, as a file system combines concurrent syncs."""
    below = (path for path in root.rglob("*") if not path.is_symlink())
    found = [root, *(path for path in below if path.is_dir() or path.is_file())]
    if len(found) <= MAX_SYNCS:
        for path in found:
            sync(path)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(MAX_SYNCS) as pool:
        list(pool.map(sync, found))


def is_ready(work: Path) -> bool:
    """Returns whether a hidden folder contains committed files that are not yet in place.

    Files of a foreign hidden folder with other names are never put into place.
    """
    names = _waiting_in(work)
    return bool(names) and all(map(PLACE.fullmatch, names))


def _waiting_in(work: Path) -> list[str]:
    return [entry.name for name in (READY, CLEARED) for entry in (work / name).glob("*")]


def move(folder: Path, work: Path) -> None:
    """Puts the files of a committed set into place; continues where an earlier attempt stopped."""
    ready, cleared = work / READY, work / CLEARED
    (work / OLD).mkdir(exist_ok=True)
    if ready.is_dir():
        for entry in sorted(ready.iterdir()):
            if os.path.lexists(folder / entry.name):
                _make_room(entry, folder / entry.name, work / OLD)
        ready.rename(cleared)
    for entry in sorted(cleared.iterdir()):
        if entry.is_dir() or entry.stat().st_size:
            entry.rename(folder / entry.name)
        else:
            entry.unlink()
    sync(folder)
    cleared.rmdir()


def _make_room(entry: Path, place: Path, old: Path) -> None:
    """Moves the entry at `place` to the folder `old`; a folder is replaced in the same step."""
    aside = old / os.urandom(8).hex()
    if entry.is_dir():
        # Out of `ready` first, so that a process that continues after a crash does not exchange
        # them back.
        entry.rename(aside)
        if _exchange(aside, place):
            return
        aside.rename(entry)
    place.rename(aside)


def _exchange(one: Path, other: Path) -> bool:
    """Exchanges two names in one step; returns false if the file system cannot."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "renameat2"):  # musl
        return False
    names = os.fsencode(one), os.fsencode(other)
    if libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EXDEV}:
        return False
    raise OSError(number, os.strerror(number), str(other))


def roll_forward(folder: Path, work: Path, say: Callable[[str], None]) -> None:
    """Puts the committed files of a killed writer into place; the caller holds its lock."""
    if not is_ready(work):
        return
    with explaining(f"cannot write to {folder}"):
        folder.mkdir(exist_ok=True)  # the folder may have been removed since
        with folder_locked(folder, say):
            check_places(folder, _waiting_in(work))
            move(folder, work)


def any_ready(folder: Path) -> bool:
    """Returns whether a set of `folder` is committed but not completely in place."""
    return any(is_ready(work) for work in _all_of(folder))


def settle(folder: Path, say: Callable[[str], None]) -> None:
    """Finishes or removes the hidden folders that killed writers of this user left."""
    with suppress(OSError):
        remove_parts(folder)
    for work in _all_of(folder):
        with abandoned(work) as is_abandoned:
            if is_abandoned:
                roll_forward(folder, work, say)
                with suppress(OSError):
                    remove(work)


def finish(folder: Path, say: Callable[[str], None]) -> None:
    """Waits for writers that put a set of `folder` into place, and finishes for killed ones.

    Raises:
        FlowsweepError: The killed writer was another user's.
    """
    for work in filter(is_ready, _all_of(folder)):
        with suppress(FileNotFoundError), locked(work / LOCK, say):
            user = work.lstat().st_uid
            if user != os.geteuid():
                raise FlowsweepError(
                    f"{folder}: its tables were being replaced, and who did it is gone",
                    found=f"{work} of user {user}",
                    expected="tables of one writing",
                    remedy=f"any flowsweep command of user {user} on this folder finishes it",
                )
            roll_forward(folder, work, say)
            remove(work)


def _all_of(folder: Path) -> list[Path]:
    """Returns the hidden folders of `folder`."""
    real = folder.resolve()
    beside_it = real.parent.glob(f".{escape(real.name)}{_INFIX}*")
    found = [*sorted(beside_it), *sorted(folder.glob(f"{HIDDEN}*"))]
    return [work for work in found if work.is_dir() and not work.is_symlink()]


@contextmanager
def abandoned(work: Path) -> Iterator[bool]:
    """Yields whether a hidden folder is this user's and abandoned; locks it in the block."""
    lock = None
    with suppress(OSError, FlowsweepError):
        about = work.lstat()
        if stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid():
            if os.path.lexists(work / LOCK):
                lock = free_lock(work / LOCK)
            else:
                work.rmdir()  # an owner that has not locked it yet creates it again
    try:
        yield lock is not None
    finally:
        if lock is not None:
            os.close(lock)


def empty(work: Path) -> None:
    """Removes everything in a hidden folder except its lock."""
    for path in work.iterdir():
        if path.name != LOCK:
            _remove_all(path)


def remove(work: Path) -> None:
    """Removes a hidden folder, its lock last."""
    empty(work)
    (work / LOCK).unlink()
    with suppress(OSError):  # a writer that has just claimed it removes it later
        work.rmdir()


def _remove_all(path: Path) -> None:
    # Importing `shutil` takes as long as parsing a small capture.
    if path.is_dir() and not path.is_symlink():
        for inner in path.iterdir():
            _remove_all(inner)
        path.rmdir()
    else:
        path.unlink()
