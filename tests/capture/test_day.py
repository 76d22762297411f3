"""A day of rotation within seconds: the agent that was built, on a clock that jumps (day.c)."""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

START_S = 1_774_742_400  # 2026-03-29
DAY_S = 86_400
PERIOD_S = 60
BOUND = 60_000
SILENT_S = range(10_800, 14_400)
BUSY_S = range(43_200, 43_500)
SECOND = 10**9


def day_of_packets(file: Path) -> list[int]:
    """Some 40,000 numbered UDP packets, as many of TCP; an hour is silent, five minutes are busy.

    Returns the stamps of the UDP packets, in nanoseconds after the start.
    """
    chance = random.Random(2006)
    stamps, place = [], 2.0
    while place < DAY_S - 1:
        if int(place) not in SILENT_S:
            stamps.append(int(place * SECOND))
        place += chance.expovariate(20 if int(place) in BUSY_S else 0.4)
    header = bytes.fromhex("02000000000102000000000208004500")
    with file.open("wb") as out:
        out.write(struct.pack("=IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 96, 1))
        for number, stamp in enumerate(stamps):
            seconds, fraction = divmod(stamp, SECOND)
            for protocol in (17, 6):
                body = header + bytes(7) + bytes([protocol]) + bytes(18)
                body += number.to_bytes(4) + chance.randbytes(50)
                record = (START_S + seconds, fraction, len(body), 1_514)
                out.write(struct.pack("=IIII", *record) + body)
    return stamps


@pytest.fixture(scope="module")
def clock(tmp_path_factory) -> Path:
    """The library that is preloaded."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler `cc`")
    library = tmp_path_factory.mktemp("clock") / "day.so"
    source = Path(__file__).with_name("day.c")
    command = [compiler, "-O1", "-shared", "-fPIC"]
    subprocess.run([*command, "-o", library, source], check=True)
    return library


@pytest.fixture
def disk() -> Iterator[Path]:
    """A folder in memory: a manifest is replaced each second of the day, which ext4 flushes."""
    memory = Path("/dev/shm")
    where = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="flowsweep-day-", dir=where) as folder:
        yield Path(folder)


def test_a_day_in_a_ring_of_files(capture_program, clock, pcap, disk, tmp_path):
    """Every packet in one file, in its minute; bound, memory and descriptors held all the day."""
    interface, folder, removed = (disk / name for name in ("day.pcap", "ring", "removed"))
    stamps = day_of_packets(interface)
    folder.mkdir()
    removed.mkdir()
    # A copy: what is preloaded is ignored by a program with rights of its own (setcap).
    program = Path(shutil.copyfile(capture_program, tmp_path / "agent"))
    program.chmod(0o755)
    environment = {
        **os.environ,
        "LD_PRELOAD": str(clock),
        "DAY_START": str(START_S),
        "DAY_REMOVED": str(removed),
        "DAY_LOG": str(tmp_path / "samples"),
    }
    ring = ["--rotate-time", f"{PERIOD_S}s", "--rotate", "20kB"]
    ring += ["--max-disk", str(BOUND), "--when-full", "remove-oldest"]
    done = subprocess.run(
        [program, "-i", interface, "-w", folder / "a.pcap.zst", "--filter", "udp", *ring],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    manifest = json.loads((folder / "a.capture.json").read_text())

    left = {path.name: path for path in folder.glob("*.pcap*")}
    gone = {path.name: path for path in removed.glob("*.pcap*")}
    assert not left.keys() & gone.keys()
    assert [entry["file"] for entry in manifest["files"]] == sorted(left)
    names = ["a.pcap.zst", *(f"a-{n:05}.pcap.zst" for n in range(1, len(left) + len(gone)))]
    assert sorted(left.keys() | gone.keys()) == sorted(names)

    whole, fraction = manifest["start"].removesuffix("Z").split(".")
    start = int(datetime.fromisoformat(f"{whole}Z").timestamp()) * SECOND + int(fraction)
    numbers, written = [], {}
    for name in names:
        packets = pcap.read(left.get(name) or gone[name]).packets
        written[name] = len(packets)
        minutes = {(stamp - start) // (PERIOD_S * SECOND) for stamp, _, _ in packets}
        # One that was just begun when the day ended is empty.
        assert len(minutes) == 1 or (not minutes and name == names[-1]), name
        for stamp, length, body in packets:
            number = int.from_bytes(body[42:46])
            assert (stamp - START_S * SECOND, length) == (stamps[number], 1_514)
            numbers.append(number)
    assert numbers == list(range(len(stamps)))
    for entry in manifest["files"]:
        assert entry["packets"] == written[entry["file"]]
        assert entry["bytes"] == left[entry["file"]].stat().st_size
    assert manifest["status"] == "complete"
    assert manifest["stop_reason"] == "SIGTERM"
    assert manifest["received"] == len(stamps)
    assert manifest["removed_files"] == len(gone)
    assert manifest["removed_packets"] == sum(written[name] for name in gone)
    assert manifest["packets_written"] == sum(written[name] for name in left)
    assert manifest["start"].startswith("2026-03-29T00:00:0")
    assert manifest["end"].startswith("2026-03-30T00:00:0")
    # Each minute that was not silent, and more in the busy ones.
    assert len(names) > (DAY_S - len(SILENT_S)) / PERIOD_S

    samples = [
        tuple(map(int, line.split())) for line in (tmp_path / "samples").read_text().splitlines()
    ]
    seconds, descriptors, resident, taken = zip(*samples, strict=True)
    assert len(samples) > DAY_S // 60
    assert max(taken) <= BOUND
    assert max(taken) > 0.9 * BOUND
    first_hour = [place for place, second in enumerate(seconds) if second < START_S + 3_600]
    assert max(descriptors) == max(descriptors[place] for place in first_hour)
    later = statistics.median(resident[-len(first_hour) :])
    early = statistics.median(resident[: len(first_hour)])
    assert later <= early + 256 * 1024
