"""Copies of packets other than TCP and plain UDP: ICMP, fragments, ARP, MPTCP, WireGuard."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

import build
import polars.selectors as cs
import pytest
from conversation import MS, US, Kind, whole
from made_captures import Tables, tables

#: Columns of `flows` that depend on the times of both sides.
TIMED = cs.matches("rtt_|_limited_ns")
V4, V6 = ("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")


def doubled(packets: list[tuple[int, bytes]], delay: int) -> Tables:
    """Returns the tables with each packet recorded again after `delay`."""
    both = packets + [(time + delay, frame) for time, frame in packets]
    return tables(build.pcap(sorted(both, key=lambda packet: packet[0])))


def assert_counted_once(packets: list[tuple[int, bytes]], delay: int) -> None:
    once, twice = tables(build.pcap(packets)), doubled(packets, delay)
    assert once["captures"]["duplicate_packets"].to_list() == [0]
    assert twice["captures"]["duplicate_packets"].to_list() == [len(packets)]
    left, found = once["flows"], twice["flows"]
    if delay > MS:
        # With such a delay, a late mirror looks like a second capture point on the path.
        assert found["rtt_samples"].to_list() == [0] * found.height
        assert found["handshake_rtt_ns"].null_count() == found.height
        left, found = left.drop(TIMED), found.drop(TIMED)
    assert found.equals(left)


def echoes(*, v6: bool, identified: bool) -> list[tuple[int, bytes]]:
    """Returns echo requests and replies, one of each every 100 ms."""
    packets = []
    for number in range(12):
        for side in (0, 1):
            ends = (V6 if v6 else V4)[:: -1 if side else 1]
            kind = (128 + side if v6 else 8 * (1 - side), number)
            content = struct.pack(">BBHHH", kind[0], 0, 0x1111 + number * 7, 77, number) + bytes(56)
            ident = 100 + number if identified else 0
            packet = build.ip(*ends, 58 if v6 else 1, content, ident=ident)
            packets.append((number * 100 * MS + side * 10 * MS, build.ethernet(packet)))
    return packets


@pytest.mark.parametrize("delay", [3 * US, 200 * US])
@pytest.mark.parametrize(("v6", "identified"), [(False, True), (False, False), (True, False)])
def test_echoes_recorded_twice_count_once(delay: int, v6: bool, identified: bool) -> None:
    assert_counted_once(echoes(v6=v6, identified=identified), delay)


@pytest.mark.parametrize("delay", [3 * US, 200 * US])
def test_fragments_of_ipv6_recorded_twice_count_once(delay: int) -> None:
    packets = []
    for number in range(10):
        content = struct.pack(">HHHH", 5, 6, 8 + 2400, 0) + bytes(2400)
        for part, begin in enumerate(range(0, 2408, 1200)):
            more = begin + 1200 < 2408
            header = struct.pack(">BBHI", 17, 0, begin | more, 9000 + number)
            packet = build.ip(*V6, 44, header + content[begin : begin + 1200])
            packets.append((number * 50 * MS + part * US, build.ethernet(packet)))
    assert_counted_once(packets, delay)


@pytest.mark.parametrize("delay", [3 * US, 200 * US])
def test_wireguard_recorded_twice_counts_once(delay: int) -> None:
    """Data messages have a receiver and a counter, keepalives too: no two are alike."""
    dice, packets = random.Random(5), []
    for number in range(40):
        side = number % 2
        ends, ports = V4[:: -1 if side else 1], (51_820, 51_820)
        size = 16 if number % 7 == 6 else 144
        message = struct.pack("<IIQ", 4, 0xABCD + side, number // 2) + dice.randbytes(size)
        header = struct.pack(">HHHH", *ports, 8 + len(message), 0)
        packet = build.ip(*ends, 17, header + message)
        packets.append((number * 5 * MS, build.ethernet(packet)))
    assert_counted_once(packets, delay)


@pytest.mark.parametrize("delay", [3 * US, 200 * US, 3 * MS])
@pytest.mark.parametrize("identified", [False, True])
def test_mptcp_recorded_twice_counts_once(delay: int, identified: bool) -> None:
    """Two subflows whose segments carry a data sequence signal, RFC 8684 3.3."""
    packets = []
    for subflow in (0, 1):
        made = whole(Kind(identified=identified, client_isn=1000 + 5000 * subflow), 4)
        for number, (time, frame) in enumerate(made.packets):
            signal = struct.pack(">BBBBIIHH", 30, 18, 0x20, 0x05, number, number, 0, 0) + b"\1\1"
            port = struct.pack(">H", 40_000 + subflow)
            head = frame[34:54].replace(struct.pack(">H", 40_000), port)
            data = (frame[46] >> 4) + len(signal) // 4 << 4
            head = head[:12] + bytes([data]) + head[13:]
            total = struct.pack(">H", len(frame) - 14 + len(signal))
            changed = frame[:16] + total + frame[18:34] + head + signal + frame[54:]
            packets.append((time + subflow * 700 * US, changed))
    assert_counted_once(sorted(packets, key=lambda packet: packet[0]), delay)


def in_ring(frame: bytes, number: int, path: int) -> bytes:
    """Adds the tag of seamless redundancy (HSR): path and size, a number."""
    tag = struct.pack(">HHH", 0x892F, path << 12 | len(frame) - 14 + 6, number)
    return frame[:12] + tag + frame[12:]


def on_two_networks(frame: bytes, number: int, path: int) -> bytes:
    """Adds the trailer of parallel redundancy (PRP): a number, network and size, a suffix."""
    return frame + struct.pack(">HHH", number, (0xA + path) << 12 | len(frame) - 14 + 6, 0x88FB)


@pytest.mark.parametrize("delay", [3 * US, 90 * US])
@pytest.mark.parametrize("identified", [False, True])
@pytest.mark.parametrize("redundant", [in_ring, on_two_networks])
def test_a_frame_that_was_sent_on_two_paths_counts_once(
    redundant: Callable[[bytes, int, int], bytes], identified: bool, delay: int
) -> None:
    """IEC 62439-3: datagrams and TCP segments, each on both paths."""
    plain = whole(Kind(identified=identified), 5).packets
    for number in range(30):
        content = struct.pack(">HHHHI", 5, 6, 8 + 104, 0, number) + bytes(100)
        ident = 500 + number if identified else 0
        packet = build.ip(*V4, 17, content, ident=ident)
        plain.append((number * 7 * MS, build.ethernet(packet)))
    plain.sort(key=lambda packet: packet[0])
    both = [
        (time + path * delay, redundant(frame, number, path))
        for number, (time, frame) in enumerate(plain)
        for path in (0, 1)
    ]
    twice = tables(build.pcap(sorted(both, key=lambda packet: packet[0])))
    once = tables(build.pcap(plain))
    assert twice["captures"]["duplicate_packets"].to_list() == [len(plain)]
    sizes = ("packets", "payload_bytes", "retransmitted_packets")
    assert twice["flows"].select(sizes).equals(once["flows"].select(sizes))


@pytest.mark.parametrize("delay", [3 * US, 200 * US])
def test_arp_is_in_no_flow_and_no_copy(delay: int) -> None:
    """A host's repeated requests look alike; other protocols count as recorded."""
    packets = echoes(v6=False, identified=True)
    for number in range(5):
        body = struct.pack(">HHBBH", 1, 0x0800, 6, 4, 1) + bytes(16) + bytes([10, 0, 0, number])
        packets.append((number * 70 * MS, build.ethernet(body, kind=0x0806)))
    packets.sort(key=lambda packet: packet[0])
    once, twice = tables(build.pcap(packets)), doubled(packets, delay)
    captures = twice["captures"]
    assert captures.select("duplicate_packets", "not_ip_packets").rows() == [(24, 10)]
    assert captures["undecoded_packets"].to_list() == [10]
    assert twice["flows"].equals(once["flows"])
