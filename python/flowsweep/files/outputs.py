"""Writes files atomically: exclusively created, through no link, and synced to disk."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from flowsweep.errors import SYSTEM, FlowsweepError
from flowsweep.signals import cleaning

#: Prefix of our hidden names.
HIDDEN = ".flowsweep-"
PART = ".part"
#: When writing, these errors mean that a file is in the place of a folder.
_NO_FOLDER = (
    "a folder, or none yet",
    "move the file that has its name, or name another folder",
)
ADVICE = SYSTEM | {errno.EEXIST: _NO_FOLDER, errno.ENOTDIR: _NO_FOLDER}


def open_new(path: Path, mode: int = 0o644) -> int:
    """Creates the file `path`, and returns a descriptor to read and write it.

    Args:
        path: A path at which nothing exists, not even a link.
        mode: Permissions, before the umask.

    Raises:
        FileExistsError: The path exists.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, mode)


def write_file(path: Path, data: bytes | str, mode: int = 0o644) -> None:
    """Writes `data` to the file `path`, which is replaced if it exists; see `replacing`."""
    with replacing(path, mode) as stream:
        stream.write(data.encode() if isinstance(data, str) else data)


@contextmanager
def replacing(path: Path, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """Yields a new file that becomes `path` when the block ends, unless the block fails.

    The file is written under a hidden name in the same folder, synced and renamed; this replaces a
    link itself, not its target. Files that killed writers left in the folder are removed.

    Args:
        path: The file; an existing one is replaced without a check of its owner.
        mode: Permissions, before the umask.

    Raises:
        OSError: The folder or the disk refuses.
    """
    remove_parts(path.parent)
    temporary = path.with_name(f"{HIDDEN}{os.urandom(8).hex()}{PART}")
    with (
        cleaning(lambda: temporary.unlink(missing_ok=True)),
        _create_owned(temporary, mode) as stream,
    ):
        yield stream
        stream.flush()
        os.fsync(stream.fileno())
        temporary.rename(path)
    sync(path.parent)


def _create_owned(path: Path, mode: int) -> IO[bytes]:
    """Creates a file and locks it, so that `remove_parts` keeps it while its owner lives."""
    while True:
        stream = os.fdopen(open_new(path, mode), "w+b")
        with suppress(OSError):  # without locks, `remove_parts` does not remove it either
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(stream.fileno()).st_nlink:
            return stream
        stream.close()  # `remove_parts` removed it between its creation and the lock


def remove_parts(folder: Path) -> None:
    """Removes the hidden files that killed writers of this user left in `folder`."""
    for path in sorted(folder.glob(f"{HIDDEN}*{PART}")):
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                about = os.fstat(descriptor)
                if stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid():
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink()
            finally:
                os.close(descriptor)


def sync(path: Path) -> None:
    """Syncs a file, or the entries of a folder, to disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that cannot sync folders
            raise
    finally:
        os.close(descriptor)


@contextmanager
def explaining(what: str) -> Iterator[None]:
    """Turns errors of the operating system into errors that begin with `what`, with a remedy.

    Args:
        what: The failed action, such as "cannot create FOLDER".
    """
    try:
        yield
    except OSError as error:
        if error.errno is None:  # not from the operating system
            raise
        expected, remedy = ADVICE.get(error.errno, (None, None))
        found = error.strerror or str(error)
        raise FlowsweepError(what, found=found, expected=expected, remedy=remedy) from error
