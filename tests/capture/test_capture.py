"""The capture agent on a virtual cable: no packet is missing, and errors name a remedy."""

from __future__ import annotations

import datetime as dt
import json
import signal
import struct
import subprocess
import time

import pytest

NANOSECONDS = 0xA1B23C4D
RING = ["--when-full", "remove-oldest", "--max-disk"]


def load(file):
    return json.loads(file.read_text())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("name", ["pc1.pcap", "pc1.pcap.zst"])
def test_signal_right_after_a_burst_loses_no_packet(cable, pcap, tmp_path, name, number):
    for _ in range(3):
        agent = cable.start("-i", "far", "-w", tmp_path / name, "--filter", "udp port 9")
        assert agent.is_ready()
        before = time.time_ns()
        cable.burst(10_000)
        assert agent.stop(number) == 0, agent.errors()
        after = time.time_ns()
        file = pcap.read(tmp_path / name)
        assert (file.magic, file.link_type) == (NANOSECONDS, 1)
        numbers = [int.from_bytes(body[42:46]) for _, _, body in file.packets]
        assert numbers == list(range(10_000))
        assert all(
            length == len(body) == 46 + n % 1_400
            for n, (_, length, body) in enumerate(file.packets)
            if n % 1_400 >= 14
        )
        assert all(before <= stamp <= after for stamp, _, _ in file.packets)
        manifest = load(tmp_path / "pc1.capture.json")
        assert manifest["packets_written"] == manifest["received"] == 10_000
        assert manifest["stop_reason"] == number.name
        assert {entry.name for entry in tmp_path.iterdir()} == {name, "pc1.capture.json"}


def test_manifest_says_what_was_captured_and_how(cable, tmp_path):
    arguments = ["-w", tmp_path / "a.pcap", "--manifest", tmp_path / "m.json", "--buffer", "8MiB"]
    before = dt.datetime.now(dt.UTC)
    agent = cable.start("-i", "far", "--snaplen", 96, *arguments)
    assert agent.is_ready()
    assert agent.stop() == 0
    manifest = load(tmp_path / "m.json")
    start, end = (
        dt.datetime.fromisoformat(manifest.pop(key)[:26] + "+00:00") for key in ("start", "end")
    )
    assert before <= start < end <= dt.datetime.now(dt.UTC)
    assert "libpcap" in manifest.pop("libpcap")
    assert manifest.pop("version")
    assert manifest.pop("clock")["source"] == "CLOCK_REALTIME"
    assert manifest.pop("updated")
    assert manifest == {
        "status": "complete",
        "interface": "far",
        "link_type": 1,
        "link_type_name": "EN10MB",
        "snaplen": 96,
        "filter": None,
        "ts_resolution_ns": 1,
        "files": [{"file": "a.pcap", "packets": 0, "bytes": 24}],
        "packets_written": 0,
        "received": 0,
        "dropped_kernel": 0,
        "dropped_interface": 0,
        "lost_writing": 0,
        "stop_reason": "SIGTERM",
        "buffer_bytes": 8 << 20,
        "removed_files": 0,
        "removed_packets": 0,
        "rotate_bytes": None,
        "rotate_time_s": None,
        "max_disk_bytes": None,
        "when_full": None,
        "capabilities": [],
    }


def test_filter_and_snap_length_hold(cable, pcap, tmp_path):
    agent = cable.start(
        "-i", "far", "-w", tmp_path / "a.pcap", "--snaplen", 60, "--filter", "udp dst port 7"
    )
    assert agent.is_ready()
    cable.burst(500, port=9)
    cable.burst(500, port=7)
    assert agent.stop() == 0
    file = pcap.read(tmp_path / "a.pcap")
    assert file.snaplen == 60
    assert len(file.packets) == 500
    assert {struct.unpack_from("!H", body, 36)[0] for _, _, body in file.packets} == {7}
    assert max(len(body) for _, _, body in file.packets) == 60
    assert [length for _, length, _ in file.packets] == [46 + n for n in range(500)]
    assert load(tmp_path / "a.capture.json")["received"] == 500


@pytest.mark.parametrize("suffix", ["pcap", "pcap.zst"])
def test_every_rotated_file_is_whole_on_its_own(cable, pcap, tmp_path, suffix):
    agent = cable.start(
        "-i", "far", "-w", tmp_path / f"a.{suffix}", "--rotate", "500kB", "--filter", "udp port 9"
    )
    assert agent.is_ready()
    cable.burst(2_000)
    assert agent.stop() == 0
    manifest = load(tmp_path / "a.capture.json")
    names = [entry["file"] for entry in manifest["files"]]
    assert names[:2] == [f"a.{suffix}", f"a-00001.{suffix}"]
    assert len(names) == 3
    numbers = []
    for entry in manifest["files"]:
        file = pcap.read(tmp_path / entry["file"])
        assert entry["packets"] == len(file.packets)
        assert entry["bytes"] == (tmp_path / entry["file"]).stat().st_size
        assert 24 + sum(16 + len(body) for _, _, body in file.packets) <= 500_000
        numbers += [int.from_bytes(body[42:46]) for _, _, body in file.packets]
    assert numbers == list(range(2_000))


