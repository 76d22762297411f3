"""Writing files: exclusively, through no link, whole or not at all, safe on the disk."""

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
#: On writing it means that a file is in the place of a folder.
_NO_FOLDER = (
    "a folder, or none yet",
    "move the file that has its name, or name another folder",
)
ADVICE = SYSTEM | {errno.EEXIST: _NO_FOLDER, errno.ENOTDIR: _NO_FOLDER}


def open_new(path: Path, mode: int = 0o644) -> int:
    """A descriptor of the file `path`, to be read and written, which is made now.

    Args:
        path: Nothing may be there, not even a link.
        mode: Permissions, of which the umask takes away.

    Raises:
        FileExistsError: Something is there.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, mode)


def write_file(path: Path, data: bytes | str, mode: int = 0o644) -> None:
    """Writes `data` to the file `path`, in place of what is there; see `replacing`."""
    with replacing(path, mode) as stream:
        stream.write(data.encode() if isinstance(data, str) else data)


@contextmanager
def replacing(path: Path, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """A new file that becomes `path` when the block ends, and nothing if it fails.

    It is written under a hidden name beside `path`, synced and renamed, which replaces a link
    itself, not its target. Files that killed writers left in the folder are removed.

    Args:
        path: A file that is there is replaced, whoever wrote it: check before.
        mode: Permissions, of which the umask takes away.

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
    """A new file. Its lock says that its owner lives, so that `remove_parts` leaves it alone."""
    while True:
        stream = os.fdopen(open_new(path, mode), "w+b")
        with suppress(OSError):  # where there are no locks, nobody removes it either
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(stream.fileno()).st_nlink:
            return stream
        stream.close()  # taken for a dead one's in the moment before it was locked


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
    """Makes a file, or the names in a folder, safe on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that cannot sync folders needs not
            raise
    finally:
        os.close(descriptor)


@contextmanager
def explaining(what: str) -> Iterator[None]:
    """Turns refusals of the operating system into errors that begin with `what`, with a remedy.

    Args:
        what: "cannot create FOLDER".
    """
    try:
        yield
    except OSError as error:
        if error.errno is None:  # not of the system
            raise
        expected, remedy = ADVICE.get(error.errno, (None, None))
        found = error.strerror or str(error)
        raise FlowsweepError(what, found=found, expected=expected, remedy=remedy) from error
