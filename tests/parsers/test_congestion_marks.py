"""Congestion marks (ECN): which packets could be marked, which were, and which echo a mark."""

from __future__ import annotations

import struct

from build import datagram, ethernet, ip, pcap, tcp
from conversation import ACK, MS, SYN, Conversation, Kind
from hypothesis import given, settings
from hypothesis import strategies as st
from made_captures import Tables, flow_rows, tables, thread

NOT_CAPABLE, ECT_1, ECT_0, CE = range(4)
ECE, CWR, AE = 0x40, 0x80, 0x100
COUNTS = ("ecn_capable_packets", "ce_packets", "ece_packets", "cwr_packets")


def marked(frame: bytes, mark: int) -> bytes:
    """Returns the frame with these ECN bits in its IP header."""
    at = 18 if frame[12:14] == b"\x81\x00" else 14
    changed = bytearray(frame)
    if frame[at] >> 4 == 6:
        changed[at + 1] = frame[at + 1] & 0xCF | mark << 4
    else:
        changed[at + 1] = frame[at + 1] & 0xFC | mark
    return bytes(changed)


def counts(found: Tables) -> list[tuple[object, ...]]:
    return flow_rows(found, *COUNTS)


def test_three_of_ten_packets_are_marked_and_each_is_echoed() -> None:
    found = thread("44")
    assert counts(found) == [(10, 3, 0, 0), (0, 0, 3, 0)]
    marks = found["packets"].filter(direction="forward")["ecn"].to_list()
    assert (marks.count(ECT_0), marks.count(CE)) == (7, 3)


@settings(max_examples=60, deadline=None)
@given(
    kind=st.builds(
        Kind,
        v6=st.booleans(),
        vlan=st.sampled_from([None, 10]),
        turned=st.booleans(),
        client_isn=st.sampled_from([1000, 2**32 - 500]),
        snaplen=st.sampled_from([96, 262_144]),
    ),
    steps=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([ACK, ACK | ECE, ACK | CWR, ACK | ECE | CWR])),
        min_size=1,
        max_size=30,
    ),
)
def test_marks_and_echoes_are_counted_as_they_were_made(
    kind: Kind, steps: list[tuple[int, int]]
) -> None:
    talk = Conversation(kind)
    # In a SYN these bits are no echo.
    talk.send(0, 0, SYN | ECE | CWR)
    talk.send(10 * MS, 1, SYN | ACK | ECE)
    talk.send(10 * MS + 10, 0)
    for number, (mark, flags) in enumerate(steps):
        time = (20 + 20 * number) * MS
        talk.send(time, 0, flags & ~ECE, payload=1000)
        talk.packets[-1] = (time, marked(talk.packets[-1][1], mark))
        talk.send(time + 10 * MS, 1, flags & ~CWR)
    found = tables(pcap(talk.packets, snaplen=kind.snaplen))
    marks = [mark for mark, _ in steps]
    flag_counts = [sum(bool(flags & bit) for _, flags in steps) for bit in (ECE, CWR)]
    assert counts(found) == [
        (len(marks) - marks.count(NOT_CAPABLE), marks.count(CE), 0, flag_counts[1]),
        (0, 0, flag_counts[0], 0),
    ]
    client_marks = found["packets"].filter(direction="forward")["ecn"].to_list()
    assert client_marks == [0, 0, *marks]


def test_the_counter_of_accecn_is_no_echo() -> None:
    ends = ("10.0.0.1", 1000, "10.0.0.2", 80)
    back = (*ends[2:], *ends[:2])
    sent = [marked(tcp(*ends, flags=ACK | AE | ECE, seq=at, payload=10), ECT_1) for at in (0, 10)]
    # The counter begins at 5; 6 reports one mark.
    answers = [tcp(*back, flags=ACK | AE | bits, ack=20) for bits in (ECE, CWR)]
    frames = [*sent, *answers]
    found = tables(pcap([(number * MS, frame) for number, frame in enumerate(frames)]))
    assert counts(found) == [(2, 0, None, None), (0, 0, None, None)]


def test_datagrams_are_marked_too_and_echo_nothing() -> None:
    frames = [marked(ethernet(ip("10.0.0.1", "10.0.0.2", 17, datagram(5, 6, 9))), mark)
              for mark in (CE, ECT_0)]  # fmt: skip
    found = tables(pcap([(number * MS, frame) for number, frame in enumerate(frames)]))
    assert counts(found) == [(2, 1, None, None)]


def test_a_mark_on_a_tunnel_is_not_one_of_the_flow_inside() -> None:
    inner = ip("10.0.0.1", "10.0.0.2", 17, datagram(5, 6, 9))
    outer = marked(ethernet(ip("192.0.2.1", "192.0.2.2", 4, inner)), CE)
    assert counts(tables(pcap([(0, outer)]))) == [(0, 0, None, None)]


def test_a_packet_of_no_flow_has_no_mark() -> None:
    found = tables(pcap([(0, bytes(12) + struct.pack(">H", 0x0806) + bytes(46))]))
    assert found["packets"]["ecn"].to_list() == [None]
