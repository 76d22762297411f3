"""A hidden folder in which files are prepared, and the steps that put them into place.

It lies beside the folder of the places, so that whoever reads all that is below that folder does
not meet what is being written. It belongs to one writer and holds

* `lock`: held as long as the writer lives;
* `new`: what is being written;
* `ready`: what was `new`, once all of it is on the disk. From this renaming on it counts;
* `cleared`: what was `ready`, once nothing older has one of the places;
* `old`: what made room for it.

Each entry is renamed to its place in the folder; an empty file stands for a table that goes.
Every step may be repeated: whoever finds work without a writer continues where that one stopped.
A folder changes places with the one before it in a single step, where the file system can.
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
#: What may be put into place: a folder from elsewhere shall not replace other names.
PLACE = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_.-]*\.parquet|run=[^/\0]+|{FACTS}")
#: Files that are synced at once.
MAX_SYNCS = 16
#: Attempts to make a hidden folder that another process removes each time.
TRIES = 100
#: Bytes of a hidden name. Longer names are cut; writers that share one wait for each other.
MAX_NAME = 200
#: Between the name of a folder and that of its set, in the name of a hidden folder beside it.
_INFIX = ".flowsweep-set-"
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def beside(folder: Path, name: str) -> Path:
    """The hidden folder of the set `name` of `folder`; in it, where nothing can lie beside it."""
    real = folder.resolve()
    if len(os.fsencode(real.name)) > MAX_NAME // 2 or _INFIX in real.name or not _is_open(real):
        return inside(folder, name)
    return real.parent / _shorten_name(f".{real.name}{_INFIX}{name}")


def inside(folder: Path, name: str) -> Path:
    """The hidden folder `name` in `folder`."""
    return folder / _shorten_name(f"{HIDDEN}{name}")


def _shorten_name(name: str) -> str:
    return os.fsdecode(os.fsencode(name)[:MAX_NAME])


def _is_open(folder: Path) -> bool:
    """Whether this user may rename what is made beside a folder to a name in it."""
    parent = folder.parent
    if not parent.exists():
        return True
    if not os.access(parent, os.R_OK | os.W_OK | os.X_OK):
        return False
    if not folder.exists():
        return True
    # One file system may be mounted at both, and names cannot be moved between mounts.
    escaped = "".join(f"\\{ord(one):03o}" if one in " \t\n\\" else one for one in str(folder))
    with suppress(OSError), Path("/proc/self/mountinfo").open("rb") as mounts:
        if any(line.split()[4] == os.fsencode(escaped) for line in mounts):
            return False
    return folder.stat().st_dev == parent.stat().st_dev


def make_missing(folder: Path, made: list[Path]) -> None:
    """Makes a folder and all above it; `made` gets those that were not there."""
    missing = [path for path in (folder, *folder.parents) if not os.path.lexists(path)]
    for path in reversed(missing):
        made.append(path)
        path.mkdir(exist_ok=True)


def claim(work: Path, made: list[Path], say: Callable[[str], None]) -> int:
    """Takes the lock of a hidden folder, which is made where it lacks; its descriptor.

    Raises:
        FlowsweepError: It is not this user's.
    """
    for left in reversed(range(TRIES)):
        is_new = not os.path.lexists(work)
        try:
            make_missing(work, made)
            _check_own(work, is_new=is_new)
            return take_lock(work / LOCK, say)
        except FileNotFoundError:
            # Its owner has finished, or took it for a dead process's before it was locked. For a
            # link that leads nowhere no further attempt helps.
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
    """Raises where something that is not flowsweep's, or may not be moved, has one of `places`."""
    for place in places:
        if not PLACE.fullmatch(place):
            raise ValueError(f"{place}: no place of a table")
        path = folder / place
        with suppress(FileNotFoundError, NotADirectoryError):  # or moved away in this moment
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
    # To move a folder changes its entry `..`, too.
    needed = (path.parent, path) if stat.S_ISDIR(about.st_mode) else (path.parent,)
    return not kept and all(os.access(one, os.W_OK | os.X_OK) for one in needed)


def appear(work: Path, folder: Path) -> None:
    """Turns the written files into `folder`, which is not there yet."""
    _sync_all(work / NEW)
    (work / NEW).rename(folder)
    sync(folder.parent)