@pytest.mark.parametrize("name", ["a.pcap", "a.pcap.zst"])
def test_killed_capture_stays_readable_up_to_its_last_second(cable, pcap, tmp_path, name, until):
    """All packets reach the file during the capture; test_limits.py covers how soon."""
    part = tmp_path / f"{name}.part"

    def readable():
        try:
            return len(pcap.read(part).packets)
        except (OSError, struct.error):
            return 0  # in the middle of a write

    agent = cable.start("-i", "far", "-w", tmp_path / name, "--filter", "udp port 9")
    assert agent.is_ready()
    cable.burst(1_000)
    until(lambda: readable() == 1_000, f"1000 packets in {part}")
    agent.stop(signal.SIGKILL)
    assert {entry.name for entry in tmp_path.iterdir()} == {part.name, "a.capture.json"}
    assert readable() == 1_000


def test_removed_interface_ends_the_capture_with_whole_files(cable, pcap, tmp_path):
    agent = cable.start("-i", "far", "-w", tmp_path / "a.pcap.zst", "--filter", "udp port 9")
    assert agent.is_ready()
    cable.burst(1_000)
    cable.run("ip link del near")
    try:
        assert agent.wait() == 1
    finally:
        cable.plug()
    assert "the capture ended early" in agent.errors()
    assert len(pcap.read(tmp_path / "a.pcap.zst").packets) == 1_000
    manifest = load(tmp_path / "a.capture.json")
    assert manifest["stop_reason"].startswith("interface")
    assert manifest["status"] == "incomplete"
    assert manifest["packets_written"] == 1_000


@pytest.mark.parametrize(
    ("arguments", "message", "remedy"),
    [
        (["-i", "nowhere", "-w", "{}/a.pcap"], "interface nowhere cannot be captured", "ip link"),
        (["-i", "far", "-w", "{}/a.pcap", "--filter", "tcp prot 80"], "filter", "pcap-filter"),
        (["-i", "far", "-w", "{}/missing/a.pcap"], "missing/a.pcap: cannot be written", "folder"),
        (["-i", "far", "-w", "{}/a.pcap", "--rotate", "12 parsecs"], "12 parsecs", "64MiB"),
        (["-i", "far", "-w", "{}/a.pcap", "--rotate-time", "soon"], "soon", "60s"),
        (["-i", "far", "-w", "{}/a.pcap", "--max-disk", "1GB"], "--when-full", "--help"),
        (
            ["-i", "far", "-w", "{}/a.pcap", *RING, "1GB"],
            "removes whole files",
            "add --rotate SIZE or --rotate-time TIME",
        ),
        (
            ["-i", "far", "-w", "{}/a.pcap", *RING, "1MB", "--rotate", "600kB"],
            "at least two files must fit",
            "lower --rotate to 500000",
        ),
        (["-i", "far", "-w", "{}/a.pcap", "--manifest", "{}/no/m"], "no/m: cannot", "folder"),
        (["-i", "far", "-w", "{}/a.pcap", "--clock-listen", "x"], "--clock-listen x", "ss -lun"),
        (["-i", "far", "-w", "{}/a.pcap", "--snaplen", "0"], "--snaplen", "1..=262144"),
        (["-i", "far", "-w", "{}/a.pcap", "--buffer", "3GiB"], "--buffer", "2GiB"),
        (["-i", "far"], "--write", "--help"),
    ],
)
def test_bad_arguments_end_with_a_remedy_and_leave_no_file(
    cable, tmp_path, arguments, message, remedy
):
    agent = cable.start(*(argument.format(tmp_path) for argument in arguments))
    assert agent.wait() == 2
    errors = agent.errors()
    assert message in errors
    assert remedy in errors
    assert list(tmp_path.iterdir()) == []


def test_missing_right_to_capture_is_explained(namespaces, capture_program, tmp_path):
    command = [capture_program, "-i", "lo", "-w", tmp_path / "a.pcap"]
    # A new user namespace has no rights over the network namespace that it was created in.
    result = subprocess.run(
        ["unshare", "--user", *command], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert "cap_net_raw" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_loopback_is_captured_once_and_stops_at_once(cable, pcap, tmp_path, measurement):
    cable.run("ip netns exec peer ip link set lo up")

    def seconds_to_stop():
        agent = cable.start("-i", "lo", "-w", tmp_path / "a.pcap", "--filter", "icmp")
        assert agent.is_ready()
        cable.run("ip netns exec peer ping -q -c 3 -i 0.01 127.0.0.1 > /dev/null")
        begin = time.monotonic()
        assert agent.stop() == 0
        seconds = time.monotonic() - begin
        assert len(pcap.read(tmp_path / "a.pcap").packets) == 6
        return seconds

    def check(seconds):
        assert seconds < 1

    measurement(seconds_to_stop).holds(check)
