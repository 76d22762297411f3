"""The hidden folders in which `file_sets` are written, and what is moved out of them."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from flowsweep.errors import FlowsweepError
from flowsweep.files.locks import folder_locked, free_lock, locked
from flowsweep.files.outputs import HIDDEN, open_new, remove_parts, sync_folder, sync_folders, told
from flowsweep.files.owned import refuse_foreign_tables

#: Of a hidden folder's owner.
LOCK = "lock"
JOURNAL = "journal.json"
#: In a hidden folder: what comes, and what went.
NEW, OLD = "new", "old"
#: What a journal may name, lest a folder from elsewhere has files moved somewhere else.
PLACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\.parquet|[a-z0-9_]+/run=[^/\0]+")
#: Octets of a hidden name. What it is cut to is shared, and its users wait for each other.
MAX_NAME = 200


def inside(folder: Path, name: str) -> Path:
    """The hidden folder of the set `name` in `folder`."""
    return folder / _cut(f"{HIDDEN}{name}")


def beside(folder: Path) -> Path:
    """The hidden folder that becomes `folder`."""
    return folder.parent / f"{_cut(f'.{folder.name}')}{HIDDEN}new"


def _cut(name: str) -> str:
    return os.fsdecode(os.fsencode(name)[:MAX_NAME])


def make(work: Path, made: list[Path]) -> None:
    """Makes a hidden folder and all above it; `made` gets those that were not there."""
    missing = []
    at = work
    while not os.path.lexists(at):
        missing.append(at)
        at = at.parent
    for path in reversed(missing):
        made.append(path)
        path.mkdir(exist_ok=True)
    about = work.lstat()
    if not stat.S_ISDIR(about.st_mode) or (not missing and about.st_uid != os.geteuid()):
        raise FlowsweepError(
            f"{work}: in the way",
            found=f"something of user {about.st_uid}",
            expected=f"a folder of user {os.geteuid()}, or nothing yet",
            remedy=f"see what it is: ls -ld {work}; then remove it, or name another folder",
        )


def check_places(folder: Path, places: Sequence[str]) -> None:
    """Raises where something that is not flowsweep's, or may not be moved, has one of `places`."""
    for place in places:
        if not PLACE.fullmatch(place):  # a journal with it would be taken for none
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


def appear(root: Path, folder: Path) -> None:
    """Turns the written files into `folder`."""
    sync_folders(_folders(root))
    try:
        root.rename(folder)
    except OSError as error:
        raise FlowsweepError(
            f"{folder}: cannot be made",
            found=f"{error.strerror}; it was not there when the work began",
            expected="no folder of this name, or an empty one",
            remedy="see what another program put there, and start again",
        ) from None
    sync_folder(folder.parent)


def _folders(root: Path) -> list[Path]:
    """`root` and all folders below it; files are synced by those who write them."""
    return [Path(folder) for folder, _, _ in os.walk(root, topdown=False)]


def write_journal(work: Path, places: Sequence[str]) -> None:
    """From here on what was written counts: it is moved into its places, by whomsoever.

    A journal that ends early is none: nothing is moved before all is safe on the disk.
    """
    written = [place for place in places if os.path.lexists(work / NEW / place)]
    path = work / JOURNAL
    try:
        with os.fdopen(open_new(path), "w", encoding="utf-8") as stream:
            json.dump({"places": [*places], "written": written}, stream)
            stream.flush()
            os.fsync(stream.fileno())
        sync_folders([*_folders(work), work.parent])
    except OSError:
        path.unlink(missing_ok=True)
        raise


def roll_forward(folder: Path, work: Path, say: Callable[[str], None]) -> None:
    """Does what the journal of a killed writer says, if there is one; its lock is held."""
    if has_journal(work):
        with told(f"cannot write to {folder}"), folder_locked(folder, say):
            move(folder, work)


def move(folder: Path, work: Path) -> None:
    """Does what the journal says, from wherever it was left; both locks are held.

    File systems keep the order of renamings, also when the machine stops.
    """
    journal = _read_journal(work)
    if journal is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), work / JOURNAL)
    places, written = journal
    check_places(folder, places)
    new, old = work / NEW, work / OLD
    old.mkdir(exist_ok=True)
    for place in places:
        is_moved = place in written and not os.path.lexists(new / place)
        if not is_moved and os.path.lexists(folder / place):
            (folder / place).rename(old / os.urandom(8).hex())
    for place in written:
        if os.path.lexists(new / place):
            (folder / place).parent.mkdir(exist_ok=True)
            (new / place).rename(folder / place)
    parents = {(folder / place).parent for place in places}
    sync_folders([path for path in {folder, *parents} if path.is_dir()])
    (work / JOURNAL).unlink()


def _read_journal(work: Path) -> tuple[Sequence[str], Sequence[str]] | None:
    """The places, and those that something was written for; None where there is no journal."""
    try:
        said = json.loads((work / JOURNAL).read_text(encoding="utf-8"))
        places, written = [*said["places"]], [*said["written"]]
        if all(PLACE.fullmatch(place) for place in (*places, *written)):
            return places, written
    except (OSError, ValueError, TypeError, KeyError):
        pass
    return None


def has_journal(work: Path) -> bool:
    """Whether what was written in a hidden folder counts, and is not all in its place."""
    return _read_journal(work) is not None


def has_journals(folder: Path) -> bool:
    """Whether a set of `folder` is half moved."""
    return any(has_journal(work) for work in _all_in(folder))


def settle(folder: Path, say: Callable[[str], None]) -> None:
    """Finishes or removes what killed writers of this user left in `folder`, or beside it."""
    with suppress(OSError):
        remove_parts(folder)
    for work in (beside(folder), *_all_in(folder)):
        with _abandoned(work) as is_abandoned:
            if is_abandoned:
                roll_forward(folder, work, say)
                with suppress(OSError):
                    remove(work)


def finish(folder: Path, say: Callable[[str], None]) -> None:
    """Waits for those who move a set of `folder`, and finishes what a killed one began.

    Raises:
        FlowsweepError: It was another user's.
    """
    for work in _all_in(folder):
        with suppress(FileNotFoundError), locked(work, LOCK, say):
            if not has_journal(work):
                continue
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


def _all_in(folder: Path) -> list[Path]:
    """The hidden folders in `folder`."""
    try:
        with os.scandir(folder) as entries:
            return sorted(
                folder / one.name
                for one in entries
                if one.name.startswith(HIDDEN) and one.is_dir(follow_symlinks=False)
            )
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


@contextmanager
def _abandoned(work: Path) -> Iterator[bool]:
    """Whether a hidden folder is this user's and nobody writes in it; nobody does meanwhile."""
    lock = None
    with suppress(OSError, FlowsweepError):
        about = work.lstat()
        if stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid():
            try:
                lock = free_lock(work / LOCK)
            except FileNotFoundError:
                work.rmdir()  # its owner, if he lives, sees that and makes it again
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
    work.rmdir()


def _remove_all(path: Path) -> None:
    # `shutil` takes as long to import as many a capture to parse.
    if path.is_dir() and not path.is_symlink():
        for inner in path.iterdir():
            _remove_all(inner)
        path.rmdir()
    else:
        path.unlink()
