"""Encapsulated packets belong to the inner flow, between the hosts that communicate."""

from __future__ import annotations

import struct
from ipaddress import ip_address

import polars as pl
import pytest
from build import datagram, ethernet, ip, pcap
from hypothesis import given, settings
from hypothesis import strategies as st
from made_captures import Tables, flow_rows, tables, thread

V4, V6 = ("10.0.0.1", "10.0.0.2"), ("2001:db8::1", "2001:db8::2")
LAST, NEXT, HOME = "2001:db8:f::9", "2001:db8:f::5", "2001:db8:a::1"
ENDS = ("src_ip", "dst_ip", "src_port", "dst_port")
UDP = datagram(5, 6, 100)
INNER = ip(*V4, 17, UDP)


def one(frame: bytes, *, snaplen: int = 262_144) -> Tables:
    return tables(pcap([(0, frame)], snaplen=snaplen))


def route(following: int, left: int, *segments: str, kind: int = 4, tlvs: bytes = b"") -> bytes:
    """Returns a routing header; RFC 8754 puts the last segment first."""
    body = b"".join(ip_address(segment).packed for segment in segments) + tlvs
    last = max(len(segments) - 1, 0)
    return struct.pack(">BBBBBBH", following, len(body) // 8, kind, left, last, 0, 0) + body


def test_ethernet_over_mpls_with_and_without_a_control_word() -> None:
    found = thread("29")
    assert flow_rows(found, *ENDS, "packets", "payload_bytes") == [(*V4, 1111, 2222, 2, 200)]
    assert found["captures"]["undecoded_packets"].to_list() == [0]


@given(
    receiver=st.binary(min_size=6, max_size=6) | st.sampled_from([b"\0\0^\0\1\1", b"E\0\0x\0\0"]),
    sender=st.binary(min_size=6, max_size=6),
    word=st.none() | st.integers(0, 0xFFFF),
    tags=st.lists(st.integers(1, 4094), max_size=2),
    labels=st.integers(0, 3),
    v6=st.booleans(),
    arp=st.booleans(),
    snaplen=st.sampled_from([128, 262_144]),
)
@settings(deadline=None, max_examples=60)
def test_a_pseudowire_whatever_its_addresses_begin_with(
    receiver: bytes,
    sender: bytes,
    word: int | None,
    tags: list[int],
    labels: int,
    v6: bool,
    arp: bool,
    snaplen: int,
) -> None:
    """RFC 4448, 8469, 4928; entropy and flow labels are labels, too."""
    ends = V6 if v6 else V4
    frame = receiver + bytes([sender[0] & 0xFE]) + sender[1:]
    frame += b"".join(struct.pack(">HH", 0x8100, tag) for tag in tags)
    if arp:
        frame += b"\x08\x06\x00\x01\x08\x00" + bytes(40)
    else:
        frame += ethernet(ip(*ends, 17, UDP))[12:]
    control = b"" if word is None else struct.pack(">HH", 0, word)
    stack = b"\0\x10\0\x40" * labels + b"\0\x3e\x81\x40"
    found = one(ethernet(stack + control + frame, kind=0x8847), snaplen=snaplen)
    if arp:
        assert found["captures"]["not_ip_packets"].to_list() == [1]
    else:
        assert flow_rows(found, *ENDS) == [(*ends, 5, 6)]


@pytest.mark.parametrize(
    ("header", "receiver"),
    [
        (route(17, 2, LAST, NEXT, V6[1]), LAST),
        (route(17, 1, LAST, NEXT), LAST),
        # Reduced: the first segment is not in the list, RFC 8754 4.1.1.
        (route(17, 1, LAST), LAST),
        (route(17, 0, LAST, NEXT), V6[1]),
        (route(17, 1, LAST, NEXT, tlvs=bytes([5, 6]) + bytes(6)), LAST),
        # To a mobile host, RFC 6275 6.4.
        (route(17, 1, HOME, kind=2), HOME),
        # Deprecated by RFC 5095.
        (route(17, 1, LAST, kind=0), V6[1]),
    ],
)
@pytest.mark.parametrize("vlan", [None, 7])
@pytest.mark.parametrize("snaplen", [128, 262_144])
def test_the_peer_of_a_routed_packet_is_the_last_segment(
    header: bytes, receiver: str, vlan: int | None, snaplen: int
) -> None:
    there = ethernet(ip(*V6, 43, header + UDP), vlan=vlan)
    back = ethernet(ip(receiver, V6[0], 17, datagram(6, 5, 50)), vlan=vlan)
    found = tables(pcap([(0, there), (1, back)], snaplen=snaplen))
    assert flow_rows(found, "connection", *ENDS, "payload_bytes") == [
        (0, V6[0], receiver, 5, 6, 100),
        (0, receiver, V6[0], 6, 5, 50),
    ]


def test_a_host_away_from_home_is_known_by_its_home_address() -> None:
    option = struct.pack(">BBBBBBBB", 17, 2, 1, 2, 0, 0, 201, 16) + ip_address(HOME).packed
    there = ethernet(ip(*V6, 60, option + UDP))
    back = ethernet(ip(V6[1], V6[0], 43, route(17, 1, HOME, kind=2) + datagram(6, 5, 50)))
    found = tables(pcap([(0, there), (1, back)]))
    assert flow_rows(found, "connection", *ENDS) == [
        (0, HOME, V6[1], 5, 6),
        (0, V6[1], HOME, 6, 5),
    ]


@pytest.mark.parametrize(
    ("protocol", "inside", "tunnel", "ends"),
    [
        # RFC 8986: End.DT4, End.DT6, End.DX2; with a routing header, ...
        (43, route(4, 1, LAST, NEXT) + INNER, "srv6", V4),
        (43, route(41, 1, LAST, NEXT) + ip(*V6, 17, UDP), "srv6", V6),
        (43, route(143, 0, LAST) + ethernet(INNER), "srv6", V4),
        # ... and, for a single segment, without.
        (4, INNER, "4in6", V4),
        (41, ip(*V6, 17, UDP), "6in6", V6),
        (143, ethernet(INNER), "srv6", V4),
        (143, ethernet(ip(*V6, 17, UDP), vlan=9), "srv6", V6),
    ],
)
def test_packets_inside_segment_routing(
    protocol: int, inside: bytes, tunnel: str, ends: tuple[str, str]
) -> None:
    found = one(ethernet(ip("2001:db8:e::1", NEXT, protocol, inside)))
    assert flow_rows(found, *ENDS, "tunnel") == [(*ends, 5, 6, tunnel)]
    assert found["captures"]["tunnelled_packets"].to_list() == [1]


def test_nothing_behind_the_last_header_is_read() -> None:
    found = one(ethernet(ip(*V6, 59, UDP)))
    assert found["flows"].select("src_port", "payload_bytes").rows() == [(None, 0)]


@pytest.mark.parametrize("length", [70_000, 200_000])
def test_a_jumbogram_tells_its_length_in_an_option(length: int) -> None:
    option = struct.pack(">BBBBI", 17, 0, 0xC2, 4, length)
    packet = bytearray(ip(*V6, 0, option + struct.pack(">HHHH", 5, 6, 0, 0) + bytes(100)))
    packet[4:6] = bytes(2)
    frame = ethernet(bytes(packet))
    found = tables(pcap([(0, frame)], originals=[14 + 40 + length]))
    columns = ("ip_bytes", "payload_bytes", "wire_bytes")
    assert flow_rows(found, *columns) == [(40 + length, length - 16, 54 + length)]
    assert found["captures"]["length_conflict_packets"].to_list() == [0]
    assert found["captures"]["super_packets"].to_list() == [1]
    # Either the record or the option is wrong.
    found = tables(pcap([(0, frame)], originals=[2**32 - 1]))
    assert flow_rows(found, *columns) == [(40 + length, length - 16, 54 + length)]
    packet[44:48] = b"\xff" * 4
    found = one(ethernet(bytes(packet)))
    assert found["flows"]["ip_bytes"].to_list() == [len(packet)]


def test_a_name_server_that_answers_the_port_of_a_tunnel_is_no_tunnel() -> None:
    found = thread("48")
    assert flow_rows(found, "src_port", "dst_port", "tunnel") == [(53, 4789, None)]
    assert found["flows"].select(pl.col("payload_bytes")).to_series().to_list() == [52]
