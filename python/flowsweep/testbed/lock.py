"""Locks the testbed of this machine for one user at a time, with messages to waiting commands.

Root and users exclude each other, so the lock file is in a folder where everybody may create files.
Anything else of that name is refused: it is neither followed, waited for nor changed.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from flowsweep.errors import FlowsweepError
from flowsweep.files import locks
from flowsweep.units import duration

LOCK_NAME = "flowsweep-testbed.lock"
TELL_S = 60.0  # interval of messages while waiting
SHARED_FOLDERS = (Path("/run/lock"), Path("/tmp"))  # noqa: S108 - shared on purpose
HOLDER_LIMIT = 200  # bytes
#: The only content of a lock file: who used the testbed last.
HOLDER = re.compile(rb"([^\n]* \(process [0-9]+\)\n)?")


def open_file(subject: str = "") -> int:
    """Opens the lock file; returns its descriptor. subject: what is locked instead of this machine.

    Raises:
        FlowsweepError: The file with the lock's name is not ours.
    """
    path = _folder() / LOCK_NAME
    if subject:
        digest = hashlib.sha256(subject.encode()).hexdigest()[:12]
        path = path.with_name(f"{LOCK_NAME}-{digest}")
    descriptor = locks.open_lock(path)
    try:
        found = os.fstat(descriptor)
        _check(path, descriptor, found)
        if found.st_uid == os.geteuid():
            os.fchmod(descriptor, 0o666)  # despite the umask: all users share this lock
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _folder() -> Path:
    """Returns the first folder where everybody may create files; the same for root and users."""
    shared = stat.S_ISVTX | stat.S_IWOTH
    for folder in SHARED_FOLDERS:
        with contextlib.suppress(OSError):
            if folder.stat().st_mode & shared == shared:
                return folder
    return SHARED_FOLDERS[-1]


def _check(path: Path, descriptor: int, found: os.stat_result) -> None:
    """Raises unless the file may be one that `exclusive` wrote.

    The owner does not matter: the first user creates the file. But a file with a second hard link,
    or with contents that we never write, may belong to somebody else.
    """
    if found.st_nlink > 1:
        fault = f"a file with {found.st_nlink} names"
    elif found.st_size > HOLDER_LIMIT or not HOLDER.fullmatch(
        os.pread(descriptor, HOLDER_LIMIT, 0)
    ):
        fault = "a file with other contents"
    else:
        return
    raise FlowsweepError(
        f"{path}: cannot be used as the lock of the testbed",
        found=f"{fault}, of {_user(found.st_uid)}",
        expected="no such name, or a file of one name in which flowsweep wrote who used it last",
        remedy=f"rm {path} (as root, or as the user whose it is)",
    )


def _user(number: int) -> str:
    import pwd

    try:
        return f"user {pwd.getpwuid(number).pw_name}"
    except KeyError:
        return f"user number {number}"


@contextlib.contextmanager
def exclusive(
    purpose: str, say: Callable[[str], None], descriptor: int | None = None
) -> Iterator[int]:
    """Waits until no other testbed is in use on this machine; yields the lock's descriptor.

    Reports the current holder, repeats that every minute as holders change, and finally reports how
    long it has waited. descriptor: the result of `open_file`, if a hub already has it.
    """
    descriptor = open_file() if descriptor is None else descriptor
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            begin = time.monotonic()
            say(f"waiting: the testbed of this machine is used by {locks.holder(descriptor)}")
            with _repeat(lambda: say(_still_waiting(descriptor, begin))):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            say(f"waited {duration(time.monotonic() - begin)} for the testbed")
        _leave_name(descriptor, purpose)
        yield descriptor
    finally:
        # The hub shares the lock, which is free when both have closed it.
        os.close(descriptor)


def _leave_name(descriptor: int, purpose: str) -> None:
    """Writes who holds the lock, only for messages."""
    end = f" (process {os.getpid()})\n".encode()
    name = purpose.encode(errors="replace").replace(b"\n", b" ")[: HOLDER_LIMIT - len(end)]
    with contextlib.suppress(OSError):  # a file that others may only read, or a full disk
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, name + end, 0)


def user(subject: str = "") -> str | None:
    """Returns the current user of this machine's testbed, or of the subject; None if none is seen.

    It reads /proc/locks instead of trying the lock, which could block another process.
    """
    descriptor = open_file(subject)
    try:
        inode = f":{os.fstat(descriptor).st_ino}"
        for line in Path("/proc/locks").read_text().splitlines():
            # 1: FLOCK ADVISORY WRITE 1234 00:1a:567 0 EOF; waiters have an arrow (proc(5))
            words = line.split()
            if words[1] == "FLOCK" and words[5].endswith(inode):
                return locks.holder(descriptor)
        return None
    finally:
        os.close(descriptor)


def _still_waiting(descriptor: int, begin: float) -> str:
    passed = duration(time.monotonic() - begin)
    return f"waiting for {passed}: the testbed is used by {locks.holder(descriptor)}"


@contextlib.contextmanager
def _repeat(act: Callable[[], None]) -> Iterator[None]:
    """Calls `act` periodically in the `with` block, in a thread that ends with the block."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(TELL_S):
            act()

    thread = threading.Thread(target=repeat, name="waiting", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
