"""Kernel locks (`flock`), which are released when their owner ends, also if it is killed.

Releasing a lock does not remove its file.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flowsweep.errors import FlowsweepError
from flowsweep.files.outputs import open_new
from flowsweep.signals import let_in

#: Seconds to wait for a lock without a message: most are held for milliseconds.
PATIENCE_S = 1.0
#: Errors of `flock` on a file system without locks, such as Lustre mounted without `-o flock`.
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF}


def tell(text: str) -> None:
    """Prints a line to stderr."""
    print(text, file=sys.stderr)


@contextmanager
def folder_locked(
    folder: Path, say: Callable[[str], None] = tell, *, shared: bool = False
) -> Iterator[int]:
    """Holds the lock of a folder in the block; yields its descriptor.

    This creates no file, and a user who may only read the folder can lock it too. Over NFS such a
    lock works only within this machine.

    Args:
        folder: A folder that exists.
        say: Called with a message that names the holder of the lock, if this process waits.
        shared: Whether to take a shared lock: several readers at once, and no writer.

    Raises:
        FlowsweepError: The file system has no locks.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _wait(descriptor, folder, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, say)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def locked(path: Path, say: Callable[[str], None] = tell) -> Iterator[None]:
    """Holds the lock of `take_lock` in the block."""
    descriptor = take_lock(path, say)
    try:
        yield
    finally:
        os.close(descriptor)


def take_lock(path: Path, say: Callable[[str], None] = tell) -> int:
    """Takes the lock of a file, which is created if it is missing; returns its descriptor.

    Args:
        path: The lock file.
        say: Called with a message that names the holder of the lock, if this process waits.

    Raises:
        FileNotFoundError: The folder is missing, or was removed meanwhile.
        FlowsweepError: It is not a file, cannot be opened, or the file system has no locks.
    """
    while True:
        descriptor = open_lock(path)
        try:
            _wait(descriptor, path.parent, fcntl.LOCK_EX, say)
            if is_at(descriptor, path):
                _sign(descriptor)
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # the file was removed, or moved with its folder, meanwhile


def _sign(descriptor: int) -> None:
    """Writes into the lock file which process holds it."""
    words = [Path(sys.argv[0] or "python").name, *sys.argv[1:2]]
    text = f"{' '.join(words)} (process {os.getpid()})"
    with suppress(OSError):  # another user's file, opened read-only, or a full disk
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(errors="replace"), 0)


def is_at(descriptor: int, path: Path) -> bool:
    """Returns whether the open file still has this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False


def _wait(descriptor: int, folder: Path, kind: int, say: Callable[[str], None]) -> None:
    try:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return
        from threading import Timer

        # The kernel hands the lock over; polling might never find it free of readers.
        timer = Timer(PATIENCE_S, lambda: say(f"waiting: {folder} is used by {holder(descriptor)}"))
        timer.start()
        try:
            with let_in():
                fcntl.flock(descriptor, kind)
        finally:
            timer.cancel()
            timer.join()
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        raise _no_locks(folder, error) from None


def _no_locks(folder: Path, error: OSError) -> FlowsweepError:
    return FlowsweepError(
        f"{folder}: cannot be locked",
        found=f"a file system that refuses flock: {error.strerror}",
        expected="locks, so that two that write here at once do not harm each other",
        remedy="mount it with locks (Lustre: -o flock), or name a folder elsewhere",
    )


def open_lock(path: Path) -> int:
    """Returns a descriptor of a lock file, which is created if it is missing.

    Raises:
        FlowsweepError: It is a link or no plain file, or this user may not open it.
        FileNotFoundError: Its folder is missing.
    """
    try:
        descriptor = _open(path, os.O_RDWR)
    except FileNotFoundError:
        raise
    except OSError as error:
        link = error.errno == errno.ELOOP
        raise _no_lock_file(path, "a link" if link else str(error.strerror)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _no_lock_file(path, "no plain file")
    return descriptor


def _open(path: Path, access: int) -> int:
    # Without O_NONBLOCK, open would block on a FIFO.
    flags = access | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    while True:
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            # No O_CREAT without O_EXCL: in a folder like /tmp the kernel refuses it for another
            # user's file (fs.protected_regular).
            with suppress(FileExistsError):
                return open_new(path)
        except OSError as error:
            # Another user's file, or a read-only file system: reading is enough for a lock.
            if access == os.O_RDONLY or error.errno not in {errno.EACCES, errno.EPERM, errno.EROFS}:
                raise
            return _open(path, os.O_RDONLY)


def free_lock(path: Path) -> int | None:
    """Takes a lock like `take_lock`, without waiting; returns None if another process holds it.

    Raises:
        FlowsweepError: The file system has no locks.
    """
    descriptor = open_lock(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_at(descriptor, path):
            _sign(descriptor)
            return descriptor
    except OSError as error:
        if error.errno in NO_LOCKS:
            os.close(descriptor)
            raise _no_locks(path.parent, error) from None
    os.close(descriptor)
    return None


def _no_lock_file(path: Path, found: str) -> FlowsweepError:
    return FlowsweepError(
        f"{path}: cannot be used as a lock",
        found=found,
        expected="a plain file that this user may open, or nothing yet",
        remedy=f"see whose it is: ls -l {path}; then remove it, or name another folder",
    )


def holder(descriptor: int) -> str:
    """Returns the holder of the lock in printable text, from the lock file or the kernel."""
    about = os.fstat(descriptor)
    text = b""
    if stat.S_ISREG(about.st_mode):
        text = os.pread(descriptor, 200, 0)
    else:
        # 1: FLOCK ADVISORY WRITE 1234 00:1a:567 0 EOF (proc(5))
        with suppress(OSError):
            for line in Path("/proc/locks").read_bytes().splitlines():
                words = line.split()
                if words[1] == b"FLOCK" and words[5].endswith(b":%d" % about.st_ino):
                    text = _program(words[4])
    printable = "".join(
        letter if letter.isprintable() else "?" for letter in text.decode(errors="replace").strip()
    )
    return printable or "another process"


def _program(pid: bytes) -> bytes:
    words = Path(f"/proc/{pid.decode()}/cmdline").read_bytes().split(b"\0")
    # Leave out the interpreter and the folder of the command.
    names = [word.rpartition(b"/")[2] for word in words if word]
    names = names[1:] if names[1:] and names[0].startswith(b"python") else names
    return b"%s (process %s)" % (b" ".join(names[:2]), pid)
