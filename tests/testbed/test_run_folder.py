"""A run enters its folder completely or not at all, and removes only flowsweep's own files."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from flowsweep import signals
from flowsweep.errors import FlowsweepError
from flowsweep.testbed.run_folder import RunFolder, read_record

NOBODY = 65534
OLD, NEW = "0ld", "new"
FILES = {
    "pc1.pcap.zst": "packets",
    "pc1.capture.json": "{}",
    "app.json": "{}",
    "program.log": "said",
}
THEIRS = {"notes.txt": "mine", "pc1-cut.pcap": "mine too", "drawings/one.svg": "<svg/>"}
ONE_HOST = {"hosts": [{"name": "pc1"}]}


def make_run(folder: RunFolder, hash_: str) -> None:
    staged = folder.stage()
    for name, text in FILES.items():
        (staged / name).write_text(f"{text} {hash_}")
    folder.publish({"spec_hash": hash_, **ONE_HOST})


def add_theirs(directory: Path) -> None:
    for name, text in THEIRS.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)


def texts(directory: Path) -> dict[str, str]:
    """Returns the text of every file below, and the target of every link, by path.

    Kernels that protect symlinks refuse even root to follow another user's in a sticky folder.
    """
    found = {}
    for inner, folders, names in os.walk(directory):
        for name in [*folders, *names]:
            path = Path(inner, name)
            if path.is_symlink():
                found[str(path.relative_to(directory))] = f"-> {path.readlink()}"
            elif path.is_file():
                found[str(path.relative_to(directory))] = path.read_text()
    return found


def read_run(directory: Path) -> dict[str, str]:
    return {name: text for name, text in texts(directory).items() if name in FILES}


def whole(hash_: str) -> dict[str, str]:
    return {name: f"{text} {hash_}" for name, text in FILES.items()}


def killed_at(step: int, act, number: int = signal.SIGKILL) -> bool:
    """Calls `act` in a process that gets a signal at a folder change; returns whether it died.

    SIGKILL ends the process at once; other signals are handled as in `flowsweep run`.
    """
    child = os.fork()
    if child == 0:
        left = step

        def hook(event: str, arguments: tuple) -> None:
            nonlocal left
            changes = event.startswith("os.") and event.split(".")[1] in CHANGES
            if changes or (event == "open" and arguments[2] and arguments[2] & os.O_CREAT):
                left -= 1
                if left == -1:
                    os.kill(os.getpid(), number)

        sys.addaudithook(hook)
        signals.install()
        try:
            act()
        except signals.Stopped as stop:
            os._exit(signals.end(stop))
        except BaseException:  # noqa: BLE001 - told by the exit code
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -number, 128 + number)
    return code != 0


CHANGES = {"rename", "remove", "rmdir", "mkdir", "chmod", "chown"}


@pytest.fixture
def disk() -> Iterator[Path]:
    """A folder in memory, because every step of a run is synced."""
    memory = Path("/dev/shm")
    where = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="flowsweep-run-", dir=where) as folder:
        yield Path(folder)


@pytest.mark.parametrize("before", ["nothing", "an empty folder", "a run"])
def test_a_kill_at_any_moment_leaves_a_whole_run_or_none(disk, before):
    steps = 0
    while True:
        folder = RunFolder(disk / str(steps) / "one")
        if before == "an empty folder":
            folder.directory.mkdir(parents=True)
        if before == "a run":
            make_run(folder, OLD)
            add_theirs(folder.directory)
        killed = killed_at(steps, lambda folder=folder: make_run(folder, NEW))
        record = read_record(folder.directory)
        # Either no record, or a record with its own files, never those of the other run.
        assert read_run(folder.directory) == (whole(record["spec_hash"]) if record else {})
        if before == "a run":
            everything = texts(folder.directory.parent)
            assert sorted(THEIRS.values()) == sorted(
                text for text in everything.values() if text in THEIRS.values()
            )
        # The next command finishes or repeats the run.
        after = RunFolder(folder.directory)
        if record is not None and record["spec_hash"] == NEW:
            after.tidy()
        else:
            make_run(after, NEW)
        assert read_run(folder.directory) == whole(NEW)
        expected = {*FILES, "run.json"} | (set(THEIRS) if before == "a run" else set())
        assert set(texts(folder.directory)) == expected
        assert [path.name for path in folder.directory.parent.iterdir()] == ["one"]
        steps += 1
        if not killed:
            break
    assert steps > 10


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing_hidden(disk, number):
    """`scancel` sends these signals; the next command has nothing to tidy up."""
    steps = 0

    def act(folder: RunFolder) -> None:
        with signals.cleaning(folder.leave):
            make_run(folder, NEW)

    while True:
        folder = RunFolder(disk / str(steps) / "one")
        make_run(folder, OLD)
        add_theirs(folder.directory)
        killed = killed_at(steps, lambda folder=folder: act(folder), number)
        record = read_record(folder.directory)
        assert record is not None
        assert read_run(folder.directory) == whole(record["spec_hash"])
        assert {name: text for name, text in texts(folder.directory).items() if name in THEIRS} == (
            THEIRS
        )
        assert [path.name for path in folder.directory.parent.iterdir()] == ["one"]
        steps += 1
        if not killed:
            break
    assert steps > 10


def test_a_kill_while_a_run_is_removed_is_finished_by_the_next_command(disk):
    steps = 0
    while True:
        folder = RunFolder(disk / str(steps) / "one")
        make_run(folder, OLD)
        add_theirs(folder.directory)
        (folder.directory / "pc1-cut.pcap").unlink()  # no new run is made next to it
        killed = killed_at(steps, folder.remove)
        record = read_record(folder.directory)
        assert read_run(folder.directory) == (whole(OLD) if record else {})
        make_run(RunFolder(folder.directory), NEW)
        assert texts(folder.directory) == {
            **whole(NEW),
            "notes.txt": "mine",
            "drawings/one.svg": "<svg/>",
            "run.json": (folder.directory / "run.json").read_text(),
        }
        assert [path.name for path in folder.directory.parent.iterdir()] == ["one"]
        steps += 1
        if not killed:
            break
    assert steps > 8


@pytest.mark.parametrize("name", [*FILES, "other.pcapng", "run.json", "serve-pc1.log"])
def test_a_folder_with_such_files_of_others_is_refused(tmp_path, name):
    folder = RunFolder(tmp_path / "one")
    folder.directory.mkdir()
    (folder.directory / name).write_text('{"status": "valid"}')
    for act in (folder.check, folder.stage, folder.remove):
        with pytest.raises(FlowsweepError) as caught:
            act()
        assert str(folder.directory) in caught.value.what
        assert "rm -r" in str(caught.value.remedy)
    assert texts(tmp_path) == {f"one/{name}": '{"status": "valid"}'}


def test_a_folder_with_other_files_keeps_them(tmp_path):
    folder = RunFolder(tmp_path / "one")
    (folder.directory / "drawings").mkdir(parents=True)
    (folder.directory / "notes.txt").write_text("mine")
    (folder.directory / "drawings/one.svg").write_text("<svg/>")
    make_run(folder, NEW)
    assert set(texts(folder.directory)) == {*FILES, "run.json", "notes.txt", "drawings/one.svg"}


def test_what_a_program_left_beside_its_answer_is_kept_by_another_name(tmp_path):
    folder = RunFolder(tmp_path / "one")
    make_run(folder, OLD)
    (folder.directory / "own.log").write_text("first")
    staged = folder.stage()
    (staged / "own.log").write_text("second")
    folder.publish({"spec_hash": NEW, **ONE_HOST})
    assert texts(folder.directory)["own.log"] == "second"
    assert texts(folder.directory)["own.log.1"] == "first"


def put(kind: str, path: Path, victim: Path) -> None:
    match kind:
        case "link":
            path.symlink_to(victim)
        case "dangling link":
            path.symlink_to(path.with_name("nothing"))
        case "FIFO":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as one:
                one.bind(str(path))
        case "file":
            path.write_text("all there is")
        case "folder":
            path.mkdir()
            (path / "app.json").write_text("all there is")


@pytest.mark.parametrize("place", ["one", ".one.flowsweep-run"])
@pytest.mark.parametrize("kind", ["link", "dangling link", "FIFO", "socket", "file", "folder"])
def test_what_lies_in_the_way_is_refused_and_kept(tmp_path, monkeypatch, kind, place):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    monkeypatch.chdir(shared)  # a socket's path is short
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "app.json").write_text("all there is")
    put(kind, Path(place), victim)
    before = os.lstat(place)
    folder = RunFolder(shared / "one")
    for act in (folder.check, folder.stage, folder.remove):
        with pytest.raises(FlowsweepError):
            act()
    assert os.path.samestat(os.lstat(place), before)
    assert [path.name for path in shared.iterdir()] == [place]
    assert texts(victim) == {"app.json": "all there is"}


def test_root_follows_no_link_of_another_user_and_changes_no_run_of_theirs(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root: to be several users")
    shared, victim = tmp_path / "shared", tmp_path / "victim"
    shared.mkdir()
    shared.chmod(0o1777)
    victim.mkdir()
    (shared / "way").symlink_to(victim)
    os.chown(shared / "way", NOBODY, NOBODY, follow_symlinks=False)
    with pytest.raises(FlowsweepError, match="way"):
        RunFolder(shared / "way" / "one").stage()
    assert list(victim.iterdir()) == []
    theirs = RunFolder(shared / "one")
    make_run(theirs, OLD)
    os.chown(theirs.directory, NOBODY, NOBODY)
    before = texts(shared)
    for act in (theirs.check, theirs.stage, theirs.remove):
        with pytest.raises(FlowsweepError, match="one"):
            act()
    assert texts(shared) == before


def test_under_sudo_a_run_belongs_to_who_asked_for_it(tmp_path, monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("needs root: to be several users")
    monkeypatch.setenv("SUDO_UID", str(NOBODY))
    monkeypatch.setenv("SUDO_GID", str(NOBODY))
    folder = RunFolder(tmp_path / "one")
    make_run(folder, OLD)
    make_run(folder, NEW)
    assert read_run(folder.directory) == whole(NEW)
    assert {path.stat().st_uid for path in [folder.directory, *folder.directory.iterdir()]} == {
        NOBODY
    }


def test_two_at_once_in_one_folder_are_reported(tmp_path):
    first, second = RunFolder(tmp_path / "one"), RunFolder(tmp_path / "one")
    first.stage()
    with pytest.raises(FlowsweepError, match="in use"):
        second.stage()
    first.publish({"spec_hash": NEW, **ONE_HOST})
    first.leave()
    second.stage()
    second.leave()
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_a_record_that_names_files_elsewhere_takes_none_of_them(tmp_path):
    (tmp_path / "victim.pcap.zst").write_text("all there is")
    folder = RunFolder(tmp_path / "one")
    make_run(folder, OLD)
    record = {"spec_hash": OLD, "hosts": [{"name": "../victim"}, {"name": "a\n../victim"}, 7, {}]}
    (folder.directory / "run.json").write_text(json.dumps(record))
    make_run(folder, NEW)
    assert (tmp_path / "victim.pcap.zst").read_text() == "all there is"
    assert [path.name for path in tmp_path.iterdir() if path.name[0] == "."] == []


def test_a_run_with_the_longest_name_is_made_again(tmp_path):
    folder = RunFolder(tmp_path / ("x" + 119 * "ü"))
    for hash_ in (OLD, NEW):
        make_run(folder, hash_)
    assert read_run(folder.directory) == whole(NEW)
    assert [path.name for path in tmp_path.iterdir()] == [folder.directory.name]
