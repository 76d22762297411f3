"""Copies where one packet lies in a tag, a label or a tunnel, and the other does not."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from conversation import MS, US, Kind, tables, whole
from hypothesis import assume, given, settings
from hypothesis import strategies as st

MACS = bytes(12)
V4 = b"\x08\x00"


def header_sum(header: bytes) -> int:
    """Returns the checksum of an IPv4 header, RFC 1071."""
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def between_routers(protocol: int, content: bytes, number: int) -> bytes:
    """Returns an Ethernet frame with an IPv4 packet of a tunnel."""
    sizes = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(content), number, 0, 64, protocol, 0)
    header = sizes + bytes([192, 168, 0, 1, 192, 168, 0, 2])
    header = header[:10] + struct.pack(">H", header_sum(header)) + header[12:]
    return MACS + V4 + header + content


def in_tag(frame: bytes, _: int) -> bytes:
    return frame[:12] + struct.pack(">HH", 0x8100, 7) + frame[12:]


def in_two_tags(frame: bytes, _: int) -> bytes:
    return frame[:12] + struct.pack(">HHHH", 0x88A8, 7, 0x8100, 9) + frame[12:]


def in_label(frame: bytes, _: int) -> bytes:
    return frame[:12] + b"\x88\x47" + struct.pack(">I", 100 << 12 | 1 << 8 | 64) + frame[14:]


def in_pppoe(frame: bytes, _: int) -> bytes:
    protocol = 0x21 if frame[12:14] == V4 else 0x57
    head = struct.pack(">BBHHH", 0x11, 0, 1, len(frame) - 14 + 2, protocol)
    return frame[:12] + b"\x88\x64" + head + frame[14:]


def in_vxlan(frame: bytes, number: int) -> bytes:
    udp = struct.pack(">HHHH", 5555, 4789, 16 + len(frame), 0)
    return between_routers(17, udp + struct.pack(">II", 8 << 24, 42 << 8) + frame, number)


def in_gre(frame: bytes, number: int) -> bytes:
    return between_routers(47, b"\0\0" + frame[12:], number)


def in_ip(frame: bytes, number: int) -> bytes:
    return between_routers(4 if frame[12:14] == V4 else 41, frame[14:], number)


@settings(max_examples=30, deadline=None)
@given(
    kind=st.builds(
        Kind,
        v6=st.booleans(),
        identified=st.booleans(),
        client_isn=st.sampled_from([1000, 2**32 - 900]),
        snaplen=st.sampled_from([96, 128, 262_144]),
    ),
    delay=st.sampled_from([0, 4 * US, 300 * US, 5 * MS]),
    is_wrapped_first=st.booleans(),
)
@pytest.mark.parametrize("wrap", [in_tag, in_two_tags, in_label, in_pppoe, in_vxlan, in_gre, in_ip])
def test_what_a_packet_is_wrapped_in_makes_no_other_packet(
    wrap: Callable[[bytes, int], bytes],
    kind: Kind,
    delay: int,
    is_wrapped_first: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A bridge and its port, two sides of a router, a container host and its interface."""
    # After a tunnel's headers, 96 bytes do not contain the packet's.
    assume(kind.snaplen > 96 or wrap in (in_tag, in_two_tags, in_label, in_pppoe))
    path = tmp_path_factory.mktemp("wrapped") / "a.pcap"
    made = whole(kind)
    once = tables(made.write(path))
    wrapped = [
        (time, wrap(frame, number)) for number, (time, frame) in enumerate(made.packets, start=1)
    ]
    first, second = (wrapped, made.packets) if is_wrapped_first else (made.packets, wrapped)
    later = [(time + delay, frame) for time, frame in second]
    made.packets[:] = sorted([*first, *later], key=lambda packet: packet[0])
    twice = tables(made.write(path))
    assert twice["captures"]["duplicate_packets"].to_list() == [10]
    sizes = ["packets", "payload_bytes", "retransmitted_packets"]
    assert twice["flows"].select(sizes).equals(once["flows"].select(sizes))
