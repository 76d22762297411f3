"""`flowsweep parse`, `ingest` and `show`: files, exit codes and messages."""

from __future__ import annotations

import gzip
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import BinaryIO

import polars as pl
import pytest
from build import pcap, tcp, udp

from flowsweep.parsing import DamagedCaptureError

TABLES = ["captures", "flows", "intervals", "messages", "rdma", "throughput"]


def flowsweep(*arguments: object, data: bytes | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the command line."""
    done = subprocess.run(
        [sys.executable, "-m", "flowsweep", *map(str, arguments)],
        input=data,
        capture_output=True,
        check=False,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def some_packets(count: int = 20) -> bytes:
    return pcap(
        [
            (number * 1_000_000, tcp("10.0.0.1", 1000, "10.0.0.2", 80, seq=number, payload=1))
            for number in range(count)
        ]
    )


def tables_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*")}


def test_the_same_input_gives_the_same_bytes_at_any_thread_count_and_compression(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.pcap"
    outputs = []
    for content, threads in (
        (some_packets(), 1),
        (some_packets(), 2),
        (gzip.compress(some_packets()), 1),
    ):
        path.write_bytes(content)
        folder = tmp_path / f"out{len(outputs)}"
        done = flowsweep("parse", path, "--output", folder, "--packets", "--threads", threads)
        assert done.returncode == 0, done.stderr
        outputs.append(tables_of(folder))
    assert outputs[0].keys() == {f"{table}.parquet" for table in [*TABLES, "packets"]}
    assert outputs[0] == outputs[1] == outputs[2]


def test_packets_of_an_earlier_parse_do_not_stay_beside_tables_of_a_later_one(
    tmp_path: Path,
) -> None:
    path, out = tmp_path / "a.pcap", tmp_path / "out"
    path.write_bytes(some_packets())
    assert flowsweep("parse", path, "--output", out, "--packets").returncode == 0
    assert flowsweep("parse", path, "--output", out).returncode == 0
    assert sorted(found.stem for found in out.iterdir()) == TABLES


def test_a_pipe_is_read(tmp_path: Path) -> None:
    done = flowsweep("parse", "-", "--output", tmp_path, data=some_packets())
    assert done.returncode == 0, done.stderr
    assert pl.read_parquet(tmp_path / "captures.parquet")["packets"].to_list() == [20]


def test_a_cut_capture_keeps_its_packets_and_says_what_was_lost(tmp_path: Path) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes(some_packets()[:-10])
    done = flowsweep("parse", path, "--output", tmp_path / "out")
    assert done.returncode == 1
    offset = 24 + 19 * (16 + 55)
    assert f"cut.pcap: damaged at packet 20, byte {offset:,}" in done.stderr
    assert "found     61 bytes" in done.stderr
    assert "19 packets before it were kept" in done.stderr
    captures = pl.read_parquet(tmp_path / "out" / "captures.parquet")
    assert captures["packets"].to_list() == [19]
    assert captures["truncated_tail"].to_list() == [True]


def test_a_capture_without_a_whole_packet_is_not_reported_to_need_nothing(tmp_path: Path) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes(some_packets()[:25])
    done = flowsweep("parse", path, "--output", tmp_path / "out")
    assert done.returncode == 1
    assert "found     1 byte, then" in done.stderr
    assert "none needed" not in done.stderr
    assert "0 packets before it were kept" in done.stderr


@pytest.mark.parametrize(
    ("kept", "offset", "unread", "remedy"),
    [
        (1, 424, 70_017, "copy or record it again; KEPT; 70,017 of 70,441 bytes not read"),
        (99, 16_854, 140, "none needed: KEPT; 140 of 16,994 bytes not read"),
        (0, 24, 0, "copy or record it again; KEPT; 0 of 24 bytes not read"),
        (99, 16_854, None, "copy or record it again for what comes behind it; KEPT"),
    ],
)
def test_no_remedy_is_needed_only_where_hardly_anything_was_lost(
    kept: int, offset: int, unread: int | None, remedy: str
) -> None:
    error = DamagedCaptureError({
        "file": "a.pcap", "packet": kept + 1, "offset": offset, "found": "x", "expected": "y",
        "kept": kept, "unread": unread, "changed": False,
    })  # fmt: skip
    counts = {0: "0 packets before it were kept", 1: "1 packet before it was kept"}
    assert error.remedy == remedy.replace(
        "KEPT", counts.get(kept, "99 packets before it were kept")
    )


def test_packets_that_cannot_be_decoded_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "strange.pcap"
    content = some_packets()
    path.write_bytes(content[:20] + (9999).to_bytes(4, "little") + content[24:])
    done = flowsweep("parse", path, "--output", tmp_path / "out")
    assert done.returncode == 0
    assert "20 packets could not be decoded (100.0 %)" in done.stderr


def test_a_cut_compressed_capture_keeps_what_can_be_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "cut.pcap.gz"
    path.write_bytes(gzip.compress(some_packets(5000))[:-2000])
    done = flowsweep("parse", path, "--output", tmp_path / "out")
    assert done.returncode == 1
    assert "cannot be unpacked further" in done.stderr
    assert 0 < pl.read_parquet(tmp_path / "out" / "captures.parquet")["packets"][0] < 5000


@pytest.mark.parametrize("content", [b"", b"not a capture at all, but a text"])
def test_a_failed_command_leaves_nothing_behind(tmp_path: Path, content: bytes) -> None:
    path, out = tmp_path / "bad.pcap", tmp_path / "out"
    path.write_bytes(content)
    done = flowsweep("parse", path, "--output", out)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {path}: not a packet capture")
    assert not out.exists()


@pytest.mark.parametrize("threads", [1, 2])
def test_no_room_for_a_table_is_reported_with_its_name(tmp_path: Path, threads: int) -> None:
    (tmp_path / "a.pcap").write_bytes(some_packets())
    tables = tmp_path / "tables"
    words = ["parse", tmp_path / "a.pcap", "--output", tables, "--threads", threads]
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 8 && exec "$@"', "sh", sys.executable, "-m", "flowsweep"]
        + [str(word) for word in words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert f"error: cannot write {tables}/" in done.stderr
    assert ".parquet\n" in done.stderr
    for line in (
        "found     File too large",
        "expected  room for the tables",
        "remedy    ulimit -f",
    ):
        assert line in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.pcap"]


@pytest.mark.parametrize("below", ["", "tables"])
def test_a_file_in_the_place_of_the_folder_is_reported(tmp_path: Path, below: str) -> None:
    (tmp_path / "a.pcap").write_bytes(some_packets())
    (tmp_path / "taken").touch()
    folder = tmp_path / "taken" / below
    done = flowsweep("parse", tmp_path / "a.pcap", "--output", folder)
    assert done.returncode == 2
    assert f"error: cannot create {folder}\n" in done.stderr
    assert "expected  a folder, or none yet" in done.stderr
    assert "remedy    move the file" in done.stderr


def test_wrong_options_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(some_packets())
    for option, value in (("--bin", "10"), ("--bin", "0ms"), ("--udp-timeout", "-1s")):
        done = flowsweep("parse", path, "--output", tmp_path / "out", f"{option}={value}")
        assert done.returncode == 2, (option, value)
        assert "expected" in done.stderr
    assert not (tmp_path / "out").exists()


def test_an_interrupted_command_removes_what_it_wrote(tmp_path: Path) -> None:
    fifo, out = tmp_path / "stream", tmp_path / "out"
    os.mkfifo(fifo)
    with subprocess.Popen(
        [sys.executable, "-m", "flowsweep", "parse", "-", "--output", str(out)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        block = some_packets(20_000)
        process.stdin.write(block)
        deadline = time.monotonic() + 120
        while not list(tmp_path.rglob("*.parquet")) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert list(tmp_path.rglob("*.parquet"))
        process.send_signal(signal.SIGINT)
        process.stdin.close()
        process.wait(timeout=120)
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == [fifo]


def open_files(soft: int, hard: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_as_many_files_are_open_at_once_as_the_hard_limit_allows(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.pcap" for number in range(200)]
    for path in paths:
        path.write_bytes(some_packets(2))
    command = [sys.executable, "-m", "flowsweep", "parse", *paths, "-o", tmp_path / "out"]
    begin = partial(subprocess.run, command, capture_output=True, text=True, check=False)
    done = begin(preexec_fn=open_files(64, 300))
    assert done.returncode == 0, done.stderr
    assert "200 files, 400 packets" in done.stderr
    done = begin(preexec_fn=open_files(64, 64))
    assert done.returncode == 2
    assert "Too many open files" in done.stderr
    assert "ulimit -n" in done.stderr


def test_ingest_partitions_by_run_and_host_and_merges_manifests(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "lu-baseline-r1"
    run.mkdir(parents=True)
    (run / "pc1.pcap").write_bytes(some_packets())
    (run / "pc2.pcap.gz").write_bytes(gzip.compress(pcap([(0, udp("10.0.0.1", 1, "10.0.0.2", 2))])))
    (run / "pc1.capture.json").write_text(json.dumps({"dropped_kernel": 3, "dropped_interface": 0}))
    tables = tmp_path / "tables"
    done = flowsweep("ingest", run, "--output", tables)
    assert done.returncode == 0, done.stderr
    captures = pl.read_parquet(tables / "*/*/captures.parquet", hive_partitioning=True).sort("host")
    assert captures["host"].to_list() == ["pc1", "pc2"]
    assert captures["run"].to_list() == ["lu-baseline-r1"] * 2
    assert captures["file"].to_list() == ["pc1.pcap", "pc2.pcap.gz"]
    assert captures["dropped_kernel"].to_list() == [3, None]
    for table in TABLES:
        found = sorted(tables.glob(f"run=*/host=*/{table}.parquet"))
        assert len(found) == 2
    assert [path.name for path in tables.glob(".*")] == []


def test_ingest_joins_the_parts_of_a_rotated_capture_and_keeps_numbered_hosts_apart(
    tmp_path: Path,
) -> None:
    run, tables = tmp_path / "r1", tmp_path / "tables"
    run.mkdir()
    for name in ("pc1.pcap", "pc1-00001.pcap", "pc1-00002.pcap", "node-00007.pcap"):
        (run / name).write_bytes(some_packets())
    (run / "pc1.capture.json").write_text(json.dumps({"dropped_kernel": 3}))
    assert flowsweep("ingest", run, "--output", tables).returncode == 0
    captures = pl.read_parquet(tables / "*/*/captures.parquet", hive_partitioning=True)
    counts = captures.group_by("host").agg(pl.len(), pl.col("dropped_kernel").sum()).sort("host")
    assert counts.rows() == [("node-00007", 1, 0), ("pc1", 3, 3)]


def test_ingest_counts_one_host_as_one(tmp_path: Path) -> None:
    run = tmp_path / "r1"
    run.mkdir()
    (run / "pc1.pcap").write_bytes(some_packets())
    done = flowsweep("ingest", run, "--output", tmp_path / "tables")
    assert done.stderr.startswith("r1: 1 host, 20 packets -> ")


def test_ingest_publishes_no_host_when_one_is_unreadable(tmp_path: Path) -> None:
    run, tables = tmp_path / "r1", tmp_path / "tables"
    run.mkdir()
    (run / "pc1.pcap").write_bytes(some_packets())
    (run / "pc2.pcap").write_bytes(b"nothing of the kind")
    done = flowsweep("ingest", run, "--output", tables)
    assert done.returncode == 2
    assert "pc2.pcap: not a packet capture" in done.stderr
    assert not list(tables.glob("**/*.parquet"))


def test_show_gives_the_same_numbers_as_text_and_json(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(some_packets())
    text, data = flowsweep("show", path), flowsweep("show", path, "--format", "json")
    assert text.returncode == data.returncode == 0, text.stderr
    summary = json.loads(data.stdout)[0]
    assert summary["packets"] == 20
    assert "20 packets" in text.stdout
    assert "10.0.0.1:1000" in text.stdout
    assert "\x1b" not in text.stdout


def test_folders_are_refused() -> None:
    done = flowsweep("show", "", ".", "/")
    assert done.returncode == 2
    errors = [text.splitlines()[:2] for text in done.stderr.split("error: ")[1:]]
    assert errors == [[f"cannot read {path}", "  found     is a directory"] for path in "../"]


def test_show_says_that_an_empty_capture_is_well_formed(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([]))
    done = flowsweep("show", path)
    assert done.returncode == 1
    assert "0 packets; the file is well formed" in done.stdout


def test_show_of_several_files_shows_the_readable_and_tells_of_the_others(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("text.pcap", "good.pcap", "gone.pcap")]
    paths[0].write_bytes(b"a text, and no capture")
    paths[1].write_bytes(some_packets())
    text = flowsweep("show", *paths)
    assert text.returncode == 2
    assert text.stdout.startswith("good.pcap  Ethernet")
    assert "20 packets" in text.stdout
    first, second = text.stderr.split("error: ")[1:]
    assert first.startswith(f"{paths[0]}: not a packet capture")
    assert second.startswith(f"cannot read {paths[2]}\n")
    for message in (first, second):
        parts = [line.split()[0] for line in message.splitlines()[1:]]
        assert parts == ["found", "expected", "remedy"]
    data = flowsweep("show", *paths, "--format", "json")
    assert data.returncode == 2
    assert [summary["packets"] for summary in json.loads(data.stdout)] == [20]


def test_a_named_pipe_is_read_as_the_file(tmp_path: Path) -> None:
    path, pipe = tmp_path / "a.pcap", tmp_path / "pipe"
    path.write_bytes(pcap([(0, udp("10.0.0.1", 1, "10.0.0.2", 2))]))
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", 'exec cat "$0" > "$1"', path, pipe]) as writer:
        done = flowsweep("parse", pipe, "--output", tmp_path / "tables")
        writer.kill()
    assert done.returncode == 0, done.stderr
    assert pl.read_parquet(tmp_path / "tables/flows.parquet")["packets"].to_list() == [1]


@pytest.mark.parametrize("buffered", [True, False])
def test_a_reader_that_went_away_is_no_error(tmp_path: Path, buffered: bool) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(some_packets())
    unread, written = os.pipe()
    os.close(unread)
    with os.fdopen(written, "wb") as nobody:
        done = show_into(nobody, path, buffered)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("buffered", [True, False])
def test_a_full_disk_behind_stdout_is_stated(tmp_path: Path, buffered: bool) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(some_packets())
    with Path("/dev/full").open("wb") as full:
        done = show_into(full, path, buffered)
    assert done.returncode == 2
    assert done.stderr == b"error: standard output: No space left on device\n"


def show_into(output: BinaryIO, path: Path, buffered: bool) -> subprocess.CompletedProcess[bytes]:
    """Runs `show`; its output is written at the end, or line by line."""
    return subprocess.run(
        [sys.executable, *([] if buffered else ["-u"]), "-m", "flowsweep", "show", path],
        stdout=output,
        stderr=subprocess.PIPE,
        check=False,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    )
