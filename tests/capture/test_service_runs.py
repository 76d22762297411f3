"""The capture service under a real systemd, in its own root and namespaces."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

HERE = Path(__file__).parent
UNIT = HERE.parents[1] / "capture" / "agent" / "flowsweep-capture@.service"
WATCH = UNIT.with_name("flowsweep-watch@.service")
SERVICE = "flowsweep-capture@lo"
SPACES = ["--pid", "--mount", "--uts", "--ipc", "--net", "--cgroup"]
BURST = """
import socket
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(1000):
    link.sendto(bytes(100), ("127.0.0.1", 9))
"""


class Box:
    """A systemd that runs the service; `first` is its process."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.log = folder / "box.log"
        root = folder / "box"
        root.mkdir()
        words = ["unshare", *SPACES, "--fork", "--kill-child", HERE / "service_box.sh"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*map(str, [*words, root, program, UNIT])], stdout=log, stderr=log
            )

    @property
    def first(self) -> str:
        """The process ID of its systemd on this machine."""
        pid = self.process.pid
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().strip()

    @property
    def root(self) -> Path:
        """The path to the box's root folder on this machine."""
        return Path(f"/proc/{self.first}/root")

    @property
    def captures(self) -> Path:
        """The folder of the service."""
        return self.root / "var/lib/private/flowsweep/lo"

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs a command in the box."""
        enter = ["nsenter", "--target", self.first, "--all", "--root", "--wd=/"]
        return subprocess.run(
            [*enter, *words], capture_output=True, text=True, check=False, timeout=60
        )

    def is_active(self) -> bool:
        """Returns whether the service captures."""
        assert self.process.poll() is None, self.log.read_text()
        return self.run("systemctl", "is-active", SERVICE).stdout == "active\n"

    def manifest(self) -> dict[str, object]:
        return json.loads((self.captures / "lo.capture.json").read_text())

    def agent(self) -> str:
        """Returns the agent's process ID in the box."""
        show = self.run("systemctl", "show", "--property=MainPID", "--value", SERVICE)
        return show.stdout.strip()

    def burst(self, until: Callable[..., None]) -> None:
        """Sends a thousand datagrams and waits until the manifest counts them."""
        before = self.manifest()["packets_written"]
        assert isinstance(before, int)
        enter = ["nsenter", "--target", self.first, "--net"]
        subprocess.run([*enter, sys.executable, "-c", BURST], check=True, timeout=60)
        until(lambda: self.manifest()["packets_written"] >= before + 1_000, "a burst in the files")


