"""The lock lies in a folder where anyone may create files: foreign files are refused and kept."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from flowsweep.errors import FlowsweepError
from flowsweep.files import locks
from flowsweep.testbed import lock

NOBODY = 65534
SECRET = "root:*:19000:0:99999:7:::\n"
# Runs as a user other than root: prints "held" when it has the lock of a folder.
HOLD = """
import os, sys
from pathlib import Path
from flowsweep.testbed import lock
lock.SHARED_FOLDERS = (Path(sys.argv[1]),)
os.setgroups([]), os.setgid(65534), os.setuid(65534)
with lock.exclusive("run theirs", lambda text: print(text, flush=True)):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder like /run/lock."""
    folder = tmp_path / "lock"
    folder.mkdir()
    folder.chmod(0o1777)
    monkeypatch.setattr(lock, "SHARED_FOLDERS", (folder,))
    return folder


def put(kind: str, path: Path, victim: Path) -> None:
    """Puts a file that is no lock of ours in the place of the lock."""
    match kind:
        case "link":
            path.symlink_to(victim)
        case "dangling link":
            path.symlink_to(path.with_name("nothing"))
        case "link in a circle":
            path.symlink_to(path)
        case "second name":
            path.hardlink_to(victim)
        case "FIFO":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "socket":
            with socket.socket(socket.AF_UNIX) as one:
                one.bind(str(path))
        case "other contents":
            path.write_text(SECRET)
        case "long contents":
            path.write_bytes(b"x" * 1_000_000)


KINDS = [
    "link",
    "dangling link",
    "link in a circle",
    "second name",
    "FIFO",
    "folder",
    "socket",
    "other contents",
    "long contents",
]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_lock_is_refused_at_once_and_left_as_it_is(folder, tmp_path, kind):
    victim, path = tmp_path / "shadow", folder / lock.LOCK_NAME
    victim.write_text(SECRET)
    victim.chmod(0o600)
    put(kind, path, victim)
    before = path.lstat()
    # A hang must fail this test, not all later ones.
    signal.alarm(20)
    try:
        for attempt in (lock.open_file, lock.user):
            with pytest.raises(FlowsweepError) as caught:
                attempt()
            error = caught.value
            assert str(path) in error.what
            assert all([error.found, error.expected, error.remedy])
    finally:
        signal.alarm(0)
    assert victim.read_text() == SECRET
    assert victim.stat().st_mode & 0o7777 == 0o600
    after = path.lstat()
    assert (after.st_ino, after.st_size, after.st_mode) == (
        before.st_ino,
        before.st_size,
        before.st_mode,
    )
    assert not (folder / "nothing").exists()


def test_a_file_system_without_locks_is_not_taken_for_another_sweep(tmp_path, monkeypatch):
    """As Lustre mounted without `-o flock` answers."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(FlowsweepError, match="cannot be locked") as caught:
        locks.free_lock(tmp_path / "lock")
    assert "flock" in str(caught.value)


def test_a_name_that_cannot_be_shown_is_not_shown(folder):
    path = folder / lock.LOCK_NAME
    path.write_bytes(b"run \x1b]0;owned\x07\x9b2J (process 7)\n")
    descriptor = lock.open_file()
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    messages: list[str] = []

    def say(text: str) -> None:
        messages.append(text)
        fcntl.flock(descriptor, fcntl.LOCK_UN)

    with lock.exclusive("run mine", say):
        pass
    os.close(descriptor)
    assert messages[0].isprintable()
    assert "run ?]0;owned?" in messages[0]


def test_a_long_purpose_leaves_a_file_that_the_next_one_takes(folder):
    with lock.exclusive("run " + "é\n" * 500, print):
        pass
    with lock.exclusive("run next", print):
        assert str(lock.user()).startswith("run next (process")


@pytest.fixture
def another_user(folder, tmp_path, passable):
    """Starts a process of a user other than root that takes the lock."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to be two users")
    passable(tmp_path)

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", HOLD, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    return start


def test_a_user_waits_for_root(folder, another_user):
    with lock.exclusive("run mine", print):
        process = another_user()
        line = process.stdout.readline()
        assert line.startswith("waiting: the testbed of this machine is used by run mine (process")
    assert process.stdout.readline().startswith("waited")
    assert process.stdout.readline() == "held\n"
    assert process.communicate("") == ("", None)
    assert (folder / lock.LOCK_NAME).stat().st_uid == 0


def test_root_waits_for_a_user_who_made_the_lock(folder, another_user):
    process = another_user()
    assert process.stdout.readline() == "held\n"
    messages: list[str] = []

    def say(text: str) -> None:
        messages.append(text)
        process.stdin.close()

    with lock.exclusive("run mine", say):
        assert messages[0].startswith(
            "waiting: the testbed of this machine is used by run theirs (pro"
        )
        assert str(lock.user()).startswith("run mine (process")
    assert process.wait(20) == 0
    assert (folder / lock.LOCK_NAME).stat().st_uid == NOBODY
