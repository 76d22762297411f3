"""Rotation, bounded and full disks, and a sudden death: captured packets stay readable."""

from __future__ import annotations

import contextlib
import json
import signal
import time
from pathlib import Path

import pytest

FILTER = ["-i", "far", "--filter", "udp port 9"]
NAMES = pytest.mark.parametrize("name", ["a.pcap", "a.pcap.zst"])


def load(folder: Path, name: str = "a.pcap"):
    return json.loads((folder / f"{name.split('.', maxsplit=1)[0]}.capture.json").read_text())


def numbers(pcap, folder: Path, manifest) -> list[int]:
    """Returns the numbers of all datagrams; checks each listed file against its entry."""
    found = []
    for entry in manifest["files"]:
        packets = pcap.read(folder / entry["file"]).packets
        assert entry["packets"] == len(packets)
        assert entry["bytes"] == (folder / entry["file"]).stat().st_size
        found += [int.from_bytes(body[42:46]) for _, _, body in packets]
    assert manifest["packets_written"] == len(found)
    return found


@pytest.fixture(scope="module")
def rotated(cable, tmp_path_factory):
    """Two captures of the same seconds."""
    folder = tmp_path_factory.mktemp("rotated")
    rotate = ["--rotate-time", "500ms"]
    names = ("a.pcap", "b.pcap.zst")
    agents = [cable.start(*FILTER, "-w", folder / name, *rotate) for name in names]
    assert all(agent.is_ready() for agent in agents)
    cable.stream(1.8).wait(timeout=120)
    for agent in agents:
        assert agent.stop() == 0, agent.errors()
    return folder


