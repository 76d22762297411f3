"""How files are written: exclusively, through no link, whole or not at all, safe on the disk.

A lock is one that the kernel holds (`flock`): it is free as soon as its owner is gone, however
that ended. The file that carries it stays where it is.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from flowsweep.errors import SYSTEM, FlowsweepError
from flowsweep.signals import cleaning, let_in

#: Begin of the hidden names that are ours.
HIDDEN = ".flowsweep-"
PART = ".part"
#: Where something is written, a file is in the place of a folder.
_NO_FOLDER = (
    "a folder, or none yet",
    "move the file that has its name, or name another folder",
)
ADVICE = SYSTEM | {errno.EEXIST: _NO_FOLDER, errno.ENOTDIR: _NO_FOLDER}
#: So many are synced at once.
MAX_SYNCS = 16
#: So long a lock is waited for without a word: most are held for milliseconds.
PATIENCE_S = 1.0
#: What `flock` answers on a file system without it, such as Lustre mounted without `-o flock`.
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF}


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

    It is written under a hidden name of its own beside `path`, synced and renamed, which also
    replaces a link that is there, and not what the link leads to.

    Args:
        path: What is there is replaced, whosever it is: ask before.
        mode: Permissions, of which the umask takes away.

    Raises:
        OSError: The folder or the disk refuses.
    """
    temporary = path.with_name(f"{HIDDEN}{os.urandom(8).hex()}{PART}")
    with cleaning(lambda: temporary.unlink(missing_ok=True)), _owned(temporary, mode) as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())
        temporary.rename(path)
    sync_folder(path.parent)


def _owned(path: Path, mode: int) -> IO[bytes]:
    """A new file. Its lock says that its owner lives, so that `remove_parts` leaves it alone."""
    while True:
        stream = os.fdopen(open_new(path, mode), "w+b")
        with suppress(OSError):  # where there are no locks, nobody removes it either
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(stream.fileno()).st_nlink:
            return stream
        stream.close()  # taken for a dead one's in the moment before it was locked


def remove_parts(folder: Path) -> None:
    """Removes what killed writers of this user left of `replacing` in `folder`."""
    with os.scandir(folder) as entries:
        names = [one.name for one in entries if one.name.startswith(HIDDEN)]
    for name in names:
        if not name.endswith(PART):
            continue
        path = folder / name
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
    """What another library wrote to a file is safe on the disk afterwards."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Names in `folder` are as safe on the disk as what they name."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that cannot sync folders needs not
            raise
    finally:
        os.close(descriptor)


def sync_folders(folders: Sequence[Path]) -> None:
    """Syncs all at once: a file system writes down in one go what several ask for."""
    waiting = list(folders)
    failures: list[OSError] = []

    def work() -> None:
        with suppress(IndexError):
            while True:
                try:
                    sync_folder(waiting.pop())
                except OSError as failure:
                    failures.append(failure)

    threads = []
    if len(folders) > 1:
        from threading import Thread

        threads = [Thread(target=work) for _ in folders[1:MAX_SYNCS]]
    for thread in threads:
        thread.start()
    work()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def tell(text: str) -> None:
    """One line on stderr."""
    print(text, file=sys.stderr)


@contextmanager
def locked(
    folder: Path,
    name: str,
    say: Callable[[str], None] = tell,
    *,
    shared: bool = False,
) -> Iterator[int]:
    """Holds the lock `name` of `folder` while this is entered; yields its descriptor.

    Args:
        folder: It is there.
        name: Of the file that carries the lock, which is made if it lacks.
        say: Told who holds the lock, where it has to be waited for.
        shared: Several may hold it so at once, but nobody else.

    Raises:
        FlowsweepError: The lock file is no file or not to be opened, or the file system has no
            locks.
    """
    descriptor = take_lock(folder / name, say, shared=shared)
    try:
        yield descriptor
    finally:
        leave_lock(descriptor, shared=shared)


@contextmanager
def folder_locked(
    folder: Path, say: Callable[[str], None] = tell, *, shared: bool = False
) -> Iterator[int]:
    """As `locked`, with the folder itself in place of a file in it.

    No file is left behind, and who may only read the folder can lock it too. Over NFS such a lock
    is one of this machine alone.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _wait(descriptor, folder, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, say)
        yield descriptor
    finally:
        os.close(descriptor)


