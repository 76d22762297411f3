"""`flowsweep watch`: a new capture in a folder is parsed when it is complete, and only once."""

from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from flowsweep.cli import watch
from flowsweep.runs import arrivals

HOUR_S = 3_600
START_S = 1_774_742_400  # 2026-03-29
FIRST, SECOND, THIRD = "2026-03-29-00h00m00s", "2026-03-29-01h00m00s", "2026-03-29-02h00m00s"


def write(path: Path, *seconds: float, append: bool = False) -> None:
    """Writes a capture of UDP packets at these seconds after the start, modified an hour ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab" if append else "wb") as out:
        if not append:
            out.write(struct.pack("=IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 96, 1))
        for place in seconds:
            udp = struct.pack(">HHHH", 1000, 2000, 26, 0) + bytes(18)
            ip = struct.pack(">BBHHHBBH", 0x45, 0, 46, 0, 0, 64, 17, 0) + bytes(
                [10, 0, 0, 1, 10, 0, 0, 2]
            )
            body = bytes.fromhex("0200000000010200000000020800") + ip + udp
            whole, fraction = divmod(place, 1)
            stamp = (START_S + int(whole), int(fraction * 1e9))
            out.write(struct.pack("=IIII", *stamp, len(body), len(body)) + body)
    age(path)


def age(path: Path, seconds: float = HOUR_S) -> None:
    when = path.stat().st_mtime - seconds
    os.utime(path, (when, when))


def manifest(path: Path, *files: Path, **changed: object) -> None:
    """Writes the manifest of an agent that ran an hour ago, and has these files."""
    about = {
        "status": "running",
        "start": "2026-03-29T00:00:00Z",
        "files": [{"file": one.name, "bytes": one.stat().st_size} for one in files],
        "dropped_kernel": 0,
        "dropped_interface": 0,
    }
    path.write_text(json.dumps(about | changed))
    age(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "ring"


@pytest.fixture
def once_with_report(command, folder: Path):
    """Looks at the folder once and makes the report."""

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        return command("flowsweep", "watch", folder, "--once", *options, cwd=folder.parent)

    return run


@pytest.fixture
def once(once_with_report):
    """Looks at the folder once and makes tables only: a report takes ten times as long."""

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        return once_with_report("--no-report", *options)

    return run


def packets(folder: Path, table: str = "captures") -> dict[tuple[str, str], int]:
    """Returns packets by run and host in the tables."""
    frame = pl.scan_parquet(
        folder.parent / f"results/ring/tables/*/*/{table}.parquet", hive_partitioning=True
    )
    rows = frame.group_by("run", "host").agg(pl.col("packets").sum()).collect()
    return {(run, host): count for run, host, count in rows.iter_rows()}


def test_hours_of_two_hosts_are_runs_that_are_parsed_once(folder, once_with_report):
    write(folder / "pc1.pcap", 10, 20)
    write(folder / "pc1-00001.pcap", HOUR_S + 1)
    write(folder / "pc2/eth0.pcap", 30, 3_500)
    done = once_with_report()
    assert (done.returncode, done.stdout) == (0, "results/ring/report.html\n"), done.stderr
    # Wall-clock hours, not hours from a file's start.
    wanted = {(FIRST, "pc1"): 2, (FIRST, "pc2"): 2, (SECOND, "pc1"): 1}
    assert packets(folder) == packets(folder, "flows") == wanted
    again = once_with_report()
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    write(folder / "pc2/eth0-00001.pcap", HOUR_S + 2)
    late = once_with_report()
    assert f"{SECOND}: 2 hosts, 2 packets" in late.stderr
    assert f"{FIRST}: " not in late.stderr
    assert packets(folder) == wanted | {(SECOND, "pc2"): 1}
    runs = pl.read_parquet(folder.parent / "results/ring/tables/runs.parquet")
    assert runs["run"].to_list() == [FIRST, SECOND]


def test_what_is_being_written_waits_and_so_does_its_hour(folder, once):
    write(folder / "pc1.pcap", 10)
    write(folder / "pc1-00001.pcap.part", 20)
    write(folder / "pc2.pcap", HOUR_S + 1)
    part = folder / "pc1-00001.pcap.part"
    manifest(folder / "pc1.capture.json", folder / "pc1.pcap", part)
    age(folder / "pc1.capture.json", -HOUR_S)  # a running agent
    done = once()
    assert f"{part}: is being written, and waits" in done.stderr
    assert packets(folder) == {(SECOND, "pc2"): 1}
    whole = part.rename(folder / "pc1-00001.pcap")
    manifest(folder / "pc1.capture.json", folder / "pc1.pcap", whole)
    assert once().returncode == 0
    assert packets(folder) == {(FIRST, "pc1"): 2, (SECOND, "pc2"): 1}


def test_what_a_killed_agent_left_is_parsed_as_far_as_it_is(folder, once):
    part = folder / "pc1.pcap.part"
    write(part, 10, 20)
    part.write_bytes(part.read_bytes()[:-5])
    age(part)
    manifest(folder / "pc1.capture.json", part)
    done = once()
    assert done.returncode == 1
    assert f"{part}: its agent ended before the file did; parsed as far as it is" in done.stderr
    assert packets(folder) == {(FIRST, "pc1"): 1}
    assert once().stderr == ""


def test_a_file_of_another_program_is_parsed_again_when_it_grew(folder, once):
    trace = folder / "trace.pcap"
    write(trace, 10)
    age(trace, -HOUR_S)
    done = once()
    assert "is being written" in done.stderr
    assert done.stdout == ""
    age(trace)
    assert once().returncode == 0
    write(trace, 20, 30, append=True)
    assert once().returncode == 0
    assert packets(folder) == packets(folder, "flows") == {(FIRST, "trace"): 3}


def test_what_the_ring_removed_stays_in_the_tables(folder, once):
    write(folder / "pc1.pcap", 10)
    write(folder / "pc1-00001.pcap", HOUR_S)
    manifest(folder / "pc1.capture.json")
    once()
    (folder / "pc1.pcap").unlink()
    # The first file of the series is gone, and the host is still named after its manifest.
    write(folder / "pc1-00002.pcap", 2 * HOUR_S)
    write(folder / "pc2.pcap", 40)
    done = once()
    assert f"{folder / 'pc2.pcap'}: came when run {FIRST} was parsed" in done.stderr
    assert packets(folder) == {(name, "pc1"): 1 for name in (FIRST, SECOND, THIRD)}


def test_what_the_ring_removed_before_it_was_parsed_is_reported(folder, once):
    manifest_path = folder / "pc1.capture.json"
    for number in range(2):
        write(folder / f"pc1-{number:05}.pcap", number * HOUR_S + 10)
    manifest(manifest_path)
    once()
    # Both removed files had been parsed: nothing is lost.
    for number in range(2):
        (folder / f"pc1-{number:05}.pcap").unlink()
    write(folder / "pc1-00002.pcap", 2 * HOUR_S)
    manifest(manifest_path, removed_files=2)
    done = once()
    assert done.returncode == 0, done.stderr
    assert "removed before" not in done.stderr
    # Three more were removed, one of which had been parsed.
    (folder / "pc1-00002.pcap").unlink()
    write(folder / "pc1-00005.pcap", 5 * HOUR_S)
    manifest(manifest_path, removed_files=5)
    done = once()
    assert done.returncode == 1
    assert f"{folder}: captures of pc1 were removed before they were parsed" in done.stderr
    assert "2 of the 5 files that its ring removed are in no table" in done.stderr
    assert "remedy    more room for the ring (--max-disk" in done.stderr
    # A restarted agent counts from 0, and earlier losses stay.
    (folder / "before").mkdir()
    for path in (manifest_path, folder / "pc1-00005.pcap"):
        path.rename(folder / "before" / path.name)
    write(folder / "pc1-00001.pcap", 7 * HOUR_S)
    manifest(manifest_path, removed_files=1, start="2026-03-29T05:30:00Z")
    done = once()
    assert "2 of the 5 files" in done.stderr
    assert "1 of the 1 files" in done.stderr


def test_files_that_the_service_moved_at_its_restart_are_the_same(folder, once):
    write(folder / "eth0.pcap", 10)
    once()
    (folder / "before").mkdir()
    (folder / "eth0.pcap").rename(folder / "before/eth0.pcap")
    write(folder / "eth0.pcap", HOUR_S + 10)
    assert f"{FIRST}: " not in once().stderr
    assert packets(folder) == {(FIRST, "eth0"): 1, (SECOND, "eth0"): 1}
    # Two starts within an hour give files of the same name.
    (folder / "eth0.pcap").rename(folder / "before/eth0.pcap")
    write(folder / "eth0.pcap", HOUR_S + 20)
    manifest(folder / "before/eth0.capture.json", dropped_kernel=3)
    manifest(folder / "eth0.capture.json", dropped_kernel=4, start="2026-03-29T01:00:15Z")
    assert f"{SECOND}: 1 host, 2 packets" in once().stderr
    tables = folder.parent / "results/ring/tables"
    rows = pl.read_parquet(tables / f"run={SECOND}/host=eth0/captures.parquet")
    assert rows["file"].to_list() == ["before/eth0.pcap", "ring/eth0.pcap"]
    assert rows["dropped_kernel"].to_list() == [7, 0]


def test_drops_are_counted_once_with_the_hour_parsed_next(folder, once):
    manifest_path = folder / "pc1.capture.json"
    write(folder / "pc1.pcap", 10)
    manifest(manifest_path, dropped_kernel=3, dropped_interface=1)
    once()
    write(folder / "pc1-00001.pcap", HOUR_S)
    manifest(manifest_path, dropped_kernel=3, dropped_interface=1)
    once()
    write(folder / "pc1-00002.pcap", 2 * HOUR_S)
    manifest(manifest_path, dropped_kernel=10, dropped_interface=1)
    once()
    # An hour that is parsed again keeps its counters.
    write(folder / "pc1-00000.pcap", 20)
    once()
    # A restarted agent counts from 0.
    write(folder / "pc1-00003.pcap", 3 * HOUR_S)
    manifest(manifest_path, dropped_kernel=2, start="2026-03-29T03:00:00Z")
    once()
    rows = pl.scan_parquet(
        folder.parent / "results/ring/tables/*/*/captures.parquet", hive_partitioning=True
    )
    sums = rows.group_by("run").agg(pl.col("packets", "dropped_kernel", "dropped_interface").sum())
    assert sums.sort("run").collect().rows()[:4] == [
        (FIRST, 2, 3, 1),
        (SECOND, 1, 0, 0),
        (THIRD, 1, 7, 0),
        ("2026-03-29-03h00m00s", 1, 2, 0),
    ]


def test_a_file_that_is_no_capture_keeps_nothing_else_from_the_report(folder, once):
    write(folder / "pc1.pcap", 10)
    (folder / "pc2.pcap").write_text("this is no capture")
    (folder / "notes.txt").write_text("nor is this")
    write(folder / "pc3", 10)
    done = once()
    assert done.returncode == 2
    assert done.stderr.count(f"error: {folder / 'pc2.pcap'}") == 1
    assert done.stderr.count(f"note: {folder / 'pc3'}: passed over") == 1
    assert "notes.txt" not in done.stderr
    assert packets(folder) == {(FIRST, "pc1"): 1}


@pytest.mark.parametrize("is_removed", [False, True])
def test_a_file_that_goes_while_its_first_packet_is_read_is_no_fault(
    folder, monkeypatch, is_removed
):
    """The agent renames complete files, and its ring removes the oldest one."""
    part = folder / "pc1.pcap.part"
    write(part, 1.0)
    plain = arrivals._Packets.__arrow_c_stream__

    def stream(packets, schema=None):
        if part.exists():
            part.unlink() if is_removed else part.rename(folder / "pc1.pcap")
        return plain(packets, schema)

    monkeypatch.setattr(arrivals._Packets, "__arrow_c_stream__", stream)
    lines = []
    watched = arrivals.Folder(folder, 1.0, lines.append)
    assert watched.arrivals() == []
    expected = [] if is_removed else ["pc1.pcap"]
    assert [one.path.name for one in watched.arrivals()] == expected
    assert not lines


def test_results_of_something_else_are_kept(folder, once, tmp_path):
    write(folder / "pc1.pcap", 10)
    shutil.rmtree(tmp_path / "results", ignore_errors=True)
    (tmp_path / "results/ring/runs/mine").mkdir(parents=True)
    done = once()
    assert done.returncode == 2
    assert "the results here are of something else" in done.stderr
    assert once("--output", "results/other").returncode == 0
    other = once("--output", "results/other", "--period", "30min")
    assert other.returncode == 2
    assert "remedy    --period 3600s" in other.stderr


def test_it_goes_on_until_a_signal_and_after_it(folder, until):
    write(folder / "pc1.pcap", 10)
    words = [sys.executable, "-m", "flowsweep", "watch", folder, "--interval", "50ms"]
    for number in (1, 2):
        write(folder / f"pc1-{number:05}.pcap", number * HOUR_S)
        running = subprocess.Popen(
            [*map(str, words)], cwd=folder.parent, stderr=subprocess.PIPE, text=True
        )
        later = number * HOUR_S + HOUR_S * 10
        report = folder.parent / "results/ring/report.html"
        until(report.exists, "the first report")
        write(folder / f"pc1-{number + 10:05}.pcap", later)
        wanted = folder.parent / f"results/ring/runs/2026-03-29-{10 + number:02}h00m00s/run.json"
        until(wanted.exists, "the hour that arrived meanwhile")
        running.send_signal(signal.SIGTERM)
        _, errors = running.communicate(timeout=60)
        assert running.returncode == 0
        assert errors.count(f"{FIRST}: 1 host, 1 packet") == (number == 1)
    assert len(packets(folder)) == 5


def test_a_report_that_a_kill_kept_from_the_last_hour_is_made(folder, once_with_report):
    write(folder / "pc1.pcap", 10)
    once_with_report()
    age(folder.parent / "results/ring/report.html")
    done = once_with_report()
    assert (done.returncode, done.stdout) == (0, "results/ring/report.html\n"), done.stderr
    assert once_with_report().stdout == ""


def test_a_report_that_was_killed_is_an_error(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=-9))
    log = watch._Log()
    assert not watch._Watch(None, None, tmp_path, log)._conclude()
    assert log.status == 2
    assert "runs.parquet: was not made\n  found     flowsweep runs: killed by SIGKILL" in (
        capsys.readouterr().err
    )


def test_a_full_disk_is_reported_and_what_is_there_stays(namespaces, folder, tmp_path):
    write(folder / "pc1.pcap", *range(10, 3_000))
    (tmp_path / "results").mkdir()
    watching = f"{sys.executable} -m flowsweep watch ring --once"
    script = f"""
        cd "$1" && mount -t tmpfs -o size=40k tmpfs results
        {watching} 2>full; echo $? >>full
        mount -o remount,size=200m results
        {watching} 2>there; echo $? >>there
        find results -name '.*' -type d | grep flowsweep >left
        find results/ring/tables -name captures.parquet >tables
    """
    spaces = ["unshare", "--user", "--map-root-user", "--mount"]
    subprocess.run([*spaces, "sh", "-c", script, "sh", tmp_path], check=True, timeout=120)
    full, there, left, tables = (
        (tmp_path / name).read_text() for name in ("full", "there", "left", "tables")
    )
    assert "error: cannot write results/ring/tables/" in full
    assert "remedy    free some, or name another folder" in full
    assert full.endswith("2\n")
    assert f"{FIRST}: 1 host, 2,990 packets" in there
    assert there.endswith("0\n")
    assert left == ""
    assert tables == f"results/ring/tables/run={FIRST}/host=pc1/captures.parquet\n"


def test_one_watches_at_a_time(folder, once, until):
    write(folder / "pc1.pcap", 10)
    words = [sys.executable, "-m", "flowsweep", "watch", folder, "--no-report"]
    first = subprocess.Popen([*map(str, words)], cwd=folder.parent, stderr=subprocess.DEVNULL)
    try:
        until((folder.parent / "results/ring/tables/runs.parquet").exists, "the tables")
        done = once()
        assert done.returncode == 2
        assert "another sweep or report works here" in done.stderr
    finally:
        first.kill()
        first.wait()
    assert once().returncode == 0


def test_a_folder_that_is_not_there_is_reported(once):
    done = once()
    assert done.returncode == 2
    assert "no such folder" in done.stderr


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--interval=10000h", "too long; expected at most a year"),
        ("--period=500ms", "whole seconds"),
        ("--quiet=soon", "expected a time with a unit"),
    ],
)
def test_times_that_are_none_are_refused(once, folder, option, message):
    folder.mkdir()
    assert "no captures there yet" in once().stderr
    done = once(option)
    assert done.returncode == 2
    assert message in done.stderr
    assert "a fault of flowsweep" not in done.stderr


def far(path: Path, *times_ns: int) -> None:
    """Writes a pcapng file of UDP packets with these 64-bit times in ns."""

    def block(kind: int, body: bytes) -> bytes:
        size = struct.pack("=I", len(body) + 12)
        return struct.pack("=I", kind) + size + body + size

    path.parent.mkdir(parents=True, exist_ok=True)
    out = block(0x0A0D0D0A, struct.pack("=IHHq", 0x1A2B3C4D, 1, 0, -1))
    options = struct.pack("=HHB3xHH", 9, 1, 9, 0, 0)
    out += block(1, struct.pack("=HHI", 1, 0, 0) + options)
    for stamp in times_ns:
        udp = struct.pack(">HHHH", 1000, 2000, 26, 0) + bytes(18)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 46, 0, 0, 64, 17, 0) + bytes(
            [10, 0, 0, 1, 10, 0, 0, 2]
        )
        body = bytes.fromhex("0200000000010200000000020800") + ip + udp
        head = struct.pack("=IIIII", 0, stamp >> 32, stamp & 0xFFFFFFFF, len(body), len(body))
        out += block(6, head + body)
    path.write_bytes(out)
    age(path)


LAST_NS, BIT = 2**63 - 1, 2**62
YEAR_2200_S = 7_258_118_400


#: Times in ns of a capture, and the name of its run.
OUT_OF_RANGE = [
    # no table can represent the first packet's time: the second one's is used
    ((2**64 - 1, START_S * 10**9), FIRST),
    # one flipped bit, 146 years away
    ((START_S * 10**9, START_S * 10**9 | BIT), FIRST),
    # a clock that is wrong from the first packet on; that time is not waited for
    ((YEAR_2200_S * 10**9, (YEAR_2200_S + 1) * 10**9), "2200-01-01-00h00m00s"),
    # the end of its hour is beyond the range of nanoseconds
    ((LAST_NS - 10**9,), "1970-01-01-00h00m00s"),
]


@pytest.mark.parametrize(("times", "run"), OUT_OF_RANGE)
def test_times_out_of_every_range_stop_nothing(folder, once, times, run):
    far(folder / "pc1.pcapng", *times)
    done = once()
    assert done.returncode == 0, done.stderr
    assert [name for name, _ in packets(folder)] == [run]
    # The next start works, too.
    write(folder / "pc2.pcap", 10)
    done = once()
    assert done.returncode == 0, done.stderr
    assert (FIRST, "pc2") in packets(folder)


def test_times_out_of_every_range_stop_no_report(command, folder, once, once_with_report):
    """Nor another command; one report covers all cases, because it takes as long as all else."""
    for number, (times, _) in enumerate(OUT_OF_RANGE):
        far(folder / f"far{number}.pcapng", *times)
    assert once().returncode == 0
    wanted = {(run, f"far{number}") for number, (_, run) in enumerate(OUT_OF_RANGE)}
    assert packets(folder).keys() == wanted
    write(folder / "pc2.pcap", 10)
    done = once_with_report()
    assert (done.returncode, done.stdout) == (0, "results/ring/report.html\n"), done.stderr
    printed = command("flowsweep", "query", "run_table", folder.parent / "results/ring")
    assert printed.returncode == 0, printed.stderr
