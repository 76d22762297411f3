"""Single files and locks: foreign files are left alone, and a dead owner holds no lock."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flowsweep import signals
from flowsweep.errors import FlowsweepError
from flowsweep.files import file_sets, locks, outputs

HOLD = (
    "import sys, pathlib; from flowsweep.files import locks, outputs\n"
    "with {what}:\n"
    "    print(flush=True); sys.stdin.read()"
)


def holding(what: str, folder: Path) -> subprocess.Popen[str]:
    """Starts a process that holds `what` until its standard input is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD.format(what=what), folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    process.stdout.readline()
    return process


@pytest.fixture
def elsewhere(tmp_path) -> Path:
    path = tmp_path / "elsewhere"
    path.write_text("of somebody else")
    return path


@pytest.mark.parametrize("target", ["elsewhere", "nowhere"])
def test_a_new_file_is_not_made_through_a_link(tmp_path, elsewhere, target):
    (tmp_path / "link").symlink_to(tmp_path / target)
    with pytest.raises(FileExistsError):
        outputs.open_new(tmp_path / "link")
    assert elsewhere.read_text() == "of somebody else"
    assert not (tmp_path / "nowhere").exists()


def test_a_link_is_replaced_and_not_what_it_leads_to(tmp_path, elsewhere):
    path = tmp_path / "file"
    path.symlink_to(elsewhere)
    outputs.write_file(path, "mine", 0o600)
    assert (path.read_text(), path.is_symlink()) == ("mine", False)
    assert path.stat().st_mode & 0o777 == 0o600
    assert elsewhere.read_text() == "of somebody else"


def test_of_a_failed_writing_nothing_stays(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def write() -> None:
        with outputs.replacing(path) as stream:
            stream.write(b"new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_next_writing_removes_parts_of_the_dead_and_no_others(tmp_path):
    code = "outputs.replacing(pathlib.Path(sys.argv[1], 'file'))"
    dead, living = holding(code, tmp_path), holding(code, tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert len(names) == 2
    (tmp_path / ".flowsweep-link.part").symlink_to("nowhere")
    dead.kill()
    dead.wait()
    outputs.write_file(tmp_path / "other", "whole")
    left = {path.name for path in tmp_path.iterdir()} - {".flowsweep-link.part", "other"}
    assert len(left) == 1
    assert left < names
    living.communicate()
    found = {path.name for path in tmp_path.iterdir()}
    assert found == {"file", "other", ".flowsweep-link.part"}
    dead.communicate()


@pytest.mark.parametrize("tables", [1, 100])
@pytest.mark.parametrize("is_alone", [True, False])
def test_a_set_counts_when_all_of_it_is_on_the_disk(tmp_path, monkeypatch, tables, is_alone):
    synced = []
    original, rename = os.fsync, Path.rename

    def sync(descriptor: int) -> None:
        original(descriptor)
        synced.append(os.fstat(descriptor).st_ino)

    def check(path: Path, place: Path) -> Path:
        if path.name == "new":
            counts.append({one.stat().st_ino for one in (path, *path.rglob("*"))} - {*synced})
        return rename(path, place)

    counts: list[set[int]] = []
    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "rename", check)
    with file_sets.file_set(tmp_path / "out", "some", ["run=r"], is_alone=is_alone) as folder:
        (folder / "run=r/host=h").mkdir(parents=True)
        for number in range(tables):
            (folder / f"run=r/host=h/{number}.parquet").write_bytes(b"rows")
    assert counts == [set()]
    assert len([*(tmp_path / "out/run=r/host=h").iterdir()]) == tables


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "folder", "socket"])
def test_what_is_no_file_is_no_lock(tmp_path, elsewhere, kind):
    path = tmp_path / "lock"
    if kind in ("link", "dangling"):
        path.symlink_to(elsewhere if kind == "link" else tmp_path / "nowhere")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        os.mknod(path, 0o140600)
    with pytest.raises(FlowsweepError) as caught, locks.locked(tmp_path / "lock"):
        pass
    assert caught.value.what == f"{path}: cannot be used as a lock"
    assert caught.value.expected
    assert caught.value.remedy
    assert elsewhere.read_text() == "of somebody else"
    assert not (tmp_path / "nowhere").exists()


def test_who_holds_a_lock_is_reported_and_a_dead_owner_frees_it(tmp_path):
    owner = holding("locks.locked(pathlib.Path(sys.argv[1], 'lock'))", tmp_path)
    messages = []

    def say(text: str) -> None:
        messages.append(text)
        owner.kill()

    with locks.locked(tmp_path / "lock", say):
        pass
    assert len(messages) == 1
    assert messages[0].startswith(f"waiting: {tmp_path} is used by ")
    assert f"(process {owner.pid})" in messages[0]
    owner.communicate()


def test_what_a_lock_file_says_cannot_reach_the_terminal(tmp_path):
    path = tmp_path / "lock"
    path.write_text("\x1b]0;title\x07 me\n")
    descriptor = locks.open_lock(path)
    assert locks.holder(descriptor) == "?]0;title? me"
    os.close(descriptor)


def test_a_file_system_without_locks_is_reported(tmp_path, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(FlowsweepError, match="cannot be locked"), locks.locked(tmp_path / "lock"):
        pass


@pytest.fixture
def handlers():
    """Restores pytest's signal handlers."""
    old = {number: signal.getsignal(number) for number in signals.STOPPING}
    signals.install()
    yield
    for number, handler in old.items():
        signal.signal(number, handler)


def test_a_signal_waits_for_what_must_not_be_done_by_half(handlers):
    done = []

    def work() -> None:
        with signals.hold():
            os.kill(os.getpid(), signal.SIGTERM)
            done.append("whole")

    with pytest.raises(signals.Stopped) as stop:
        work()
    assert done == ["whole"]
    assert signals.end(stop.value) == 143


def test_where_something_is_waited_for_a_signal_comes_through(handlers):
    done = []

    def work() -> None:
        with signals.hold():
            os.kill(os.getpid(), signal.SIGHUP)
            with signals.let_in():
                done.append("waited")

    with pytest.raises(signals.Stopped):
        work()
    assert done == []


def test_what_could_not_be_cleaned_on_the_way_is_cleaned_at_the_end(handlers):
    """A signal between the end of a block and its cleanup: the block is never left."""
    cleaned = []
    left = signals.cleaning(lambda: cleaned.append("once"))
    left.__enter__()
    assert signals.end(signals.Stopped(signal.SIGINT)) == 130
    assert cleaned == ["once"]
    left.__exit__(None, None, None)
    assert cleaned == ["once"]