def take_lock(path: Path, say: Callable[[str], None] = tell, *, shared: bool = False) -> int:
    """As `locked`, of the lock file `path`; gives the descriptor, for `leave_lock`.

    Raises:
        FileNotFoundError: Its folder is not there, or went away meanwhile.
    """
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    while True:
        descriptor = open_lock(path)
        try:
            _wait(descriptor, path.parent, kind, say)
            if is_at(descriptor, path):
                break
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # removed, or moved with its folder, while it was waited for
    if not shared:
        _sign(descriptor, _purpose())
    return descriptor


def leave_lock(descriptor: int, *, shared: bool = False) -> None:
    """Gives a lock of `take_lock` back."""
    if not shared:
        _sign(descriptor, "")
    os.close(descriptor)


def _sign(descriptor: int, text: str) -> None:
    """Says in the lock file who holds it."""
    with suppress(OSError):  # another user's file, open for reading alone; a full disk
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(errors="replace"), 0)


def is_at(descriptor: int, path: Path) -> bool:
    """Whether the open file still has this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False


def _wait(descriptor: int, folder: Path, kind: int, say: Callable[[str], None]) -> None:
    try:
        if _is_free(descriptor, kind):
            return
        from threading import Timer

        # The kernel hands the lock on; who asked now and then would never find it free of readers.
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
        raise FlowsweepError(
            f"{folder}: cannot be locked",
            found=f"a file system that refuses flock: {error.strerror}",
            expected="locks, so that two that write here at once do not harm each other",
            remedy="mount it with locks (Lustre: -o flock), or name a folder elsewhere",
        ) from None


def _is_free(descriptor: int, kind: int) -> bool:
    """Whether the lock could be taken at once."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def open_lock(path: Path, *, create: bool = True) -> int:
    """A descriptor of a lock file, which is made if it lacks and `create` says so.

    Raises:
        FlowsweepError: It is a link or no file, or may not be opened.
        FileNotFoundError: It lacks.
    """
    # A pipe would be waited for without the last of these.
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        while True:
            try:
                descriptor = os.open(path, flags)
            except FileNotFoundError:
                if not create:
                    raise
                # In a folder like /tmp the kernel refuses O_CREAT alone for somebody else's
                # file (fs.protected_regular).
                with suppress(FileExistsError):
                    return open_new(path)
            except OSError as error:
                if error.errno not in {errno.EACCES, errno.EPERM, errno.EROFS}:
                    raise
                # Of another user, or on a file system that is read only: enough to be locked.
                flags = flags & ~os.O_RDWR | os.O_RDONLY
                descriptor = os.open(path, flags)
                break
            else:
                break
    except FileNotFoundError:
        raise
    except OSError as error:
        link = error.errno == errno.ELOOP
        raise _no_lock_file(path, "a link" if link else str(error.strerror)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _no_lock_file(path, "no plain file")
    return descriptor


def free_lock(path: Path, *, create: bool = False) -> int | None:
    """Takes a lock that nobody has, without waiting: its descriptor, or None.

    Raises:
        FileNotFoundError: The lock file lacks, and is not to be made.
    """
    descriptor = open_lock(path, create=create)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_at(descriptor, path):
            _sign(descriptor, _purpose())
            return descriptor
    except OSError:  # held, or on a file system without locks, where nobody can tell
        pass
    os.close(descriptor)
    return None


def refused(what: str, error: OSError) -> FlowsweepError:
    """What the operating system refused, with what to do about it.

    Args:
        what: "cannot create FOLDER".
        error: The refusal.
    """
    expected, remedy = ADVICE.get(error.errno or 0, (None, None))
    found = error.strerror or str(error)
    return FlowsweepError(what, found=found, expected=expected, remedy=remedy)


@contextmanager
def told(what: str) -> Iterator[None]:
    """Refusals of the operating system become errors that say `what`; see `refused`."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # not of the system
            raise
        raise refused(what, error) from error


def _no_lock_file(path: Path, found: str) -> FlowsweepError:
    return FlowsweepError(
        f"{path}: cannot be used as a lock",
        found=found,
        expected="a plain file that this user may open, or nothing yet",
        remedy=f"see whose it is: ls -l {path}; then remove it, or name another folder",
    )


def _purpose() -> str:
    words = [Path(sys.argv[0] or "python").name, *sys.argv[1:2]]
    return f"{' '.join(words)} (process {os.getpid()})"


def holder(descriptor: int) -> str:
    """Who holds the lock, for messages: as the lock file says, or the kernel; printable."""
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
    # Without the interpreter, and the folder of the command.
    names = [word.rpartition(b"/")[2] for word in words if word]
    names = names[1:] if names[1:] and names[0].startswith(b"python") else names
    return b"%s (process %s)" % (b" ".join(names[:2]), pid)
