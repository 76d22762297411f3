"""Copies of packets that changed between two capture points: checksum, MSS, segment size."""

from __future__ import annotations

import struct
from pathlib import Path

import build
import polars as pl
import pytest
from conversation import ACK, MS, SYN, US, Conversation, Kind, tables, whole
from hypothesis import given, settings
from hypothesis import strategies as st

KINDS = st.builds(
    Kind,
    v6=st.booleans(),
    vlan=st.sampled_from([None, 7]),
    turned=st.booleans(),
    identified=st.booleans(),
    client_isn=st.sampled_from([1000, 2**32 - 900]),
    snaplen=st.sampled_from([96, 262_144]),
)
#: Ethernet's MSS, and a segment that a host hands to its interface in one piece.
MSS = 1460
LARGE = 10 * MSS


def folded(data: bytes) -> int:
    """Returns the folded sum of 16-bit words, RFC 1071."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data[: len(data) // 2 * 2]))
    total += data[-1] << 8 if len(data) % 2 else 0
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def checksummed(frame: bytes, kind: Kind, *, left: bool) -> bytes:
    """Returns the frame with a TCP checksum; `left`: the partial sum that offloading leaves."""
    network = 14 if kind.vlan is None else 18
    transport = network + (40 if kind.v6 else 20)
    changed = bytearray(frame)
    ends = frame[network + 8 : transport] if kind.v6 else frame[network + 12 : transport]
    before = ends + struct.pack(">HH", 6, len(frame) - transport)
    at = transport + 16
    changed[at : at + 2] = b"\0\0"
    total = folded(before) if left else 0xFFFF - folded(before + bytes(changed[transport:]))
    changed[at : at + 2] = struct.pack(">H", total)
    return bytes(changed)


@settings(max_examples=60, deadline=None)
@given(kind=KINDS, delay=st.sampled_from([0, 4 * US, 300 * US]))
def test_a_checksum_that_an_interface_fills_in_makes_no_other_packet(
    kind: Kind, delay: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("filled") / "a.pcap"
    made = whole(kind)
    made.packets[:] = [(time, checksummed(frame, kind, left=False)) for time, frame in made.packets]
    once = tables(made.write(path))
    left = [(time, checksummed(frame, kind, left=True)) for time, frame in made.packets]
    filled = [(time + delay, frame) for time, frame in made.packets]
    made.packets[:] = sorted(left + filled, key=lambda packet: packet[0])
    twice = tables(made.write(path))
    assert twice["captures"]["duplicate_packets"].to_list() == [10]
    assert twice["flows"].equals(once["flows"])


@pytest.mark.parametrize("kind", [Kind(), Kind(v6=True), Kind(identified=False)])
def test_data_sent_again_with_another_checksum_are_no_copy(kind: Kind, tmp_path: Path) -> None:
    made = Conversation(kind)
    made.open(0)
    for number in range(30):
        made.ping((number + 1) * 100 * MS)
    again = checksummed(made.packets[-2][1], kind, left=True)
    made.packets.append((made.packets[-2][0] + 300 * MS, again))
    found = tables(made.write(tmp_path / "a.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [0]
    assert found["flows"]["retransmitted_packets"].to_list() == [1, 0]


@pytest.mark.parametrize("v6", [False, True])
def test_a_router_that_clamps_the_mss_makes_no_other_packet(v6: bool, tmp_path: Path) -> None:
    kind = Kind(v6=v6)
    plain = whole(kind)
    network, transport = 14, 14 + (40 if v6 else 20)

    def announced(frame: bytes, mss: int, hops: int) -> bytes:
        changed = bytearray(frame)
        changed[network + (7 if v6 else 8)] -= hops
        if frame[transport + 13] & SYN:
            changed[transport + 12] = 6 << 4
            changed[transport + 20 : transport + 20] = struct.pack(">BBH", 2, 4, mss)
            at = network + (4 if v6 else 2)
            length = struct.unpack(">H", changed[at : at + 2])[0] + 4
            changed[at : at + 2] = struct.pack(">H", length)
        return checksummed(bytes(changed), kind, left=False)

    before = [(time, announced(frame, 8960, 0)) for time, frame in plain.packets]
    behind = [(time + 20 * US, announced(frame, 1380, 1)) for time, frame in plain.packets]
    once = Conversation(kind, before).write(tmp_path / "once.pcap")
    both = sorted(before + behind, key=lambda packet: packet[0])
    twice = tables(Conversation(kind, both).write(tmp_path / "twice.pcap"))
    assert twice["captures"]["duplicate_packets"].to_list() == [10]
    assert twice["flows"].equals(tables(once)["flows"])


def divided(
    made: Conversation, time: int, *, ttl: int = 63, gap: int = 12 * US
) -> list[tuple[int, bytes]]:
    """Sends a large segment; returns its parts as seen at another capture point."""
    first, ident = made.sent[0], made.ident
    made.send(time, 0, payload=LARGE)
    made.ident = ident
    parts = [
        (
            time + 5 * US + number * gap,
            made.frame(0, ACK, first + number * MSS, made.sent[1], MSS, ttl),
        )
        for number in range(LARGE // MSS)
    ]
    made.packets += parts
    made.send(time + 10 * MS, 1)
    return parts


def write_both(here: list[tuple[int, bytes]], there: list[tuple[int, bytes]], path: Path) -> Path:
    """Writes a pcapng file of two interfaces."""
    nanoseconds = build.interface(build.option(9, b"\x09"))
    packets = sorted([(*packet, 0) for packet in here] + [(*packet, 1) for packet in there])
    blocks = [
        build.enhanced(build.START_NS + time, frame, number=number)
        for time, frame, number in packets
    ]
    path.write_bytes(build.SECTION + 2 * nanoseconds + b"".join(blocks))
    return path


@settings(max_examples=60, deadline=None)
@given(kind=KINDS, gap=st.sampled_from([1 * US, 12 * US, 900 * US]), is_routed=st.booleans())
def test_parts_of_a_large_segment_are_copies_of_it(
    kind: Kind, gap: int, is_routed: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A container's interface shows the whole segment, the one behind the bridge its parts."""
    path = tmp_path_factory.mktemp("parts") / "a.pcap"
    made = Conversation(kind)
    made.open(0)
    parts = [
        part
        for number in range(3)
        for part in divided(made, (number + 1) * 50 * MS, ttl=64 - is_routed, gap=gap)
    ]
    here = [packet for packet in made.packets if packet not in parts]
    network = 14 if kind.vlan is None else 18
    there = list(parts)
    for time, frame in here:
        if len(frame) < 100:
            changed = bytearray(frame)
            changed[network + (7 if kind.v6 else 8)] -= is_routed
            there.append((time + 5 * US, bytes(changed)))
    if is_routed:
        made.packets = sorted(here + there)
        path = made.write(path)
    else:
        path = write_both(here, there, path)
    found = tables(path)
    assert found["captures"]["duplicate_packets"].sum() == len(there)
    assert found["flows"]["payload_bytes"].to_list() == [3 * LARGE, 0]
    assert found["flows"]["retransmitted_packets"].to_list() == [0, 0]
    copies = found["packets"].filter(pl.col("copy_of").is_not_null(), payload_bytes=MSS)
    whole_ones = found["packets"].filter(payload_bytes=LARGE)["packet"]
    assert copies["copy_of"].to_list() == [
        number for number in whole_ones for _ in range(LARGE // MSS)
    ]


@pytest.mark.parametrize("kind", [Kind(), Kind(v6=True), Kind(identified=False)])
@pytest.mark.parametrize("is_at_both", [False, True])
def test_a_part_that_is_sent_again_counts(kind: Kind, is_at_both: bool, tmp_path: Path) -> None:
    made = Conversation(kind)
    made.open(0)
    begin = made.sent[0]
    parts = divided(made, 50 * MS)
    made.packets.remove(made.packets[-1])  # nothing is acknowledged
    copies = parts if is_at_both else []
    if not is_at_both:
        made.packets = [packet for packet in made.packets if packet not in parts]
    made.ident += 20
    for number in (3, 7):
        time = 70 * MS + number * MS
        ident = made.ident
        for ttl, late in ((64, 0), (63, 5 * US))[: 1 + is_at_both]:
            made.ident = ident
            frame = made.frame(0, ACK, begin + number * MSS, made.sent[1], MSS, ttl)
            made.packets.append((time + late, frame))
    made.packets.sort(key=lambda packet: packet[0])
    found = tables(made.write(tmp_path / "a.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [len(copies) + 2 * is_at_both]
    assert found["flows"]["retransmitted_packets"].to_list() == [2, 0]
