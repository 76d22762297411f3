"""The emulator as root: it keeps no right, follows no link, and its control socket is cheap."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest
from laboratory import Laboratory, configuration

NOBODY = 65534
SECRET = "root:*:19000:0:99999:7:::\n"
CLIENTS = 16


def rights(pid: int) -> dict[str, list[int]]:
    """Returns the sets of capabilities of all its threads."""
    found: dict[str, list[int]] = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        for line in (task / "status").read_text().splitlines():
            name, _, value = line.partition(":\t")
            if name in ("CapInh", "CapPrm", "CapEff", "CapAmb", "NoNewPrivs"):
                found.setdefault(name, []).append(int(value, 16))
    return found


def test_no_thread_keeps_a_capability(laboratory, tmp_path):
    with laboratory.wan(options=("--fates", tmp_path / "fates"), delay_ns=1_000_000) as wan:
        found = rights(wan.pid)
        assert len(found["CapEff"]) == 2
        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            assert found[name] == [0, 0], name
        assert found["NoNewPrivs"] == [1, 1]
        assert wan.control.stat().st_mode & 0o7777 == 0o600
        # It still works: a link changes, the memory grows.
        wan.change(a="west", b="east", delay_ns=2_000_000)
        laboratory.run("west", "ping", "-c", "3", "-i", "0.05", "-W", "5", "10.77.2.1")
        stats = wan.stop()
        assert all(link["delivered"] >= 3 for link in stats["links"])
        assert stats["scheduling"] == ("fifo" if os.geteuid() == 0 else stats["scheduling"])


def start(laboratory: Laboratory, folder: Path, *options: object):
    config = laboratory.folder / "shared.json"
    config.write_text(json.dumps(configuration(2, delay_ns=1_000_000)))
    words = ["--config", config, "--control", folder / "wan.sock", "--stats", folder / "stats"]
    return laboratory.start("hub", laboratory.program, *words, *options)


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
            with socket.socket(socket.AF_UNIX) as one:
                one.bind(str(path))
        case "file of another user":
            path.write_text("all there is")
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


@pytest.mark.parametrize("place", ["wan.sock", "stats", "stats.part", "fates"])
@pytest.mark.parametrize(
    "kind", ["link", "dangling link", "FIFO", "folder", "socket", "file of another user"]
)
def test_what_others_put_there_is_refused_and_kept(laboratory, tmp_path_factory, kind, place):
    if os.geteuid() != 0:
        pytest.skip("needs root: to be several users")
    folder = tmp_path_factory.mktemp("s") / "s"  # a socket's path must be short
    folder.mkdir()
    folder.chmod(0o1777)
    victim = folder.parent / "shadow"
    victim.write_text(SECRET)
    victim.chmod(0o600)
    put(kind, folder / place)
    before = (folder / place).lstat()
    emulator = start(laboratory, folder, "--fates", folder / "fates")
    try:
        _, errors = emulator.communicate(timeout=20)
    finally:
        emulator.kill()
    assert emulator.returncode == 2, errors
    assert "error: " in errors
    assert str(folder / place.removesuffix(".part")) in errors
    assert "remedy" in errors
    after = (folder / place).lstat()
    assert os.path.samestat(after, before)
    assert after.st_size == before.st_size
    assert (victim.read_text(), victim.stat().st_mode & 0o7777) == (SECRET, 0o600)
    assert not (folder.parent / "nothing").exists()
    assert {path.name for path in folder.iterdir()} <= {place, "fates"}


def test_idle_clients_lock_nobody_out(laboratory):
    with laboratory.wan(delay_ns=1_000_000) as wan:
        idle = [socket.socket(socket.AF_UNIX) for _ in range(3 * CLIENTS)]
        for one in idle:
            one.connect(str(wan.control))
        assert wan.stats()["links"]
        # The connection that was silent for longest has made room.
        gone = []
        for one in idle:
            one.settimeout(0.2)
            try:
                gone.append(one.recv(1) == b"")
            except TimeoutError:
                gone.append(False)
            one.close()
        assert gone[0]
        assert not gone[-1]
        assert gone.count(False) < CLIENTS
        assert wan.stats()["links"]


def test_a_client_gets_an_answer_to_every_line_in_order(laboratory):
    with laboratory.wan(delay_ns=1_000_000) as wan, socket.socket(socket.AF_UNIX) as client:
        client.connect(str(wan.control))
        client.settimeout(30)
        client.sendall(b"".join(b"line %d\n" % number for number in range(300)))
        with client.makefile() as answers:
            found = [json.loads(answers.readline())["found"] for _ in range(300)]
        assert found == [f"line {number}" for number in range(300)]


# Sends commands as fast as it reads answers, and reconnects when it is disconnected.
FLOOD = """
import selectors, socket, sys, time
ready = selectors.DefaultSelector()

def begin():
    one = socket.socket(socket.AF_UNIX)
    one.connect(sys.argv[1])
    one.setblocking(False)
    one.send(b"stats\\n" * 30)
    ready.register(one, selectors.EVENT_READ)

for _ in range(16):
    begin()
print("ready", flush=True)
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    for key, _ in ready.select(0.1):
        try:
            lines = key.fileobj.recv(1 << 20).count(b"\\n")
            key.fileobj.send(b"stats\\n" * lines)
        except OSError:
            ready.unregister(key.fileobj)
            key.fileobj.close()
            begin()
"""


def test_a_flood_of_questions_does_not_delay_frames(laboratory, measurement):
    """The control socket rests 20 times as long as an answer takes: p99 of the lateness is low."""

    def late_ns():
        with laboratory.wan(delay_ns=2_000_000) as wan:
            flood = laboratory.start("hub", "python3", "-c", FLOOD, wan.control, "2")
            assert flood.stdout is not None
            assert flood.stdout.readline() == "ready\n"
            laboratory.run("west", "ping", "-q", "-c", "300", "-i", "0.005", "10.77.2.1")
            flood.wait(30)
            lateness = wan.stop()["lateness_ns"]
            assert lateness is not None
            return int(lateness["p99"])

    def check(late):
        assert late < 500_000

    measurement(late_ns).holds(check)
