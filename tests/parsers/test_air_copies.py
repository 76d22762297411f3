"""Copies of a packet in 802.11 frames that a radio sent twice."""

from __future__ import annotations

import struct

import build
import pytest
from conversation import MS, US, Conversation, Kind, whole
from made_captures import flow_rows, tables

COUNTS = ("packets", "payload_bytes", "retransmitted_packets", "retransmitted_bytes")
#: Packets without an IPv4 identification, with one, and with a longer header.
KINDS = [Kind(identified=False), Kind(), Kind(v6=True)]


def put_on_air(frame: bytes, number: int, *, retry: bool = False) -> bytes:
    """Returns an 802.11 data frame with the content of `frame` and sequence number `number`."""
    control = bytes([0x08, 0x09 if retry else 0x01])
    source = frame[26:30] if frame[12:14] == b"\x08\0" else frame[34:38]
    sender = b"\2\1" + source
    addresses = bytes(6) + sender + bytes(6)
    header = control + bytes(2) + addresses + struct.pack("<H", number << 4 & 0xFFFF)
    return header + b"\xaa\xaa\3\0\0\0" + frame[12:]


def aired(made: Conversation, delay: int, *, retry: bool, same: bool = True) -> bytes:
    """Sends each third packet again after `delay`, in the same frame or in a new one."""
    packets = []
    for number, (time, frame) in enumerate(made.packets):
        packets.append((time, put_on_air(frame, 2 * number)))
        if number % 3 == 2:
            again = 2 * number if same else 2 * number + 1
            packets.append((time + delay, put_on_air(frame, again, retry=retry)))
    return build.pcap(sorted(packets, key=lambda packet: packet[0]), link=105)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("delay", [40 * US, 2 * MS, 15 * MS])
def test_a_frame_that_the_radio_sent_again_is_a_copy(kind: Kind, delay: int) -> None:
    once = tables(
        build.pcap([(at, put_on_air(it, 0)) for at, it in whole(kind, 5).packets], link=105)
    )
    found = tables(aired(whole(kind, 5), delay, retry=True))
    assert found["captures"]["duplicate_packets"].to_list() == [len(whole(kind, 5).packets) // 3]
    assert flow_rows(found, *COUNTS) == flow_rows(once, *COUNTS)


@pytest.mark.parametrize("retry", [False, True])
def test_a_packet_in_another_frame_was_sent_by_its_host(retry: bool) -> None:
    """The frame has another number: TCP sent the segment again 15 ms later."""
    made = whole(Kind(identified=False), 5)
    found = tables(aired(made, 15 * MS, retry=retry, same=False))
    assert found["captures"]["duplicate_packets"].to_list() == [0]


def test_packets_behind_the_first_of_a_frame_are_counted() -> None:
    frame = whole(Kind(), 1).packets[3][1]
    subframe = frame[:12] + struct.pack(">H", len(frame) - 6) + b"\xaa\xaa\3\0\0\0" + frame[12:]
    padding = bytes(-len(subframe) % 4)
    header = b"\x88\1" + bytes(22) + b"\x80\0"
    found = tables(build.pcap([(0, header + subframe + padding + subframe)], link=105))
    assert found["captures"]["unread_subframes"].to_list() == [1]
    assert flow_rows(found, "packets") == [(1,)]
