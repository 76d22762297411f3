"""Lost packets as reported by a pcapng file."""

from __future__ import annotations

import struct
from pathlib import Path

import polars as pl
import pytest
from build import SECTION, block, udp

from flowsweep.analysis.capture_summary import summarise
from flowsweep.parsing import parse_tables

FRAME = udp("10.0.0.1", 5, "10.0.0.2", 6, payload=8)


def option(code: int, count: int) -> bytes:
    return struct.pack("<HHQ", code, 8, count)


def packet(lost: int | None, interface: int = 0) -> bytes:
    """Returns an Enhanced Packet Block with `epb_dropcount`."""
    options = b"" if lost is None else option(4, lost) + bytes(4)
    head = struct.pack("<IIIII", interface, 0, 0, len(FRAME), len(FRAME))
    return block(6, head + FRAME + bytes(-len(FRAME) % 4) + options)


def old_packet(lost: int) -> bytes:
    head = struct.pack("<HHIIII", 0, lost, 0, 0, len(FRAME), len(FRAME))
    return block(2, head + FRAME)


INTERFACE = block(1, struct.pack("<HHI", 1, 0, 0))
TOTALS = block(5, struct.pack("<III", 0, 0, 0) + option(5, 3) + option(7, 4) + bytes(4))


@pytest.mark.parametrize(
    ("blocks", "kernel", "interface"),
    [
        (packet(None), None, None),
        (packet(0), 0, None),
        (packet(5) + packet(None) + packet(12_345), 12_350, None),
        (packet(2**64 - 1) + packet(1), 2**63 - 1, None),
        (old_packet(7) + old_packet(0xFFFF) + old_packet(2), 9, None),
        # The totals include these packets.
        (packet(5) + TOTALS, 4, 3),
    ],
)
def test_lost_packets(
    tmp_path: Path, blocks: bytes, kernel: int | None, interface: int | None
) -> None:
    path = tmp_path / "lost.pcapng"
    path.write_bytes(SECTION + INTERFACE + blocks)
    parse_tables([path], tmp_path)
    row = pl.read_parquet(tmp_path / "captures.parquet").row(0, named=True)
    assert (row["dropped_kernel"], row["dropped_interface"]) == (kernel, interface)


def test_losses_belong_to_their_interface(tmp_path: Path) -> None:
    path = tmp_path / "lost.pcapng"
    path.write_bytes(SECTION + 2 * INTERFACE + packet(1, 1) + packet(2, 0) + packet(3, 1))
    parse_tables([path], tmp_path)
    captures = pl.read_parquet(tmp_path / "captures.parquet")
    assert captures["dropped_kernel"].to_list() == [2, 4]


@pytest.mark.parametrize(
    ("dropped", "letter", "text"),
    [
        (0, "A", "no drops reported by kernel or interface"),
        (3, "D", "3 packets dropped by kernel or interface (75.0 %)"),
    ],
)
def test_dumpcap_writes_all_drops_as_those_of_the_interface(
    tmp_path: Path, dropped: int, letter: str, text: str
) -> None:
    path = tmp_path / "lost.pcapng"
    totals = block(5, struct.pack("<III", 0, 0, 0) + option(4, 1) + option(5, dropped) + bytes(4))
    path.write_bytes(SECTION + INTERFACE + packet(None) + totals)
    summary = summarise(path)
    assert (summary.grade, [note.text for note in summary.notes]) == (letter, [text])


@pytest.mark.parametrize(
    ("received", "letter", "share"),
    [
        (4, "D", "75.0 %"),
        (40, "D", "7.5 % of 40 packets received"),
        (1_000, "C", "0.3 % of 1,000 packets received"),
        (1_000_000, "B", "< 0.1 % of 1,000,000 packets received"),
    ],
)
def test_a_part_of_a_capture_has_the_totals_of_the_whole(
    tmp_path: Path, received: int, letter: str, share: str
) -> None:
    """Wireshark writes the totals even if a filter leaves only some packets."""
    path = tmp_path / "part.pcapng"
    totals = block(5, struct.pack("<III", 0, 0, 0) + option(4, received) + option(5, 3) + bytes(4))
    path.write_bytes(SECTION + INTERFACE + packet(None) + totals)
    summary = summarise(path)
    text = f"3 packets dropped by kernel or interface ({share})"
    assert (summary.grade, [note.text for note in summary.notes]) == (letter, [text])
