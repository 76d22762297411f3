"""`flowsweep run` as root in a folder where everyone may write."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest

from .conftest import FLOWSWEEP, LIMIT_S, descendants, wait_gone

NOBODY = 65534
SECRET = "root:*:19000:0:99999:7:::\n"
EXPERIMENT = """\
sites: {west: [pc1], east: [pc2]}
link: {rtt: 1ms, rate: 100Mbit/s}
workload: {command: 'true'}
limits: {other_programs: 100%, cpu_pressure: 100%, lateness: 1s}
"""


@pytest.fixture
def shared(tmp_path, namespaces):
    """A sticky folder like /tmp, next to a folder that only root may read."""
    if os.geteuid() != 0:
        pytest.skip("needs root: to be several users")
    (tmp_path / "small.yaml").write_text(EXPERIMENT)
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o700)
    for name in ("shadow", "pc1.pcap.zst", "app.json", "run.json"):
        (victim / name).write_text(SECRET)
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def state(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Returns inode, mode, owner and content of every file."""
    found = {}
    for inner, folders, names in os.walk(folder):
        for name in [*folders, *names]:
            path = Path(inner, name)
            about = path.lstat()
            # Kernels that protect symlinks refuse even root to follow another user's here.
            text = path.read_bytes() if stat.S_ISREG(about.st_mode) else b""
            key = str(path.relative_to(folder))
            found[key] = (about.st_ino, about.st_mode, about.st_uid, text)
    return found


KINDS = {
    "link to a folder": "ln -s ../victim",
    "link to a file": "ln -s ../victim/shadow",
    "dangling link": "ln -s ../nothing",
    "FIFO": "mkfifo",
    "folder with captures": "cp -r ../victim",
    "folder of another user": "mkdir",
}


@pytest.mark.parametrize(
    ("kind", "place"),
    # `test_run_folder` tests the other places without a command.
    [*((kind, "one") for kind in KINDS), ("link to a folder", ".one.flowsweep-run")],
)
def test_what_others_put_there_is_refused_and_kept(shared, flowsweep, kind, place):
    subprocess.run(["sh", "-ec", f"{KINDS[kind]} {place}"], cwd=shared, check=True)
    os.chown(shared / place, NOBODY, NOBODY, follow_symlinks=False)
    before = state(shared.parent)
    done = flowsweep("run", shared.parent / "small.yaml", "-o", shared / "one")
    assert done.returncode == 2, done.stderr
    assert f"error: {shared / place}: flowsweep run did not make this" in done.stderr
    for part in ("found", "expected", "remedy"):
        assert f"  {part} " in done.stderr
    assert state(shared.parent) == before


def test_a_folder_with_captures_is_kept_whosever_it_is(shared, flowsweep):
    own = shared / "one"
    own.mkdir()
    for name in ("a.pcap", "pc1.capture.json", "app.json", "program.log"):
        (own / name).write_text("all there is")
    before = state(own)
    done = flowsweep("run", shared.parent / "small.yaml", "-o", own)
    assert done.returncode == 2
    assert "a.pcap, app.json, pc1.capture.json and 1 more" in done.stderr
    assert f"rm -r {own}" in done.stderr
    assert state(own) == before


def test_a_run_of_one_s_own_is_made_again_and_keeps_what_lies_beside_it(shared, flowsweep):
    experiment, one = shared.parent / "small.yaml", shared / "one"
    for command in ("'true'", "'true; true'"):
        experiment.write_text(EXPERIMENT.replace("'true'", command))
        done = flowsweep("run", experiment, "-o", one)
        assert done.returncode == 0, done.stderr
        (one / "notes.txt").write_text("mine")
    assert (one / "notes.txt").read_text() == "mine"
    assert [path.name for path in shared.iterdir()] == ["one"]
    assert {path.stat().st_mode & 0o7777 for path in one.glob("*.pcap.zst")} == {0o600}
    record = json.loads((one / "run.json").read_text())
    record["status"] = "invalid"
    (one / "run.json").write_text(json.dumps(record))
    done = flowsweep("retry", shared.parent, "--failed")
    assert done.returncode == 2  # there is no folder `runs`
    shared.rename(shared.with_name("runs"))
    done = flowsweep("retry", shared.parent)
    assert done.stdout == "one\n"
    assert [path.name for path in (shared.with_name("runs") / "one").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("after_s", [0.0, 0.1, 0.3])
def test_a_signal_at_any_time_leaves_nothing(shared, number, after_s):
    """Before the program starts; `test_take_down` covers the time after."""
    words = ["run", shared.parent / "small.yaml", "-o", shared / "one"]
    process = subprocess.Popen(
        [*FLOWSWEEP, *map(str, words)], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    time.sleep(after_s)
    tree = descendants(process.pid)
    process.send_signal(number)
    _, output = process.communicate(timeout=LIMIT_S)
    # The handler is installed after a moment, and a short run may already be over.
    assert process.returncode in (-number, 128 + number, 0), output
    assert "Traceback" not in output
    assert wait_gone(tree) == {}
    assert [path.name for path in shared.iterdir()] == ([] if process.returncode else ["one"])
