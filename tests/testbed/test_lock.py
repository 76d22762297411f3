"""One testbed at a time: a waiting run reports whom it waits for, and how long it waited."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from pathlib import Path

import pytest

from flowsweep.testbed import lock


@pytest.fixture
def subject(request):
    """A subject of its own, because testbeds use the machine's lock."""
    name = f"{request.node.name}-{os.getpid()}"
    yield name
    descriptor = lock.open_file(name)
    Path(f"/proc/self/fd/{descriptor}").readlink().unlink()
    os.close(descriptor)


@pytest.fixture
def let_go(subject):
    """`run other` holds the lock of the subject until this is called."""
    descriptor = lock.open_file(subject)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.pwrite(descriptor, b"run other (process 7)\n", 0)
    over = threading.Event()
    thread = threading.Thread(target=lambda: (over.wait(30), os.close(descriptor)))
    thread.start()
    yield over.set
    over.set()
    thread.join()


def test_who_waits_says_for_whom_again_and_how_long(subject, let_go, monkeypatch):
    monkeypatch.setattr(lock, "TELL_S", 0.2)
    messages: list[str] = []

    def say(text: str) -> None:
        messages.append(text)
        if len(messages) == 3:
            let_go()

    begin = time.monotonic()
    with lock.exclusive("run mine", say, lock.open_file(subject)):
        assert lock.user(subject).startswith("run mine (process")
        # From here on processes are forked, so no other thread of ours may run.
        assert "waiting" not in {thread.name for thread in threading.enumerate()}
    assert time.monotonic() - begin > 0.4
    assert messages[0] == "waiting: the testbed of this machine is used by run other (process 7)"
    assert messages[1] == "waiting for 1 s: the testbed is used by run other (process 7)"
    assert messages[-1] == "waited 1 s for the testbed"


def test_who_need_not_wait_says_nothing(subject):
    messages: list[str] = []
    assert lock.user(subject) is None
    with lock.exclusive("run mine", messages.append, lock.open_file(subject)):
        pass
    assert messages == []
    assert lock.user(subject) is None


def test_who_uses_it_can_be_asked_without_waiting(subject, let_go):
    assert lock.user(subject) == "run other (process 7)"
    let_go()
    until = time.monotonic() + 10
    while lock.user(subject) is not None and time.monotonic() < until:
        time.sleep(0.01)
    assert lock.user(subject) is None
