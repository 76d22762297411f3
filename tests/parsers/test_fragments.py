"""Fragments belong to the flow of their packet's first fragment, until all have arrived.

RFC 791 3.2, RFC 8200 4.5, RFC 4963.
"""

from __future__ import annotations

import struct
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import polars as pl
import pytest
from build import datagram, ethernet, ip, pcap, tcp
from hypothesis import given, settings
from hypothesis import strategies as st
from made_captures import Tables, flow_rows, tables, thread

V4, V6 = ("10.0.0.1", "10.0.0.2"), ("2001:db8::1", "2001:db8::2")
MS = 1_000_000
ROW = ("protocol", "src_port", "dst_port", "packets", "payload_bytes")


def parts(
    ends: tuple[str, str],
    protocol: int,
    content: bytes,
    *,
    ident: int = 7,
    mtu: int = 1500,
    later_protocol: int | None = None,
) -> list[bytes]:
    """IP packets with the parts of `content`."""
    v6 = ":" in ends[0]
    room = (mtu - (48 if v6 else 20)) // 8 * 8
    found = []
    for offset in range(0, len(content), room):
        part, more = content[offset : offset + room], offset + room < len(content)
        if v6:
            kind = protocol if offset == 0 or later_protocol is None else later_protocol
            header = struct.pack(">BBHI", kind, 0, offset | more, ident)
            found.append(ip(*ends, 44, header + part))
        else:
            field = more << 13 | offset // 8
            found.append(ip(*ends, protocol, part, ident=ident, fragment=field))
    return found


def capture(packets: list[tuple[int, bytes]], *, vlan: int | None = None, **how: int) -> Tables:
    return tables(pcap([(time, ethernet(packet, vlan=vlan)) for time, packet in packets], **how))


def test_an_identification_is_free_again_when_its_packet_is_complete() -> None:
    found = thread("25")
    assert flow_rows(found, *ROW) == [
        ("udp", 1001, 9, 2, 2000),
        ("fragment", None, None, 1, 0),
        ("udp", 2002, 9, 1, 10),
    ]


def test_the_next_header_of_the_first_part_counts() -> None:
    found = thread("26")
    assert flow_rows(found, *ROW) == [("tcp", 1001, 9, 2, 2000)]


@pytest.mark.parametrize("ends", [V4, V6])
@pytest.mark.parametrize("mtu", [1500, 1280, 576])
@pytest.mark.parametrize("gap", [11 * MS, 1000 * MS, 59_000 * MS])
def test_a_part_of_no_known_packet_is_of_no_known_flow(
    ends: tuple[str, str], mtu: int, gap: int
) -> None:
    content = datagram(1001, 9, 2000)
    first = parts(ends, 17, content, mtu=mtu)
    packets = [(number, part) for number, part in enumerate(first)]
    found = capture([*packets, (gap, first[-1])])
    assert flow_rows(found, *ROW) == [
        ("udp", 1001, 9, len(first), 2000),
        ("fragment", None, None, 1, 0),
    ]


@pytest.mark.parametrize("ends", [V4, V6])
def test_copies_of_a_mirror_are_of_the_flow(ends: tuple[str, str]) -> None:
    one, two = parts(ends, 17, datagram(1001, 9, 2000))
    packets = [(0, one), (3000, one), (10_000, two), (13_000, two)]
    assert [row[3] for row in flow_rows(capture(packets), *ROW)] == [4]


@pytest.mark.parametrize("ends", [V4, V6])
@pytest.mark.parametrize("vlan", [None, 7])
@pytest.mark.parametrize("over_tcp", [False, True])
def test_parts_are_joined_in_any_order(
    ends: tuple[str, str], vlan: int | None, over_tcp: bool
) -> None:
    if over_tcp:
        protocol, content = 6, tcp(ends[0], 1001, ends[1], 9, payload=3000)
        content = content[14 + (40 if ":" in ends[0] else 20) :]
    else:
        protocol, content = 17, datagram(1001, 9, 3000)
    name = "tcp" if over_tcp else "udp"
    for order in permutations(parts(ends, protocol, content)):
        found = capture(list(enumerate(order)), vlan=vlan, snaplen=96)
        assert flow_rows(found, *ROW, "vlan") == [(name, 1001, 9, 3, 3000, vlan)]
        assert found["captures"]["fragments"].to_list() == [3]
        assert found["packets"]["connection"].to_list() == [0, 0, 0]
        assert found["throughput"]["payload_bytes"].sum() == 3000