@pytest.mark.parametrize("name", ["a.pcap", "b.pcap.zst"])
def test_rotation_by_time_puts_every_packet_into_its_period(rotated, pcap, name):
    manifest = load(rotated, name)
    found = numbers(pcap, rotated, manifest)
    assert found == list(range(len(found)))
    assert manifest["rotate_time_s"] == 0.5
    whole, fraction = manifest["start"].rstrip("Z").split(".")
    seconds = time.strptime(whole, "%Y-%m-%dT%H:%M:%S")
    start = int(time.mktime(seconds) - time.timezone) * 10**9 + int(fraction)
    periods = [
        {(stamp - start) // 500_000_000 for stamp, _, _ in pcap.read(rotated / e["file"]).packets}
        for e in manifest["files"]
    ]
    # A file may stay empty at the end, or while the sender does not get the CPU.
    periods = [period for period in periods if period]
    assert all(len(period) == 1 for period in periods)
    numbers_of_periods = [min(period) for period in periods]
    assert numbers_of_periods == sorted(set(numbers_of_periods))
    # 1.8 s touch at least four periods.
    assert numbers_of_periods[-1] - numbers_of_periods[0] >= 3


def on_disk(folder: Path) -> int:
    """Returns the bytes of captures, some of which may be renamed or removed meanwhile."""
    while True:
        with contextlib.suppress(FileNotFoundError):
            return sum(file.stat().st_size for file in folder.iterdir() if ".pcap" in file.name)


@NAMES
def test_ring_of_files_keeps_the_newest_within_its_bound(cable, pcap, tmp_path, name):
    ring = ["--rotate", "300kB", "--max-disk", "1MB", "--when-full", "remove-oldest"]
    agent = cable.start(*FILTER, "-w", tmp_path / name, *ring)
    assert agent.is_ready()
    for _ in range(3):
        cable.burst(6_000)
        assert on_disk(tmp_path) <= 1_000_000
    assert agent.stop() == 0, agent.errors()
    manifest = load(tmp_path)
    found = numbers(pcap, tmp_path, manifest)
    assert {entry["file"] for entry in manifest["files"]} | {"a.capture.json"} == {
        file.name for file in tmp_path.iterdir()
    }
    newest = list(range(6_000)) * 3
    assert found == newest[-len(found) :]
    assert manifest["status"] == "complete"
    assert manifest["removed_packets"] + len(found) == manifest["received"] == 18_000
    if name == "a.pcap":
        assert manifest["removed_files"] > 10


@NAMES
def test_stop_at_the_bound_keeps_the_oldest(cable, pcap, tmp_path, name):
    bound = ["--max-disk", "40kB", "--when-full", "stop"]
    agent = cable.start(*FILTER, "-w", tmp_path / name, *bound)
    assert agent.is_ready()
    cable.burst(20_000)
    assert agent.wait() == 1
    assert "--max-disk" in agent.errors()
    manifest = load(tmp_path)
    found = numbers(pcap, tmp_path, manifest)
    assert found == list(range(len(found)))
    assert len(found) > 100
    assert 35_000 < (tmp_path / name).stat().st_size <= 40_000
    assert manifest["stop_reason"].startswith("disk bound")
    assert manifest["status"] == "incomplete"
    missing = manifest["received"] - manifest["dropped_kernel"] - len(found)
    assert manifest["lost_writing"] == missing


@NAMES
def test_full_disk_leaves_whole_files_and_a_manifest_that_says_so(cable, pcap, tmp_path, name):
    disk = cable.small_disk(1_000 if name == "a.pcap" else 200)
    agent = cable.start(*FILTER, "-w", f"{disk}/{name}")
    assert agent.is_ready()
    cable.burst(20_000)
    assert agent.wait() == 1
    assert "could not be written" in agent.errors()
    cable.take(disk, tmp_path)
    manifest = load(tmp_path)
    found = numbers(pcap, tmp_path, manifest)
    assert found == list(range(len(found)))
    assert "No space left" in manifest["stop_reason"]
    assert manifest["status"] == "incomplete"
    assert manifest["lost_writing"] > 0
    if name == "a.pcap":
        assert (tmp_path / name).stat().st_size > 500_000


def test_kill_under_load_loses_at_most_a_second(cable, pcap, tmp_path, measurement):
    names = ("a.pcap", "b.pcap.zst")

    def lost_ns():
        agents = [cable.start(*FILTER, "-w", tmp_path / name) for name in names]
        assert all(agent.is_ready() for agent in agents)
        sender = cable.stream(2)
        time.sleep(1.6)
        killed = time.time_ns()
        for agent in agents:
            agent.stop(signal.SIGKILL)
        sender.wait(timeout=120)
        lost = []
        for name in names:
            packets = pcap.read(tmp_path / f"{name}.part").packets
            numbers = [int.from_bytes(body[42:46]) for _, _, body in packets]
            assert numbers == list(range(len(packets)))
            manifest = load(tmp_path, name)
            ended = (manifest["status"], manifest["end"], manifest["stop_reason"])
            assert ended == ("running", None, None)
            assert [entry["file"] for entry in manifest["files"]] == [f"{name}.part"]
            assert 0 < manifest["packets_written"] <= len(packets)
            lost.append(killed - packets[-1][0])
        return max(lost)

    def check(lost):
        assert lost <= 1_000_000_000

    measurement(lost_ns).holds(check)


def test_a_day_of_rotations_leaves_nothing_open(cable, tmp_path, until):
    """1440 files, as in 24 hours with one a minute, filled by a burst."""
    ring = ["--rotate", "10kB", "--max-disk", "100kB", "--when-full", "remove-oldest"]
    agent = cable.start(*FILTER, "-w", tmp_path / "a.pcap", *ring)
    assert agent.is_ready()
    process = Path(f"/proc/{agent.pid}")

    def used() -> tuple[int, int]:
        status = (process / "status").read_text()
        resident = status.split("VmRSS:")[1].split()[0]
        return len(list((process / "fd").iterdir())), int(resident)

    cable.burst(2_000)
    descriptors, resident = used()
    cable.burst(20_000)
    # One more may be open while the manifest is replaced; a leak would be hundreds, and would last.
    until(lambda: used()[0] <= descriptors + 2, f"{descriptors} files open")
    until(lambda: used()[1] < resident + 2_000, f"{resident} kB resident")
    assert agent.stop() == 0, agent.errors()
    manifest = load(tmp_path)
    assert manifest["removed_files"] > 1_440
    assert manifest["removed_packets"] + manifest["packets_written"] == 22_000
