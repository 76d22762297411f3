"""One testbed at a time on this machine: its lock, and what those who wait for it are told."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from flowsweep.units import duration

LOCK_NAME = "flowsweep-testbed.lock"
TELL_S = 60.0  # how often who waits says so


def open_file(subject: str = "") -> int:
    """A descriptor of the file to be locked; subject: what is used instead of this machine."""
    folder = next(
        (path for path in (Path("/run/lock"), Path("/var/lock")) if os.access(path, os.W_OK)),
        Path(tempfile.gettempdir()),
    )
    path = folder / LOCK_NAME
    if subject:
        path = folder / f"{LOCK_NAME}-{hashlib.sha256(subject.encode()).hexdigest()[:12]}"
    # The other way round, somebody else's file in a folder like /tmp would not be opened at all
    # (fs.protected_regular).
    while True:
        with contextlib.suppress(FileNotFoundError):
            return os.open(path, os.O_RDWR)
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
            os.fchmod(descriptor, 0o666)  # whatever the umask: every user takes the same lock
            return descriptor


@contextlib.contextmanager
def exclusive(
    purpose: str, say: Callable[[str], None], descriptor: int | None = None
) -> Iterator[int]:
    """Waits until no other testbed is up on this machine; yields the lock's descriptor.

    Says for whom it waits, again every minute as others come before it, and how long it has waited.
    descriptor: what `open_file` gave, if a hub has it already.
    """
    descriptor = open_file() if descriptor is None else descriptor
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            begin = time.monotonic()
            say(f"waiting: the testbed of this machine is used by {_holder(descriptor)}")
            with _repeated(lambda: say(_still_waiting(descriptor, begin))):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            say(f"waited {duration(time.monotonic() - begin)} for the testbed")
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{purpose} (process {os.getpid()})\n".encode(), 0)
        yield descriptor
    finally:
        # The hub holds the lock too: it is free when the last of the two has gone.
        os.close(descriptor)


def user(subject: str = "") -> str | None:
    """Who uses the testbed of this machine, or the subject, now; None if nobody is seen to.

    The lock is looked up and not tried: who takes it in that moment would find it taken.
    """
    descriptor = open_file(subject)
    try:
        inode = f":{os.fstat(descriptor).st_ino}"
        for line in Path("/proc/locks").read_text().splitlines():
            # 1: FLOCK ADVISORY WRITE 1234 00:1a:567 0 EOF; who waits has an arrow (proc(5))
            words = line.split()
            if words[1] == "FLOCK" and words[5].endswith(inode):
                return _holder(descriptor)
        return None
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> str:
    return os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "another run"


def _still_waiting(descriptor: int, begin: float) -> str:
    passed = duration(time.monotonic() - begin)
    return f"waiting for {passed}: the testbed is used by {_holder(descriptor)}"


@contextlib.contextmanager
def _repeated(act: Callable[[], None]) -> Iterator[None]:
    """Acts now and then while this is entered. There is no thread any more when it is left."""
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