@pytest.fixture
def box(tmp_path: Path, capture_program: Path, until: Callable[..., None]) -> Iterator[Box]:
    if os.geteuid() != 0:
        pytest.skip("a systemd of its own needs root here")
    for name in ("systemctl", "nsenter"):
        if shutil.which(name) is None:
            pytest.skip(f"no {name}")
    tried = ["unshare", *SPACES, "--fork", "mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup"]
    done = subprocess.run(tried, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no control groups for a systemd: {done.stderr.strip()}")
    found = Box(tmp_path, capture_program)
    try:
        until(lambda: found.first != "" and found.is_active(), "the service")
        yield found
    finally:
        found.process.kill()
        found.process.wait()


def test_it_captures_confined_and_comes_back(
    box: Box, until: Callable[..., None], tmp_path: Path, command
) -> None:
    until((box.captures / "lo.capture.json").exists, "the manifest")
    box.burst(until)
    agent = box.agent()
    status = box.run("cat", f"/proc/{agent}/status").stdout.split("\n")
    about = dict(line.split(":\t", 1) for line in status if ":\t" in line)
    assert about["Name"].strip() == "flowsweep-captu"
    assert about["CapEff"] == about["CapPrm"] == "0" * 16
    assert (about["NoNewPrivs"], about["Seccomp"]) == ("1", "2")
    user = int(about["Uid"].split()[0])
    files = [path for path in box.captures.iterdir() if path.is_file()]
    assert user != 0
    assert {(path.stat().st_uid, path.stat().st_mode & 0o777) for path in files} == {(user, 0o600)}

    # After a kill it is started again, and the files of the killed agent are kept.
    box.run("systemctl", "kill", "--signal=KILL", SERVICE)
    until(lambda: box.is_active() and box.agent() not in ("0", agent), "a new start")
    until((box.captures / "before/lo.pcap.zst.part").exists, "the file of the killed one")
    until((box.captures / "lo.capture.json").exists, "the manifest")
    box.burst(until)
    assert box.run("systemctl", "stop", SERVICE).returncode == 0
    manifest = box.manifest()
    assert (manifest["status"], manifest["stop_reason"]) == ("complete", signal.SIGTERM.name)
    # Each datagram, and the kernel's reply to it; the kernel counts both ends of `lo`.
    assert 1_000 <= manifest["packets_written"] <= manifest["received"]

    # The report of these captures, with short periods instead of hours.
    options = ("--once", "--period", "1s", "--quiet", "100ms")
    done = command("flowsweep", "watch", box.captures, *options, cwd=tmp_path)
    assert "its agent ended before the file did" in done.stderr, done.stderr
    rows = pl.read_parquet(tmp_path / "results/lo/tables/*/*/captures.parquet")
    packets = dict(rows.group_by("file").agg(pl.col("packets").sum()).iter_rows())
    assert packets["lo.pcap.zst"] == manifest["packets_written"]
    before = json.loads((box.captures / "before/lo.capture.json").read_text())
    assert packets["lo.pcap.zst.part"] >= before["packets_written"] >= 1_000


def test_a_unit_beside_it_keeps_the_report(box: Box, until: Callable[..., None]) -> None:
    until((box.captures / "lo.capture.json").exists, "the manifest")
    box.burst(until)
    own = f"{sys.executable} -m flowsweep"
    # The Python of these tests may lie in a home folder. An hour is too long for a test.
    text = WATCH.read_text().replace("/usr/local/bin/flowsweep", own)
    text = text.replace("ProtectHome=yes", "ProtectHome=read-only")
    # With PrivateTmp a unit cannot see a checkout below the temporary folder.
    if Path(sys.executable).is_relative_to(tempfile.gettempdir()):
        text = text.replace("PrivateTmp=yes", "PrivateTmp=no")
    text = text.replace("INTERVAL=1min PERIOD=1h QUIET=1min", "INTERVAL=1s PERIOD=1s QUIET=100ms")
    (box.root / "etc/systemd/system" / WATCH.name).write_text(text)
    box.run("systemctl", "daemon-reload")
    # The watcher skips a file that is being written: the first file is whole once its agent ended.
    box.run("systemctl", "stop", SERVICE)
    written = box.manifest()["packets_written"]
    done = box.run("systemctl", "start", "flowsweep-watch@lo")
    assert done.returncode == 0, done.stderr
    results = box.root / "var/lib/flowsweep-report/lo"

    def log() -> str:
        return box.run("journalctl", "-u", "flowsweep-watch@lo", "--no-pager").stdout

    until((results / "report.html").exists, "the report")
    rows = pl.read_parquet(results / "tables/*/*/captures.parquet")
    assert rows["packets"].sum() == written, log()
    pid = box.run("systemctl", "show", "--property=MainPID", "--value", "flowsweep-watch@lo")
    status = box.run("cat", f"/proc/{pid.stdout.strip()}/status").stdout.split("\n")
    about = dict(line.split(":\t", 1) for line in status if ":\t" in line)
    # It may read files of others, and has no other right of root.
    assert about["CapEff"] == f"{1 << 2:016x}"
    assert (about["NoNewPrivs"], about["Seccomp"]) == ("1", "2")
    assert box.run("systemctl", "stop", "flowsweep-watch@lo").returncode == 0
    state = box.run("systemctl", "show", "--property=Result", "--value", "flowsweep-watch@lo")
    assert state.stdout == "success\n", log()