def commit(folder: Path, work: Path, places: Sequence[str] = ()) -> None:
    """Renames a finished set of files to `ready`; from here on a reader finishes its publication.

    Args:
        folder: Of the places.
        work: Its hidden folder.
        places: Tables that go if they were not written this time.
    """
    for place in places:
        if os.path.lexists(folder / place) and not os.path.lexists(work / NEW / place):
            os.close(open_new(work / NEW / place))
    _sync_all(work / NEW)
    (work / NEW).rename(work / READY)
    sync(work)
    sync(work.parent)


def _sync_all(root: Path) -> None:
    """Syncs all that is below `root`; where it is much, a file system does several in one go."""
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
    """Whether what was written in a hidden folder counts, and is not all in its place.

    A folder from elsewhere may hold other names: they are never put into place.
    """
    names = _waiting_in(work)
    return bool(names) and all(map(PLACE.fullmatch, names))


def _waiting_in(work: Path) -> list[str]:
    return [entry.name for name in (READY, CLEARED) for entry in (work / name).glob("*")]


def move(folder: Path, work: Path) -> None:
    """Puts the files of a committed set into place, from wherever an earlier attempt stopped."""
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
    """Moves what is at `place` to the folder `old`; a folder is replaced in the same step."""
    aside = old / os.urandom(8).hex()
    if entry.is_dir():
        # A process that continues after a crash must not exchange them back: nothing is ready.
        entry.rename(aside)
        if _exchange(aside, place):
            return
        aside.rename(entry)
    place.rename(aside)


def _exchange(one: Path, other: Path) -> bool:
    """Exchanges two names in one step; returns whether this file system can."""
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
    """Puts what a killed writer had ready into place; its lock is held."""
    if not is_ready(work):
        return
    with explaining(f"cannot write to {folder}"):
        folder.mkdir(exist_ok=True)  # it may have been removed since
        with folder_locked(folder, say):
            check_places(folder, _waiting_in(work))
            move(folder, work)


def any_ready(folder: Path) -> bool:
    """Whether a set of `folder` is half in place."""
    return any(is_ready(work) for work in _all_of(folder))


def settle(folder: Path, say: Callable[[str], None]) -> None:
    """Finishes or removes what killed writers of this user left in `folder`, or beside it."""
    with suppress(OSError):
        remove_parts(folder)
    for work in _all_of(folder):
        with abandoned(work) as is_abandoned:
            if is_abandoned:
                roll_forward(folder, work, say)
                with suppress(OSError):
                    remove(work)


def finish(folder: Path, say: Callable[[str], None]) -> None:
    """Waits for those who put a set of `folder` into place, and finishes what a killed one began.

    Raises:
        FlowsweepError: It was another user's.
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
    """The hidden folders of `folder`."""
    real = folder.resolve()
    beside_it = real.parent.glob(f".{escape(real.name)}{_INFIX}*")
    found = [*sorted(beside_it), *sorted(folder.glob(f"{HIDDEN}*"))]
    return [work for work in found if work.is_dir() and not work.is_symlink()]


@contextmanager
def abandoned(work: Path) -> Iterator[bool]:
    """Whether a hidden folder is this user's and has no writer; it gets none meanwhile."""
    lock = None
    with suppress(OSError, FlowsweepError):
        about = work.lstat()
        if stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid():
            if os.path.lexists(work / LOCK):
                lock = free_lock(work / LOCK)
            else:
                work.rmdir()  # its owner, if there is one, sees that and makes it again
    try:
        yield lock is not None
    finally:
        if lock is not None:
            os.close(lock)


def empty(work: Path) -> None:
    """Removes all in a hidden folder but its lock."""
    for path in work.iterdir():
        if path.name != LOCK:
            _remove_all(path)


def remove(work: Path) -> None:
    """Removes a hidden folder, its lock last."""
    empty(work)
    (work / LOCK).unlink()
    with suppress(OSError):  # who takes it in this moment removes it
        work.rmdir()


def _remove_all(path: Path) -> None:
    # `shutil` takes as long to import as many a capture to parse.
    if path.is_dir() and not path.is_symlink():
        for inner in path.iterdir():
            _remove_all(inner)
        path.rmdir()
    else:
        path.unlink()
