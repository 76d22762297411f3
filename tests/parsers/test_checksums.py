"""`--verify-checksums`: packets with wrong checksums are counted as by tshark, but in no flow."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import tshark
from build import pcap, tcp
from collection import IS_LARGE, PCAPS, by_size, rows

import flowsweep

#: tshark needs minutes for larger captures.
LARGEST_B = 2_000_000
#: Packets whose checksum tshark 4 does not verify: another header contradicts itself.
NOT_VERIFIED_THERE = {"ntop-nDPI/reasm_crash_anon.pcapng": 1}


def with_checksums(frame: bytes) -> bytes:
    """Returns the frame, TCP over IPv4 without options, with correct checksums."""
    header, segment = bytearray(frame[14:34]), bytearray(frame[34:])
    header[10:12] = bytes(2)
    header[10:12] = _checksum(bytes(header))
    pseudo = bytes(header[12:20]) + struct.pack(">BBH", 0, 6, len(segment))
    segment[16:18] = _checksum(pseudo + bytes(segment))
    return frame[:14] + bytes(header + segment)


def _checksum(content: bytes) -> bytes:
    content += bytes(len(content) % 2)
    total = sum(struct.unpack(f">{len(content) // 2}H", content))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack(">H", 0xFFFF - total)


def parsed(capture: Path, folder: Path, *options: str) -> tuple[dict[str, pl.DataFrame], str]:
    """Returns the tables by name, and the messages."""
    command = [sys.executable, "-m", "flowsweep", "parse", capture, "-o", folder, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {path.stem: pl.read_parquet(path) for path in folder.glob("*.parquet")}, done.stderr


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Ten segments: a changed payload, a changed source address, one without checksums."""
    frames = [
        with_checksums(tcp("10.0.0.1", 1000, "10.0.0.2", 80, seq=number * 100, payload=100))
        for number in range(10)
    ]
    frames[3] = frames[3][:-1] + b"\x01"
    frames[5] = frames[5][:29] + b"\x09" + frames[5][30:]
    frames[7] = tcp("10.0.0.1", 1000, "10.0.0.2", 80, seq=700, payload=100)
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([(number * 1_000_000, frame) for number, frame in enumerate(frames)]))
    return path


def test_wrong_ones_are_in_no_flow_where_that_is_asked(damaged: Path, tmp_path: Path) -> None:
    tables, errors = parsed(damaged, tmp_path / "out", "--verify-checksums", "--packets")
    captures = tables["captures"].row(0, named=True)
    assert [
        captures[f"{what}_packets"] for what in ("bad_checksum", "undecoded", "unverified")
    ] == [
        2,
        2,
        1,
    ]
    flows = tables["flows"]
    assert (flows["packets"].to_list(), flows["payload_bytes"].to_list()) == ([8], [800])
    unclaimed = tables["packets"].filter(pl.col("connection").is_null())
    assert unclaimed["packet"].to_list() == [4, 6]
    assert "2 packets with a wrong checksum" in errors


@pytest.mark.parametrize(
    "name", ["flows", "packets", "intervals", "throughput", "messages", "captures"]
)
def test_readers_can_be_asked_too(name: str, damaged: Path, tmp_path: Path) -> None:
    tables, _ = parsed(damaged, tmp_path / "out", "--verify-checksums", "--packets")
    reader = getattr(flowsweep, f"read_{name}")
    read = pl.DataFrame(reader(damaged, verify_checksums=True))
    assert read.equals(tables[name].cast(dict(read.schema)))
    assert not read.equals(pl.DataFrame(reader(damaged)))


def test_unasked_nothing_is_verified(damaged: Path, tmp_path: Path) -> None:
    tables, errors = parsed(damaged, tmp_path / "out")
    captures = tables["captures"]
    assert captures["bad_checksum_packets"].to_list() == [None]
    assert captures["unverified_packets"].to_list() == [None]
    assert tables["flows"]["packets"].sum() == 10
    assert "checksum" not in errors


def test_show_tells_of_them(damaged: Path) -> None:
    command = [sys.executable, "-m", "flowsweep", "show", "--verify-checksums", damaged]
    done = subprocess.run(
        [*command, "--format", "json"], capture_output=True, text=True, check=True
    )
    notes = {note["text"]: note["level"] for note in json.loads(done.stdout)[0]["notes"]}
    assert notes["2 packets with a wrong checksum: in no flow (20.0 %)"] == "bad"


def wrong_by_tshark() -> dict[str, int | None]:
    """Returns tshark's counts by capture: recorded ones, or fresh ones for the larger set."""
    if not IS_LARGE:
        recorded = rows("oracle/checksums.csv")
        return {row["file"]: int(row["wrong"]) if row["wrong"] else None for row in recorded}
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    files = sorted(path for path in PCAPS.rglob("*.pcap*") if path.is_file())
    small = [path for path in files if path.stat().st_size <= LARGEST_B]
    return {str(path.relative_to(PCAPS)): tshark.wrong_checksums(path) for path in small}


def test_wrong_checksums_are_those_that_tshark_finds(tmp_path: Path) -> None:
    """Except checksums that are left to the interface, which tshark 4.0 calls wrong."""
    from flowsweep import _parsers
    from flowsweep.parsing import Settings

    differences, wrong, unread = [], 0, 0
    file = tmp_path / "captures.parquet"
    for name, theirs in wrong_by_tshark().items():
        file.unlink(missing_ok=True)
        try:
            _parsers.parse(
                [(PCAPS / name, name)],
                {"captures": (file, str(file))},
                Settings(verify_checksums=True),
                threads=1,
                manifests={},
                notes=[],
                progress=None,
            )
        except _parsers.ParseError:
            unread += 1
            continue
        if theirs is None:
            unread += 1  # damaged on purpose: tshark stops where the parser goes on
            continue
        captures = pl.read_parquet(file)
        ours = captures["bad_checksum_packets"].sum() - NOT_VERIFIED_THERE.get(name, 0)
        wrong += ours
        if not ours <= theirs <= ours + captures["unverified_packets"].sum():
            differences.append((name, ours, theirs))
    assert differences == []
    assert wrong >= by_size(small=17, large=101)
    assert IS_LARGE or unread == 1
