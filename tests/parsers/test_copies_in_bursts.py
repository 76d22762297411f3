"""Copies at the end of a burst, before a silence, and where a connection is still unknown."""

from __future__ import annotations

from pathlib import Path

import pytest
from conversation import ACK, FIN, MS, RST, RTT, SYN, US, Conversation, Kind, tables
from test_changed_copies import checksummed
from test_cut_copies import capture_at_two_interfaces

KINDS = [Kind(), Kind(identified=False), Kind(v6=True), Kind(identified=False, turned=True)]
#: Segments of a burst, of 1,460 bytes.
SEGMENTS = 10


def burst(made: Conversation, time: int, side: int, gap: int = 12 * US) -> None:
    """Sends full segments, acknowledged one by one after a round trip."""
    for number in range(SEGMENTS):
        sent = time + number * gap
        made.send(sent, side, payload=1460)
        ack = made.sent[side]
        made.packets.append((sent + RTT, made.frame(1 - side, ACK, made.sent[1 - side], ack)))
    made.packets.sort(key=lambda packet: packet[0])


def twice(made: Conversation, delay: int) -> None:
    """Records each packet once more after `delay`."""
    copies = [(time + delay, frame) for time, frame in made.packets]
    made.packets[:] = sorted(made.packets + copies, key=lambda packet: packet[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("silence", [900 * MS, 3000 * MS])
def test_copies_are_recognised_before_a_long_silence(
    kind: Kind, silence: int, tmp_path: Path
) -> None:
    """Before the silence and its FIN, the client of a download only acknowledges."""
    made = Conversation(kind)
    made.open(0)
    burst(made, 20 * MS, 1)
    made.close(silence)
    once = tables(made.write(tmp_path / "once.pcap"))
    count = len(made.packets)
    twice(made, 5 * US)
    found = tables(made.write(tmp_path / "twice.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [count]
    assert found["flows"].equals(once["flows"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("delay", [5 * US, 400 * US])
def test_a_handshake_before_a_silence_is_one(kind: Kind, delay: int, tmp_path: Path) -> None:
    made = Conversation(kind)
    made.open(0)
    made.ping(3000 * MS)
    made.close(6000 * MS)
    once = tables(made.write(tmp_path / "once.pcap"))
    count = len(made.packets)
    twice(made, delay)
    found = tables(made.write(tmp_path / "twice.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [count]
    assert found["flows"].equals(once["flows"])


def test_a_syn_that_a_scanner_sends_twice_is_no_copy(tmp_path: Path) -> None:
    """It is answered twice, and the scanner's host resets both answers."""
    kind = Kind(identified=False)
    made = Conversation(kind)
    made.send(0, 0, SYN)
    made.send(RTT, 1, SYN | ACK)
    made.packets.append((RTT + 10 * US, made.frame(0, RST, made.sent[0], 0)))
    twice(made, 100 * US)
    Conversation(kind, made.packets).open(5000 * MS)
    found = tables(made.write(tmp_path / "scan.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("delay", [15 * MS, 25 * MS, 45 * MS])
def test_a_handshake_behind_a_router_is_no_second_one(
    kind: Kind, delay: int, tmp_path: Path
) -> None:
    """The routed SYN has a lower TTL and arrives half a path later, before any RTT is known."""
    round_trip = 100 * MS
    made = Conversation(kind)
    made.send(0, 0, SYN)
    made.packets.append((delay, made.packets[0][1]))
    made.send(round_trip, 1, SYN | ACK)
    made.send(round_trip + 10 * US, 0)
    made.send(2 * round_trip, 0, FIN | ACK)
    at = 14 + (7 if kind.v6 else 8)
    routed = bytearray(made.packets[1][1])
    routed[at] -= 1
    made.packets[1] = (delay, bytes(routed))
    found = tables(made.write(tmp_path / "routed.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [1]
    forward = found["flows"].filter(direction="forward")
    assert forward.select("packets", "syn_packets", "retransmitted_packets").rows() == [(3, 1, 0)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("snaplens", [(262_144, 96), (96, 262_144)])
def test_cut_copies_behind_a_burst_count_once(
    kind: Kind, snaplens: tuple[int, int], tmp_path: Path
) -> None:
    """The copies begin when half of the burst was sent, and a long silence follows."""
    made = Conversation(kind)
    made.open(0)
    burst(made, 1000 * MS, 0, gap=5 * US)
    burst(made, 3000 * MS, 0, gap=5 * US)
    made.packets[:] = [(time, checksummed(frame, kind, left=False)) for time, frame in made.packets]
    once = tables(made.write(tmp_path / "once.pcap"))
    path = tmp_path / "two.pcapng"
    path.write_bytes(capture_at_two_interfaces(made.packets, snaplens, 27 * US))
    found = tables(path)
    assert found["captures"]["duplicate_packets"].to_list() == [0, len(made.packets)]
    assert found["flows"].equals(once["flows"])