def test_a_part_before_the_first_one_joins_a_flow_that_is_there() -> None:
    whole = ip(*V4, 17, datagram(1001, 9, 100))
    back = ip(*V4[::-1], 17, datagram(9, 1001, 100))
    one, two = parts(V4, 17, datagram(1001, 9, 2000))
    found = capture([(0, whole), (1, back), (2, two), (3, one), (4, back)])
    assert flow_rows(found, "direction", *ROW) == [
        ("forward", "udp", 1001, 9, 3, 2100),
        ("backward", "udp", 9, 1001, 2, 200),
    ]


def test_a_part_before_the_first_one_is_put_apart_on_a_pipe(tmp_path: Path) -> None:
    """A pipe cannot be read twice to find the first fragment."""
    one, two = parts(V4, 17, datagram(1001, 9, 2000))
    content = pcap([(0, ethernet(two)), (1, ethernet(one))])
    command = [sys.executable, "-m", "flowsweep", "parse", "-", "--output", tmp_path]
    subprocess.run(command, input=content, capture_output=True, check=True)
    flows = pl.read_parquet(tmp_path / "flows.parquet")
    assert flows["protocol"].to_list() == ["fragment", "udp"]


@pytest.mark.parametrize("threads", [2, 3])
def test_parts_are_joined_by_any_number_of_threads(threads: int, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    packets = [
        (number, ethernet(part))
        for number in range(9000)
        for part in reversed(parts(V4, 17, datagram(1000 + number % 7, 9, 2000), ident=number))
    ]
    path.write_bytes(pcap(packets, snaplen=60))
    for count in (1, threads):
        command = [sys.executable, "-m", "flowsweep", "parse", path, "--packets"]
        options = ["--threads", str(count), "--output", tmp_path / str(count)]
        subprocess.run([*command, *options], capture_output=True, check=True)
    for file in (tmp_path / "1").iterdir():
        assert file.read_bytes() == (tmp_path / str(threads) / file.name).read_bytes(), file.name
    flows = pl.read_parquet(tmp_path / "1" / "flows.parquet")
    assert flows["protocol"].unique().to_list() == ["udp"]
    assert flows["payload_bytes"].sum() == 18_000_000


def test_a_first_part_that_comes_too_late_joins_nothing() -> None:
    one, two = parts(V4, 17, datagram(1001, 9, 2000))
    found = capture([(0, two), (61_000 * MS, one)])
    assert [row[0] for row in flow_rows(found, *ROW)] == ["fragment", "udp"]


def test_extension_headers_inside_the_parts_are_followed() -> None:
    options = struct.pack(">BBBBI", 17, 0, 1, 4, 0)
    packets = parts(V6, 60, options + datagram(1001, 9, 2000))
    assert flow_rows(capture(list(enumerate(packets))), *ROW) == [("udp", 1001, 9, 2, 2000)]
    segment = tcp(V6[0], 1001, V6[1], 9, payload=2000)[54:]
    packets = parts(V6, 60, struct.pack(">BBBBI", 6, 0, 1, 4, 0) + segment)
    assert flow_rows(capture(list(enumerate(packets))), *ROW) == [("tcp", 1001, 9, 2, 2000)]


@given(
    v6=st.booleans(),
    later=st.integers(0, 255),
    sizes=st.lists(st.integers(1473, 9000), min_size=1, max_size=4),
    data=st.data(),
)
@settings(deadline=None, max_examples=40)
def test_packets_of_other_identifications_are_kept_apart(
    v6: bool, later: int, sizes: list[int], data: st.DataObject
) -> None:
    """Fragments of several packets of a sender, interleaved, each packet to another port.

    In IPv6, fragments after the first may name any next header.
    """
    ends = V6 if v6 else V4
    packets = [
        part
        for number, size in enumerate(sizes)
        for part in parts(
            ends, 17, datagram(1000 + number, 9, size), ident=number, later_protocol=later
        )
    ]
    mixed = data.draw(st.permutations(packets))
    found = capture([(number * 1000, packet) for number, packet in enumerate(mixed)])
    flows = found["flows"].sort("src_port").select("protocol", "src_port", "payload_bytes")
    assert flows.rows() == [("udp", 1000 + number, size) for number, size in enumerate(sizes)]
