"""A day of rotation within seconds: the agent under test, with a clock that jumps (day.c)."""

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

import polars as pl
import pytest

START_S = 1_774_742_400  # 2026-03-29
DAY_S = 86_400
PERIOD_S = 60
BOUND = 60_000
SILENT_S = range(10_800, 14_400)
BUSY_S = range(43_200, 43_500)
SECOND = 10**9


def day_of_packets(file: Path) -> list[int]:
    """Writes 40,000 numbered UDP packets and as many of TCP; an hour is silent, some minutes busy.

    Returns the timestamps of the UDP packets, in nanoseconds after the start.
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


def record(program, clock, interface, capture, ring, samples, removed) -> None:
    """Captures the whole day."""
    environment = {
        **os.environ,
        "LD_PRELOAD": str(clock),
        "DAY_START": str(START_S),
        "DAY_REMOVED": str(removed),
        "DAY_LOG": str(samples),
    }
    done = subprocess.run(
        [program, "-i", interface, "-w", capture, "--filter", "udp", *ring],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def clock(tmp_path_factory) -> Path:
    """The preloaded library."""
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
    """A folder in memory: each second of the day replaces the manifest, which ext4 flushes."""
    memory = Path("/dev/shm")
    where = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="flowsweep-day-", dir=where) as folder:
        yield Path(folder)


def test_a_day_in_a_ring_of_files(capture_program, clock, pcap, disk, tmp_path):
    """Each packet is in one file, that of its minute; disk, memory and descriptors stay bounded."""
    interface, folder, removed = (disk / name for name in ("day.pcap", "ring", "removed"))
    stamps = day_of_packets(interface)
    folder.mkdir()
    removed.mkdir()
    ring = ["--rotate-time", f"{PERIOD_S}s", "--rotate", "20kB"]
    ring += ["--max-disk", str(BOUND), "--when-full", "remove-oldest"]
    # A copy, because the loader ignores LD_PRELOAD for a program with capabilities (setcap).
    program = Path(shutil.copyfile(capture_program, tmp_path / "agent"))
    program.chmod(0o755)
    record(program, clock, interface, folder / "a.pcap.zst", ring, tmp_path / "samples", removed)
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
        # A file that was begun just before the day ended is empty.
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
    # One for each minute that was not silent, and more in the busy ones.
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


def by_hour(made: Path, pcap) -> tuple[dict[int, list[Path]], dict[tuple[int, str], int]]:
    """Returns files by the hour of their first packet, and packet counts by hour and host."""
    hours: dict[int, list[Path]] = {}
    written: dict[tuple[int, str], int] = {}
    for path in sorted(made.rglob("*.pcap.zst")):
        packets = pcap.read(path).packets
        if packets:
            hour = (packets[0][0] // SECOND - START_S) // 3_600
            hours.setdefault(hour, []).append(path)
            key = hour, path.parent.name
            written[key] = written.get(key, 0) + len(packets)
    return hours, written


def test_a_day_is_watched(capture_program, clock, pcap, disk, tmp_path, command):
    """Two hosts, an hour per file: new files are parsed once, and no packet is missing."""
    interface, folder, made = (disk / name for name in ("day.pcap", "service", "made"))
    stamps = day_of_packets(interface)
    program = Path(shutil.copyfile(capture_program, tmp_path / "agent"))
    program.chmod(0o755)
    hosts = {"pc1": ["--rotate-time", "1h"], "pc2": ["--rotate-time", "1h", "--rotate", "20kB"]}
    for host, ring in hosts.items():
        for path in (made / host, folder / host):
            path.mkdir(parents=True)
        capture = made / host / "eth0.pcap.zst"
        record(program, clock, interface, capture, ring, tmp_path / "samples", disk)
    hours, written = by_hour(made, pcap)
    assert sum(written.values()) == 2 * len(stamps)
    assert len(hours) == 23  # and a silent hour

    def look(*options: str) -> list[str]:
        done = command("flowsweep", "watch", folder, "--once", *options, cwd=disk)
        assert done.returncode == 0, done.stderr
        return [line.split(":")[0] for line in done.stderr.splitlines() if " hosts, " in line]

    parsed: list[str] = []
    for host in hosts:
        shutil.copy(made / host / "eth0.capture.json", folder / host)
    for hour in sorted(hours):
        for path in hours[hour]:
            shutil.copy2(path, folder / path.relative_to(made))
        if hour in (7, 15):
            parsed += look("--no-report")
        if hour == 15:  # the ring removes older files
            for path in hours[0]:
                (folder / path.relative_to(made)).unlink()
    parsed += look()
    runs = [f"2026-03-29-{hour:02}h00m00s" for hour in sorted(hours)]
    assert parsed == runs
    assert look() == []
    rows = pl.read_parquet(
        disk / "results/service/tables/*/*/captures.parquet", hive_partitioning=True
    )
    found = {
        (int(run[11:13]), host): packets
        for run, host, packets in rows.group_by("run", "host").agg(pl.sum("packets")).iter_rows()
    }
    assert found == written
    assert rows["dropped_kernel"].to_list() == [0] * len(rows)
    done = command("flowsweep", "query", "totals", disk / "results/service", "--format", "json")
    assert json.loads(done.stdout)
    page = (disk / "results/service/report.html").read_text()
    assert "23 runs" in page
    assert "This report contradicts" not in page
