"""Copies from a mirror that lost some of them, and late copies of datagrams."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from conversation import ACK, MS, RTT, US, Conversation, Kind, tables, whole
from test_cut_copies import Maker, icmp, sent, udp

#: Segments of a transfer, of 1,460 bytes.
SEGMENTS = 200


def transfer(kind: Kind) -> Conversation:
    """Sends segments 100 us apart; every other one is acknowledged after a round trip."""
    made = Conversation(kind)
    made.open(0)
    for number in range(SEGMENTS):
        time = (200 + number) * 100 * US
        made.send(time, 0, payload=1460)
        if number % 2:
            ack = made.sent[0]
            made.packets.append((time + RTT, made.frame(1, ACK, made.sent[1], ack)))
    made.packets.sort(key=lambda packet: packet[0])
    made.close(200 * MS)
    return made


@pytest.mark.parametrize("kind", [Kind(), Kind(identified=False), Kind(v6=True)])
@pytest.mark.parametrize("seed", [None, 3])
def test_a_mirror_that_loses_half_of_the_copies_makes_no_retransmissions(
    kind: Kind, seed: int | None, tmp_path: Path
) -> None:
    made = transfer(kind)
    once = tables(made.write(tmp_path / "once.pcap"))["flows"].filter(direction="forward")
    rng = None if seed is None else random.Random(seed)
    copies = [
        (time + 6 * US, frame)
        for number, (time, frame) in enumerate(made.packets)
        if (rng.random() < 0.5 if rng else number % 2 == 0)
    ]
    made.packets[:] = sorted(made.packets + copies, key=lambda packet: packet[0])
    found = tables(made.write(tmp_path / "twice.pcap"))["flows"].filter(direction="forward")
    names = ["packets", "payload_bytes", "retransmitted_packets", "rtt_samples", "rtt_min_ns"]
    assert found.select(names).equals(once.select(names))


@pytest.mark.parametrize("kind", [Kind(), Kind(identified=False), Kind(v6=True)])
def test_segments_that_are_sent_again_a_round_trip_later_are_no_copies(
    kind: Kind, tmp_path: Path
) -> None:
    made = transfer(kind)
    begin = kind.client_isn + 1
    made.ident += 1
    again = [
        (
            (200 + number) * 100 * US + 12 * MS,
            made.frame(0, ACK, begin + number * 1460, made.sent[1] - 1, 1460),
        )
        for number in range(0, SEGMENTS, 2)
    ]
    made.packets[:] = sorted(made.packets + again, key=lambda packet: packet[0])
    found = tables(made.write(tmp_path / "again.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [0]
    forward = found["flows"].filter(direction="forward")
    assert forward["retransmitted_packets"].to_list() == [SEGMENTS // 2]


@pytest.mark.parametrize("maker", [udp, icmp])
@pytest.mark.parametrize("v6", [False, True])
@pytest.mark.parametrize("delay", [3 * MS, 20 * MS, 45 * MS])
def test_datagrams_behind_a_long_path_count_once(
    maker: Maker, v6: bool, delay: int, tmp_path: Path
) -> None:
    """Captures of both ends: the lower TTL shows that the path lies between them."""
    packets = sent(maker, v6=v6, identified=False)
    behind = []
    for time, frame in packets:
        changed = bytearray(frame)
        changed[21 if v6 else 22] -= 1
        behind.append((time + delay, bytes(changed)))
    both = sorted(packets + behind, key=lambda packet: packet[0])
    found = tables(Conversation(Kind(), both).write(tmp_path / "a.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [40]
    assert found["flows"]["packets"].to_list() == [40]


@pytest.mark.parametrize("maker", [udp, icmp])
@pytest.mark.parametrize("v6", [False, True])
def test_datagrams_are_copied_as_late_as_tcp_shows(maker: Maker, v6: bool, tmp_path: Path) -> None:
    made = whole(Kind())
    made.packets += [
        (20 * MS + time, frame) for time, frame in sent(maker, v6=v6, identified=False)
    ]
    late = [(time + 2 * MS, frame) for time, frame in made.packets]
    made.packets[:] = sorted(made.packets + late, key=lambda packet: packet[0])
    found = tables(made.write(tmp_path / "a.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [50]


@pytest.mark.parametrize("v6", [False, True])
def test_datagrams_that_are_sent_again_at_both_ends_count_each_time(
    v6: bool, tmp_path: Path
) -> None:
    """A program repeats a request every 20 ms, recorded at both ends of a path of 30 ms."""
    (_, frame), *_ = sent(udp, v6=v6, identified=False)
    changed = bytearray(frame)
    changed[21 if v6 else 22] -= 5
    times = [number * 20 * MS for number in range(20)]
    here = [(time, frame) for time in times]
    there = [(time + 30 * MS, bytes(changed)) for time in times]
    both = sorted(here + there, key=lambda packet: packet[0])
    found = tables(Conversation(Kind(), both).write(tmp_path / "a.pcap"))
    assert found["flows"]["packets"].to_list() == [20]
    assert found["captures"]["duplicate_packets"].to_list() == [20]
