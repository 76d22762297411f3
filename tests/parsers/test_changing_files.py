"""Captures that change while they are read: truncated, overwritten, replaced, still growing."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from build import pcap, tcp

import flowsweep

RECORD = 16 + 54 + 1000
HEAD = 24
PACKETS = 12_000


@pytest.fixture(scope="module")
def content() -> bytes:
    frame = tcp("10.0.0.1", 5, "10.0.0.2", 80, payload=1000)
    return pcap([(number, frame) for number in range(PACKETS)])


def parse_while(
    path: Path, output: Path, change: Callable[[], object], threads: int
) -> subprocess.CompletedProcess[str]:
    """Parses a pipe first, then `path`: the pipe delays the parser until `change` was made."""
    pipe = path.with_name("first.pcap")
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "flowsweep", "parse", path, pipe, "--output", output,
               "--threads", str(threads)]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        with pipe.open("wb") as stream:  # `path` is open when this is opened
            change()
            stream.write(pcap([]))
        _, errors = running.communicate(timeout=60)
    return subprocess.CompletedProcess(command, running.returncode, "", errors)


def edge(records: int) -> int:
    """Returns the file offset at which this many records end."""
    return HEAD + records * RECORD


@pytest.fixture
def path(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "a.pcap"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("length", [edge(1000), edge(1000) + 500, edge(6000), HEAD + (4 << 20)])
def test_a_file_that_is_cut_while_it_is_read_is_reported(
    path: Path, tmp_path: Path, threads: int, length: int
) -> None:
    done = parse_while(path, tmp_path / "out", lambda: os.truncate(path, length), threads)
    kept = (length - HEAD) // RECORD
    assert done.returncode == 1, done.stderr
    assert (
        f"changed while it was read, from packet {kept + 1:,}, byte {edge(kept):,}" in done.stderr
    )
    assert f"found     a file that was cut to {length} bytes while it was read" in done.stderr
    assert f"read it again once nothing writes to it; {kept:,} packets before it" in done.stderr
    assert f"{kept:,} packets, 1 connection" in done.stderr


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("more", [RECORD, 7, 5_000_000])
def test_a_file_that_grows_is_read_as_far_as_it_was_and_that_is_stated(
    path: Path, tmp_path: Path, threads: int, more: int
) -> None:
    def grow() -> None:
        with path.open("ab") as stream:
            stream.write(bytes(more))

    done = parse_while(path, tmp_path / "out", grow, threads)
    assert done.returncode == 1, done.stderr
    assert f"{PACKETS:,} packets, 1 connection" in done.stderr
    assert f"found     a file that grew to {edge(PACKETS) + more} bytes" in done.stderr
    assert f"expected  the {edge(PACKETS)} bytes that there were at opening" in done.stderr


def test_a_file_that_is_written_over_is_reported(
    path: Path, tmp_path: Path, content: bytes
) -> None:
    def write() -> None:
        with path.open("r+b") as stream:
            stream.seek(edge(11_000))
            stream.write(content[edge(11_000) :])

    done = parse_while(path, tmp_path / "out", write, 2)
    assert done.returncode == 1, done.stderr
    assert "found     a file that was written to while it was read" in done.stderr


def test_a_file_that_is_replaced_is_read_as_it_was_and_that_is_stated(
    path: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.write_bytes(pcap([]))
    done = parse_while(path, tmp_path / "out", lambda: other.replace(path), 2)
    assert done.returncode == 1, done.stderr
    assert f"{PACKETS:,} packets, 1 connection" in done.stderr
    assert "found     another file under its name, since it was opened" in done.stderr


@pytest.mark.parametrize("change", ["none", "removed", "link"])
def test_what_does_not_change_the_content_is_no_damage(
    path: Path, tmp_path: Path, change: str
) -> None:
    def act() -> None:
        if change == "removed":
            path.unlink()
        elif change == "link":
            path.chmod(0o600)
            (tmp_path / "b.pcap").hardlink_to(path)

    done = parse_while(path, tmp_path / "out", act, 2)
    assert done.returncode == 0, done.stderr


def test_a_compressed_file_that_grows_is_reported(path: Path, tmp_path: Path) -> None:
    packed = tmp_path / "a.pcap.zst"
    subprocess.run(["zstd", "-q", path, "-o", packed], check=True)

    def grow() -> None:
        with packed.open("ab") as stream:
            stream.write(b"more")

    done = parse_while(packed, tmp_path / "out", grow, 2)
    assert done.returncode == 1, done.stderr
    assert "a file that grew to" in done.stderr


# The Python readers report the same errors.
READERS: dict[str, Callable[[Any], int]] = {
    "polars": lambda table: pl.DataFrame(table).height,
    "pyarrow": lambda table: pa.table(table).num_rows,
    "duckdb": lambda stream: len(duckdb.sql("from stream").fetchall()),  # noqa: ARG005
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", ["flows", "packets", "intervals", "throughput", "messages"])
def test_a_damaged_capture_warns_whoever_reads_it(
    tmp_path: Path, content: bytes, reader: str, name: str
) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes(content[: edge(300) + 9])
    table = getattr(flowsweep, f"read_{name}")(path)
    with pytest.warns(flowsweep.DamagedCaptureWarning) as caught:
        rows = READERS[reader](table)
    assert rows == {"packets": 300}.get(name, rows) > 0
    (warning,) = caught
    message = str(warning.message)
    assert message.startswith(f"{path}: damaged at packet 301, byte {edge(300):,}")
    assert "9 bytes, then the end of the file" in message
    assert "300 packets before it were kept" in message
    # Every read warns; if the warning is an error, it ends the read.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(Exception, match="damaged at packet 301"):
            READERS[reader](table)


@pytest.mark.parametrize("reader", READERS)
def test_a_whole_capture_does_not_warn(tmp_path: Path, content: bytes, reader: str) -> None:
    path = tmp_path / "whole.pcap"
    path.write_bytes(content[: edge(300)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert READERS[reader](flowsweep.read_packets(path)) == 300


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", ["flows", "packets"])
def test_altered_bytes_of_a_table_are_found_by_whoever_reads_it(
    tmp_path: Path, content: bytes, command: Any, reader: str, name: str
) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(content[: edge(300)])
    done = command("flowsweep", "parse", path, "--output", tmp_path, "--packets")
    assert done.returncode == 0, done.stderr
    file = tmp_path / f"{name}.parquet"
    whole = file.read_bytes()
    read = {
        "polars": lambda: pl.read_parquet(file).rows(),
        "pyarrow": lambda: pa.parquet.read_table(file),
        "duckdb": lambda: duckdb.sql(f"from read_parquet('{file}')").fetchall(),
    }[reader]
    rows = read()
    end = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    frames = [at for at in range(end) if whole.startswith(b"\x28\xb5\x2f\xfd", at)]
    found = 0
    for number, frame in enumerate(frames):
        # A byte after the header of the zstd frame, at changing places.
        at = frame + 7 + number % 4
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        try:
            assert read() == rows
        except (OSError, pl.exceptions.PolarsError, duckdb.Error, pa.ArrowException):
            found += 1
    assert len(frames) > 10
    # Some bytes, such as a list whose values no row uses, are read by no reader.
    assert found > 0.7 * len(frames)
