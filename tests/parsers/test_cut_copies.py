"""Copies with fewer captured bytes: by snap length, or because of a longer header."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import build
import pytest
from conversation import MS, US, Conversation, Kind, tables, whole
from hypothesis import given, settings
from hypothesis import strategies as st
from test_changed_copies import checksummed
from test_wrapped_copies import in_gre, in_label, in_pppoe, in_tag, in_two_tags

WHOLE = 262_144
Packets = list[tuple[int, bytes]]


def udp(rng: random.Random, payload: bytes, _: int) -> tuple[int, bytes]:
    checksum = rng.randrange(1, 65536)
    return 17, struct.pack(">HHHH", 5000, 443, 8 + len(payload), checksum) + payload


def udp_without_checksum(_: random.Random, payload: bytes, __: int) -> tuple[int, bytes]:
    return 17, struct.pack(">HHHH", 5000, 443, 8 + len(payload), 0) + payload


def icmp(rng: random.Random, payload: bytes, number: int) -> tuple[int, bytes]:
    return 1, struct.pack(">BBHHH", 8, 0, rng.randrange(65536), 7, number) + payload


def sctp(rng: random.Random, payload: bytes, number: int) -> tuple[int, bytes]:
    head = struct.pack(">HHII", 5000, 5001, 9, rng.randrange(1, 2**32))
    return 132, head + struct.pack(">BBHIHHI", 0, 3, 16 + len(payload), number, 0, 0, 0) + payload


def esp(_: random.Random, payload: bytes, number: int) -> tuple[int, bytes]:
    return 50, struct.pack(">II", 77, number) + payload


Maker = Callable[[random.Random, bytes, int], tuple[int, bytes]]


def sent(maker: Maker, *, v6: bool, identified: bool, seed: int = 1) -> Packets:
    """Returns forty different packets of one sender."""
    rng = random.Random(seed)
    ends = ("fd00::1", "fd00::2") if v6 else ("10.0.0.1", "10.0.0.2")
    packets = []
    for number in range(40):
        protocol, content = maker(rng, rng.randbytes(rng.choice([200, 700, 1200])), number)
        if v6 and protocol == 1:
            protocol, content = 58, b"\x80" + content[1:]
        ident = 100 + number if identified else 0
        packet = build.ip(*ends, protocol, content, ident=ident)
        packets.append((number * 5 * MS, build.ethernet(packet)))
    return packets


def capture_at_two_interfaces(packets: Packets, snaplens: tuple[int, int], delay: int) -> bytes:
    """Returns a pcapng file whose two interfaces show each packet, cut at their snap lengths."""
    both = [
        (time + late, frame, place)
        for time, frame in packets
        for place, late in enumerate((0, delay))
    ]
    blocks = []
    for time, frame, place in sorted(both, key=lambda packet: (packet[0], packet[2])):
        ticks, captured = build.START_NS + time, frame[: snaplens[place]]
        lengths = (len(captured), len(frame))
        head = struct.pack("<IIIII", place, ticks >> 32, ticks & 0xFFFF_FFFF, *lengths)
        blocks.append(build.block(6, head + captured + bytes(-len(captured) % 4)))
    described = build.interface(build.option(9, b"\x09"))
    return build.SECTION + 2 * described + b"".join(blocks)


@pytest.mark.parametrize("snaplens", [(WHOLE, 96), (96, WHOLE), (96, 128)])
@pytest.mark.parametrize("maker", [udp, icmp, sctp, esp])
@pytest.mark.parametrize(("v6", "identified"), [(False, True), (False, False), (True, False)])
def test_interfaces_of_two_snap_lengths_show_the_same_packets(
    maker: Maker, v6: bool, identified: bool, snaplens: tuple[int, int], tmp_path: Path
) -> None:
    path = tmp_path / "a.pcapng"
    packets = sent(maker, v6=v6, identified=identified)
    path.write_bytes(capture_at_two_interfaces(packets, snaplens, 3 * US))
    found = tables(path)
    assert found["captures"]["duplicate_packets"].to_list() == [0, 40]
    assert found["flows"]["packets"].to_list() == [40]


@settings(max_examples=40, deadline=None)
@given(
    v6=st.booleans(),
    identified=st.booleans(),
    snaplens=st.sampled_from([(WHOLE, 96), (96, WHOLE), (96, 128), (128, 96)]),
    is_left=st.booleans(),
)
def test_segments_at_interfaces_of_two_snap_lengths_count_once(
    v6: bool,
    identified: bool,
    snaplens: tuple[int, int],
    is_left: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("lengths") / "a.pcapng"
    kind = Kind(v6=v6, identified=identified)
    made = whole(kind)
    made.packets[:] = [
        (time, checksummed(frame, kind, left=is_left)) for time, frame in made.packets
    ]
    once = tables(made.write(path))
    path.write_bytes(capture_at_two_interfaces(made.packets, snaplens, 3 * US))
    twice = tables(path)
    assert twice["captures"]["duplicate_packets"].to_list() == [0, 10]
    assert twice["flows"].equals(once["flows"])


@pytest.mark.parametrize("wrap", [in_tag, in_two_tags, in_label, in_pppoe, in_gre])
@pytest.mark.parametrize("maker", [udp, udp_without_checksum, icmp, sctp, esp])
@pytest.mark.parametrize(("v6", "identified"), [(False, True), (False, False), (True, False)])
def test_a_tag_that_leaves_less_of_a_packet_makes_no_other_one(
    maker: Maker,
    v6: bool,
    identified: bool,
    wrap: Callable[[bytes, int], bytes],
    tmp_path: Path,
) -> None:
    packets = sent(maker, v6=v6, identified=identified)
    wrapped = [(time + 4 * US, wrap(frame, 1)) for time, frame in packets]
    both = sorted(packets + wrapped, key=lambda packet: packet[0])
    # Headers, and 24 bytes of packets without a checksum, must fit inside the longest tunnel.
    made = Conversation(Kind(snaplen=120 if maker is udp_without_checksum else 96), both)
    found = tables(made.write(tmp_path / "a.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [40]
    assert found["flows"]["packets"].to_list() == [40]


def test_datagrams_of_one_checksum_and_other_bytes_are_no_copies(tmp_path: Path) -> None:
    """Even if the TTL differs by route: some senders use one checksum for all datagrams."""
    rng = random.Random(1)
    packets = []
    for number in range(100):
        header = struct.pack(">HHHH", 5000, 443, 108, 0x1234)
        packet = bytearray(build.ip("fd00::1", "fd00::2", 17, header + rng.randbytes(100)))
        packet[7] = 64 - number % 2
        packets.append((number * 100 * US, build.ethernet(bytes(packet))))
    both = Conversation(Kind(), [*packets, (20 * MS, packets[-1][1])])
    found = tables(both.write(tmp_path / "a.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [0]
    assert found["flows"]["packets"].to_list() == [101]


def stamped(kind: Kind) -> Packets:
    """Returns a conversation with timestamps, right checksums, and a SACK block in every third."""
    made = whole(kind)
    packets = []
    header = 54 if kind.v6 else 34
    for number, (time, frame) in enumerate(made.packets):
        options = struct.pack(">BBBBII", 1, 1, 8, 10, 1000 + number, 7)
        if number % 3 == 0:
            options += struct.pack(">BBBBII", 1, 1, 5, 10, 2**20, 2**20 + number)
        segment = bytearray(frame[header:])
        segment[12] = (5 + len(options) // 4) << 4
        longer = bytearray(frame[:header] + segment[:20] + options + segment[20:])
        at = 18 if kind.v6 else 16
        length = struct.unpack_from(">H", longer, at)[0] + len(options)
        struct.pack_into(">H", longer, at, length)
        packets.append((time, checksummed(bytes(longer), kind, left=False)))
    return packets


@pytest.mark.parametrize("snaplens", [(WHOLE, 64), (64, WHOLE), (60, 68), (68, 80), (64, 96)])
@pytest.mark.parametrize(("v6", "identified"), [(False, True), (False, False), (True, False)])
def test_a_segment_that_was_cut_within_its_options_is_a_copy(
    v6: bool, identified: bool, snaplens: tuple[int, int], tmp_path: Path
) -> None:
    kind = Kind(v6=v6, identified=identified)
    packets = stamped(kind)
    more = 20 if v6 else 0
    path = tmp_path / "a.pcapng"
    lengths = (snaplens[0] + more, snaplens[1] + more)
    path.write_bytes(capture_at_two_interfaces(packets, lengths, 3 * US))
    found = tables(path)
    assert found["captures"]["duplicate_packets"].to_list() == [0, 10]
    assert found["flows"]["packets"].to_list() == [6, 4]


def test_a_cut_acknowledgement_leaves_other_ways_to_know_a_copy(tmp_path: Path) -> None:
    """The checksum was left to the interface, and a router clamped the MSS."""
    made = whole(Kind(v6=True))
    syn = build.tcp("fd00::1", 40000, "fd00::2", 80, 2, 1000, mss=1460)
    clamped = build.tcp("fd00::1", 40000, "fd00::2", 80, 2, 1000, mss=1400)
    made.packets[0] = (0, syn)
    kind = made.kind
    first = [(time, checksummed(frame, kind, left=True)) for time, frame in made.packets]
    second = [(t + 4 * US, checksummed(frame, kind, left=False)) for t, frame in made.packets]
    first[0] = (0, checksummed(syn, kind, left=False))
    second[0] = (4 * US, checksummed(clamped, kind, left=False))
    # an acknowledgement of another connection, cut within its options
    cut = build.tcp("fd00::1", 1, "fd00::2", 2, options=bytes([1, 1, 8, 10]) + bytes(36))
    both = sorted([*first, *second, (MS, checksummed(cut, kind, left=False))])
    found = tables(Conversation(Kind(snaplen=96), both).write(tmp_path / "a.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [10]


def test_segments_of_one_checksum_and_other_options_are_no_copies(tmp_path: Path) -> None:
    """The checksum stands in for options only if they were not captured."""
    packets = []
    for number in range(40):
        edges = (1001, 2001) if number % 2 else (3001, 4001)
        other = (3001, 4001) if number % 2 else (1001, 2001)
        blocks = struct.pack(">BBBBIIII", 1, 1, 5, 18, *edges, *other)
        frame = build.tcp("fd00::1", 80, "fd00::2", 90, 0x10, 1, 0, 1, options=blocks)
        packets.append((number * 10 * US, checksummed(frame, Kind(v6=True), left=False)))
    made = Conversation(Kind(v6=True), packets)
    found = tables(made.write(tmp_path / "a.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [0]
    assert found["flows"]["packets"].to_list() == [40]


def test_acknowledgements_of_one_receiver_that_were_cut_to_their_ports_are_no_copies(
    tmp_path: Path,
) -> None:
    """A snap length of 64 leaves ten bytes of TCP after IPv6, without the whole ACK number."""
    made = Conversation(Kind(v6=True, snaplen=64))
    for number in range(400):
        made.send(number * 100 * US, 0, payload=1000)
        made.send(number * 100 * US + 50 * US, 1)
    found = tables(made.write(tmp_path / "a.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [0]
    assert found["flows"]["packets"].to_list() == [400, 400]


def test_data_that_were_cut_to_their_ports_are_copies(tmp_path: Path) -> None:
    made = Conversation(Kind(v6=True, snaplen=64))
    for number in range(40):
        made.send(number * 5 * MS, 0, payload=1000)
    twice = [(time + late, frame) for time, frame in made.packets for late in (0, 4 * US)]
    both = Conversation(made.kind, twice)
    found = tables(both.write(tmp_path / "a.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [40]
