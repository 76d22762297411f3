"""Capturing as root into a world-writable folder leaves files of others alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
from pathlib import Path

import pytest

NOBODY = 65534
SECRET = "root:*:19000:0:99999:7:::\n"
FILTER = ["-i", "far", "--filter", "udp port 9"]


@pytest.fixture
def shared(tmp_path, passable):
    """A folder like /tmp, next to a file that only root may read."""
    if os.geteuid() != 0:
        pytest.skip("needs root: to be several users")
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    victim = tmp_path / "shadow"
    victim.write_text(SECRET)
    victim.chmod(0o600)
    passable(tmp_path)
    return folder


def untouched(folder: Path) -> bool:
    victim = folder.parent / "shadow"
    return (victim.read_text(), victim.stat().st_mode & 0o7777) == (SECRET, 0o600)


def put(kind: str, path: Path) -> None:
    match kind:
        case "link":
            path.symlink_to(path.parents[1] / "shadow")
        case "dangling link":
            path.symlink_to(path.parents[1] / "nothing")
        case "FIFO":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "socket":
            # By a short path, because a socket's path has room for 107 bytes.
            descriptor = os.open(path.parent, os.O_PATH)
            with socket.socket(socket.AF_UNIX) as one:
                one.bind(f"/proc/self/fd/{descriptor}/{path.name}")
            os.close(descriptor)
        case "file of another user":
            path.write_text("all there is")
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


KINDS = ["link", "dangling link", "FIFO", "folder", "socket", "file of another user"]


@pytest.mark.parametrize(
    "place", ["a.pcap", "a.pcap.part", "a.capture.json", "a.capture.json.part"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_what_others_put_there_is_refused_and_kept(cable, shared, kind, place):
    put(kind, shared / place)
    before = (shared / place).lstat()
    agent = cable.start(*FILTER, "-w", shared / "a.pcap")
    assert not agent.is_ready()
    assert agent.wait() == 2
    errors = agent.errors()
    assert "error: " in errors
    assert f"{shared / place} is " in errors
    assert f"of user number {NOBODY}" in errors
    assert "expected" in errors
    assert "remedy" in errors
    after = (shared / place).lstat()
    assert os.path.samestat(after, before)
    assert after.st_size == before.st_size
    assert [path.name for path in shared.iterdir()] == [place]
    assert untouched(shared)
    assert not (shared.parent / "nothing").exists()


@pytest.mark.parametrize("place", ["a-00001.pcap", "a-00001.pcap.part"])
@pytest.mark.parametrize("kind", ["link", "dangling link", "file of another user"])
def test_a_further_file_ends_the_capture_and_says_why(cable, shared, kind, place):
    put(kind, shared / place)
    agent = cable.start(*FILTER, "-w", shared / "a.pcap", "--rotate", "10kB")
    assert agent.is_ready()
    cable.burst(100)
    assert agent.wait() == 1
    assert untouched(shared)
    assert not (shared.parent / "nothing").exists()
    manifest = json.loads((shared / "a.capture.json").read_text())
    assert manifest["status"] == "incomplete"
    assert f"{shared / place} is " in manifest["stop_reason"]
    assert [entry["file"] for entry in manifest["files"]] == ["a.pcap"]
    assert (shared / place).lstat().st_uid == NOBODY


def test_only_who_captures_may_read_the_packets_and_own_files_are_replaced(cable, shared):
    for _ in range(2):
        agent = cable.start(*FILTER, "-w", shared / "a.pcap.zst", "--rotate", "20kB")
        assert agent.is_ready(), agent.errors()
        assert (shared / "a.pcap.zst.part").stat().st_mode & 0o7777 == 0o600
        cable.burst(300)
        assert agent.stop() == 0, agent.errors()
        captures = list(shared.glob("*.pcap.zst"))
        assert len(captures) > 2
        assert {path.stat().st_mode & 0o7777 for path in captures} == {0o600}
    killed = cable.start(*FILTER, "-w", shared / "a.pcap.zst")
    assert killed.is_ready()
    killed.stop(signal.SIGKILL)
    after = cable.start(*FILTER, "-w", shared / "a.pcap.zst")
    assert after.is_ready(), after.errors()
    assert after.stop() == 0
    assert not list(shared.glob("*.part"))


def test_everything_is_on_the_disk_at_the_end(cable, shared, tmp_path):
    """The last file, its folder, and the manifest are synced in the order in which they refer."""
    if shutil.which("strace") is None:
        pytest.skip("no strace")
    log = tmp_path / "log"
    calls = ["strace", "-f", "-y", "-e", "trace=fsync,rename,syncfs", "-o", log]
    agent = cable.start(*FILTER, "-w", shared / "a.pcap", under=(*calls, cable.program))
    assert agent.is_ready()
    child = int(Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split()[0])
    os.kill(child, signal.SIGTERM)
    assert agent.wait() == 0
    traced = [line.split(" ", 1)[1].strip() for line in log.read_text().splitlines()]
    traced = [line for line in traced if line.startswith(("fsync", "rename"))]
    file, manifest = shared / "a.pcap", shared / "a.capture.json"
    assert [line.split(" = ")[0].rstrip() for line in traced[-6:]] == [
        traced[-6].split(" = ")[0].rstrip(),
        f'rename("{file}.part", "{file}")',
        traced[-4].split(" = ")[0].rstrip(),
        traced[-3].split(" = ")[0].rstrip(),
        f'rename("{manifest}.part", "{manifest}")',
        traced[-1].split(" = ")[0].rstrip(),
    ]
    for place, path in ((-6, f"{file}.part"), (-4, shared), (-3, f"{manifest}.part"), (-1, shared)):
        assert traced[place].startswith("fsync(")
        assert f"<{path}>" in traced[place]


def test_under_sudo_the_files_are_of_who_called_it(cable, shared):
    """With the environment that `sudo` leaves, and a folder that the calling user may write to."""
    sudo = ("env", f"SUDO_UID={NOBODY}", f"SUDO_GID={NOBODY}", "SUDO_USER=nobody", cable.program)
    agent = cable.start(*FILTER, "-w", shared / "a.pcap", "--rotate", "10kB", under=sudo)
    assert agent.is_ready(), agent.errors()
    status = dict(
        line.split(":\t", 1) for line in Path(f"/proc/{agent.pid}/status").read_text().splitlines()
    )
    assert status["Uid"].split() == [str(NOBODY)] * 4
    assert status["Gid"].split() == [str(NOBODY)] * 4
    assert "0" not in status["Groups"].split()
    assert int(status["CapPrm"], 16) == int(status["CapEff"], 16) == 0
    cable.burst(300)
    assert agent.stop() == 0, agent.errors()
    owners = {(path.stat().st_uid, path.stat().st_gid) for path in shared.iterdir()}
    assert owners == {(NOBODY, NOBODY)}
    assert len(list(shared.glob("*.pcap"))) > 2
    assert json.loads((shared / "a.capture.json").read_text())["status"] == "complete"


def test_under_sudo_root_s_own_folder_is_written_to_by_root(cable, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root: to be several users")
    tmp_path.chmod(0o755)
    sudo = ("env", f"SUDO_UID={NOBODY}", f"SUDO_GID={NOBODY}", cable.program)
    agent = cable.start(*FILTER, "-w", tmp_path / "a.pcap", under=sudo)
    assert agent.is_ready(), agent.errors()
    cable.burst(10)
    assert agent.stop() == 0, agent.errors()
    assert {path.stat().st_uid for path in tmp_path.iterdir()} == {0}


def test_the_signal_of_a_parent_s_death_outlasts_the_change_of_user(cable, shared):
    """The keeper of a machine behind ssh ends its agent this way, even if the keeper is killed."""
    if shutil.which("setpriv") is None:
        pytest.skip("no setpriv")
    sudo = ("env", f"SUDO_UID={NOBODY}", f"SUDO_GID={NOBODY}", "sh", "-c")
    script = 'setpriv --pdeathsig TERM "$0" "$@" & echo $! >&2; wait'
    parent = cable.start(*FILTER, "-w", shared / "a.pcap", under=(*sudo, script, cable.program))
    assert parent.is_ready()
    os.kill(parent.pid, signal.SIGKILL)
    parent.process.communicate(timeout=60)  # until the agent has closed its end, too
    manifest = json.loads((shared / "a.capture.json").read_text())
    assert manifest["stop_reason"] == "SIGTERM"
