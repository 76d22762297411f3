"""Equal packets that a host sent over paths of different length are told from copies."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import build
import pytest
from conversation import ACK, MS, RTT, US, Conversation, Kind, tables

Packets = list[tuple[int, bytes]]

#: Datagrams that an application sends.
COUNT = 400
#: Of 64, so that a host's own packets have the first of them.
TTLS = (64, 61)


def datagram(content: int, *, v6: bool, ident: int = 0, port: int = 5000) -> bytes:
    """Returns a datagram whose payload and checksum depend on `content`."""
    ends = ("fd00::1", "fd00::2") if v6 else ("10.0.0.1", "10.0.0.2")
    body = struct.pack(">IHH", content, 0, 0) + bytes(40)
    header = struct.pack(">HHHH", port, 53, 8 + len(body), content * 77 % 65_535 + 1)
    return build.ethernet(build.ip(*ends, 17, header + body, ident=ident))


def along(frame: bytes, path: int, *, hops: bool = True) -> bytes:
    """Returns the frame as it comes along a path: with another next hop, and a lower TTL."""
    changed = bytearray(frame)
    changed[:12] = bytes([2, 0, 0, 0, 0, path] * 2)
    if hops:
        changed[14 + (7 if frame[12:14] == b"\x86\xdd" else 8)] = TTLS[path]
    return bytes(changed)


def parse(packets: Packets, folder: Path) -> tuple[int, int]:
    """Returns the packets and the copies that were found."""
    path = folder / "a.pcap"
    path.write_bytes(build.pcap(sorted(packets, key=lambda packet: packet[0])))
    found = tables(path)
    return found["flows"]["packets"].sum(), found["captures"]["duplicate_packets"].item()


#: What an application sends as its datagram of a number: where it is equal to others, and to which.
APPLICATIONS: dict[str, Callable[[int], int]] = {
    "keep_alives": lambda _: 0,
    "two_contents": lambda number: number % 2,
    "keep_alives_between_others": lambda number: number if number % 3 else 0,
    "each_twice": lambda number: number // 2,
}


@pytest.mark.parametrize("v6", [False, True])
@pytest.mark.parametrize("hops", [False, True])
@pytest.mark.parametrize("gap", [700 * US, 4 * MS, 20 * MS])
@pytest.mark.parametrize("application", APPLICATIONS)
def test_equal_datagrams_on_two_paths_are_no_copies(
    application: str, v6: bool, hops: bool, gap: int, tmp_path: Path
) -> None:
    """Load is balanced over the paths packet by packet, at random."""
    dice = random.Random(gap)
    content = APPLICATIONS[application]
    packets = [
        (number * gap, along(datagram(content(number), v6=v6), dice.randrange(2), hops=hops))
        for number in range(COUNT)
    ]
    assert parse(packets, tmp_path) == (COUNT, 0)


@pytest.mark.parametrize("application", APPLICATIONS)
@pytest.mark.parametrize("v6", [False, True])
@pytest.mark.parametrize("delay", [1 * MS, 9 * MS, 30 * MS])
def test_the_same_datagrams_at_two_places_of_one_path_are_copies(
    application: str, v6: bool, delay: int, tmp_path: Path
) -> None:
    content = APPLICATIONS[application]
    sent = [(number * 11 * MS, datagram(content(number), v6=v6)) for number in range(COUNT)]
    packets = [(time + delay * path, along(frame, path)) for time, frame in sent for path in (0, 1)]
    assert parse(packets, tmp_path) == (COUNT, COUNT)


@pytest.mark.parametrize("v6", [False, True])
@pytest.mark.parametrize("delay", [6 * US, 300 * US])
@pytest.mark.parametrize(("count", "copies"), [(1, 1), (2, 2), (30, 30)])
def test_a_router_forwards_a_query_now_and_then(
    count: int, copies: int, delay: int, v6: bool, tmp_path: Path
) -> None:
    """No neighbour shows whether its two places are on one path; a lower TTL suffices then."""
    packets = [
        (number * 1000 * MS + delay * path, along(datagram(number, v6=v6), path))
        for number in range(count)
        for path in (0, 1)
    ]
    assert parse(packets, tmp_path) == (2 * count - copies, copies)


@pytest.mark.parametrize("hops", [False, True])
def test_queries_that_are_sent_again_on_two_paths_are_no_copies(hops: bool, tmp_path: Path) -> None:
    """A resolver asks two times with one number, each time from another port."""
    dice = random.Random(7)
    packets = []
    for number in range(COUNT):
        frame = datagram(number, v6=True, port=5000 + number)
        packets += [
            (number * 30 * MS + late, along(frame, dice.randrange(2), hops=hops))
            for late in (0, 6 * MS)
        ]
    assert parse(packets, tmp_path) == (2 * COUNT, 0)


@pytest.mark.parametrize("gap", [20 * US, 100 * US])
def test_random_identifications_on_two_paths_are_no_copies(gap: int, tmp_path: Path) -> None:
    """Two of thousands of equal datagrams have the same identification by chance."""
    dice = random.Random(gap)
    packets = [
        (
            number * gap,
            along(
                datagram(0, v6=False, ident=dice.randrange(1, 2**16)), dice.randrange(2), hops=False
            ),
        )
        for number in range(20_000)
    ]
    assert parse(packets, tmp_path) == (20_000, 0)


@pytest.mark.parametrize("delay", [1 * MS, 300 * MS])
def test_random_identifications_at_two_places_are_copies(delay: int, tmp_path: Path) -> None:
    dice = random.Random(delay)
    packets = []
    for number in range(5000):
        frame = datagram(number, v6=False, ident=dice.randrange(1, 2**16))
        packets += [(number * MS + path * delay, along(frame, path)) for path in (0, 1)]
    assert parse(packets, tmp_path) == (5000, 5000)


@pytest.mark.parametrize("kind", [Kind(v6=True), Kind(identified=False)])
@pytest.mark.parametrize("hops", [False, True])
def test_duplicate_acknowledgements_on_two_paths_are_no_copies(
    kind: Kind, hops: bool, tmp_path: Path
) -> None:
    dice = random.Random(3)
    made = Conversation(kind)
    made.open(0)
    for number in range(60):
        time = (number + 1) * 50 * MS
        made.ping(time)
        _, ack = made.packets[-1]
        made.packets += [
            (time + RTT + late * 300 * US, along(ack, dice.randrange(2), hops=hops))
            for late in range(1, 8)
        ]
    count = len(made.packets)
    assert parse(made.packets, tmp_path) == (count, 0)


@pytest.mark.parametrize("kind", [Kind(v6=True), Kind(identified=False)])
@pytest.mark.parametrize("delay", [20 * US, 2 * MS])
def test_acknowledgements_alone_at_two_places_are_copies(
    kind: Kind, delay: int, tmp_path: Path
) -> None:
    """The capture begins in a download, and the receiver only acknowledges."""
    made = Conversation(kind)
    packets: Packets = []
    for number in range(300):
        frame = made.frame(0, ACK, 1001, 500_000 + number * 2920)
        packets += [(number * MS + path * delay, along(frame, path)) for path in (0, 1)]
    assert parse(packets, tmp_path) == (300, 300)
