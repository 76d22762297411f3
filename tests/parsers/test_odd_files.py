"""Odd but complete files, and truncated files: what is read, and how `parse` ends."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from build import SECTION, enhanced, interface, pcap, simple, udp
from made_captures import THREADS, flow_rows, parse, tables, tables_of, thread

FRAME = udp("10.0.0.1", 5, "10.0.0.2", 6, payload=30)


@pytest.mark.parametrize(
    ("name", "code", "packets", "cut"),
    [
        ("33", 0, 3, False),
        ("34", 0, 1, False),
        ("35", 0, 3, False),
        ("36", 0, 4, False),
        ("37", 0, 5, False),
        ("38", 0, 1, False),
        ("39", 0, 1000, False),
        ("40", 1, 1000, True),
        ("41", 1, 481, True),
    ],
)
def test_what_is_read_and_how_it_ends(
    name: str, code: int, packets: int, cut: bool, tmp_path: Path
) -> None:
    ended, output = parse(name, tmp_path / "tables")
    assert (ended, "error:" in output) == (code, cut), output
    captures = thread(name)["captures"]
    assert captures["packets"].sum() == packets
    assert captures["truncated_tail"].any() == cut


def test_a_packet_of_an_interface_that_nothing_describes_is_counted() -> None:
    found = thread("33")
    assert found["captures"].select(
        "interface", "link_type", "packets", "unknown_link_packets", "wire_bytes"
    ).rows() == [(0, "ETHERNET", 2, 0, 144), (-1, "NONE", 1, 1, 72)]
    assert found["packets"].select("interface", "connection").rows() == [(0, 0), (-1, None), (0, 0)]


def test_interfaces_that_are_described_behind_such_a_packet_keep_their_numbers() -> None:
    blocks = [
        SECTION,
        simple(FRAME),
        enhanced(1, FRAME, number=5),
        interface(),
        enhanced(2, FRAME),
        enhanced(3, FRAME, number=1),
        interface(link=147),
        enhanced(4, FRAME, number=1),
        SECTION,
        enhanced(5, FRAME),
        interface(),
        enhanced(6, FRAME),
    ]
    found = tables(b"".join(blocks))
    columns = ("interface", "link_type", "packets", "untimed_packets")
    assert found["captures"].select(columns).rows() == [
        (0, "ETHERNET", 1, 0),
        (1, "LINKTYPE_147", 1, 0),
        (2, "ETHERNET", 1, 0),
        (-1, "NONE", 4, 1),
    ]
    assert found["packets"]["interface"].to_list() == [-1, -1, 0, -1, 1, -1, 2]
    assert found["captures"]["unknown_link_packets"].to_list() == [0, 1, 0, 4]


def test_options_other_blocks_and_byte_orders() -> None:
    assert thread("34")["captures"]["interface_name"].to_list() == ["eth0"]
    found = thread("36")["captures"]
    assert found.select("packets", "ts_resolution_ns").rows() == [(2, 1000), (2, 1)]
    assert flow_rows(thread("36"), "packets", "payload_bytes") == [(4, 120)]


def test_a_connection_may_be_silent_and_a_fin_may_overtake() -> None:
    columns = (
        "connection",
        "payload_bytes",
        "end",
        "retransmitted_packets",
        "out_of_order_packets",
    )
    assert flow_rows(thread("08"), *columns) == [(0, 2000, "fin", 0, 0), (0, 0, "fin", 0, 0)]
    assert flow_rows(thread("09"), *columns) == [(0, 3000, "fin", 0, 0), (0, 0, "fin", 0, 0)]


@pytest.mark.parametrize("zeros", [1, 511, 200_000])
@pytest.mark.parametrize("members", [1, 3])
def test_zeros_behind_a_gzip_file_are_no_part_of_it(
    zeros: int, members: int, tmp_path: Path
) -> None:
    plain = pcap([(number, FRAME) for number in range(99)])
    step = len(plain) // members + 1
    packed = b"".join(gzip.compress(plain[at : at + step]) for at in range(0, len(plain), step))
    path = tmp_path / "a.pcap.gz"
    path.write_bytes(packed + bytes(zeros))
    captures = tables_of(path)["captures"]
    assert captures.select("packets", "truncated_tail").rows() == [(99, False)]
    # Any other byte after the data is damage.
    path.write_bytes(packed + bytes(zeros) + b"x")
    captures = tables_of(path)["captures"]
    assert captures.select("packets", "truncated_tail").rows() == [(99, True)]


def test_every_capture_here_is_read_in_a_test() -> None:
    here = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("*.py"))
    for path in THREADS.iterdir():
        assert f'"{path.name.partition("-")[0]}"' in here, path.name
