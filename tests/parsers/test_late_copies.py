"""Connections recorded again after their end, and connections that look like copies."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest
from conversation import ACK, MS, RST, RTT, SYN, Conversation, Kind, tables

from flowsweep.analysis.capture_summary import summarise

#: Without an identification, only timestamps show when a host sent a packet.
KINDS = [
    (Kind(), False),
    (Kind(), True),
    (Kind(identified=False), True),
    (Kind(v6=True), True),
    (Kind(turned=True, vlan=7), False),
]
#: Packets with neither: a copy and a replay look the same.
AMBIGUOUS = [Kind(identified=False), Kind(v6=True)]


def short(kind: Kind) -> Conversation:
    """Returns a connection that is over after 50 ms."""
    made = Conversation(kind)
    made.open(0)
    made.ping(15 * MS)
    made.ping(26 * MS)
    made.close(38 * MS)
    return made


def stamped(made: Conversation) -> Conversation:
    """Adds timestamps to each segment, RFC 7323: the host's clock in ms."""
    kind = made.kind
    network = 14 if kind.vlan is None else 18
    at = network + (40 if kind.v6 else 20)
    for number, (time, frame) in enumerate(made.packets):
        clock = 70_000 + time // MS
        options = b"\1\1\x08\x0a" + struct.pack(">II", clock, clock - 10)
        if frame[at + 13] & SYN:
            options = b"\2\4\5\xb4\4\2" + options[2:]
        changed = bytearray(frame[: at + 20] + options + frame[at + 20 :])
        changed[at + 12] += len(options) // 4 << 4
        place = network + (4 if kind.v6 else 2)
        (length,) = struct.unpack_from(">H", changed, place)
        struct.pack_into(">H", changed, place, length + len(options))
        made.packets[number] = (time, bytes(changed))
    return made


def connection(kind: Kind, *, with_times: bool) -> Conversation:
    return stamped(short(kind)) if with_times else short(kind)


def recorded_again(made: Conversation, delay: int) -> Conversation:
    late = [(time + delay, frame) for time, frame in made.packets]
    made.packets[:] = sorted(made.packets + late, key=lambda packet: packet[0])
    return made


@pytest.mark.parametrize(("kind", "with_times"), KINDS)
@pytest.mark.parametrize("delay", [60 * MS, 150 * MS, 400 * MS, 900 * MS])
def test_a_connection_recorded_again_behind_its_end_is_one(
    kind: Kind, with_times: bool, delay: int, tmp_path: Path
) -> None:
    path = tmp_path / "a.pcap"
    once = tables(connection(kind, with_times=with_times).write(path))
    made = recorded_again(connection(kind, with_times=with_times), delay)
    twice = tables(made.write(path))
    assert twice["captures"]["duplicate_packets"].to_list() == [once["packets"].height]
    assert twice["flows"].equals(once["flows"])


@pytest.mark.parametrize(("kind", "with_times"), KINDS)
@pytest.mark.parametrize("side", [0, 1])
def test_one_direction_alone_recorded_again_is_one(
    kind: Kind, with_times: bool, side: int, tmp_path: Path
) -> None:
    path = tmp_path / "a.pcap"
    once = tables(connection(kind, with_times=with_times).write(path))
    made = connection(kind, with_times=with_times)
    network = 14 if kind.vlan is None else 18
    at = network + (40 if kind.v6 else 20)
    own = [(time, it) for time, it in made.packets if (it[at : at + 2] == b"\0P") == (side == 1)]
    late = [(time + 200 * MS, frame) for time, frame in own]
    made.packets[:] = sorted(made.packets + late, key=lambda packet: packet[0])
    twice = tables(made.write(path))
    assert twice["captures"]["duplicate_packets"].to_list() == [len(own)]
    assert twice["flows"].equals(once["flows"])


TWICE = "1 TCP connection with the same packets, bytes and duration as the one before on the same"


@pytest.mark.parametrize("kind", AMBIGUOUS)
def test_a_copy_that_may_be_a_replay_is_remarked_on(kind: Kind, tmp_path: Path) -> None:
    """It counts as a second connection: its numbers are the same, and it has no timestamps."""
    path = recorded_again(short(kind), 200 * MS).write(tmp_path / "a.pcap")
    assert tables(path)["flows"]["connection"].n_unique() == 2
    notes = [(note.level, note.text) for note in summarise(path).notes]
    assert [level for level, note in notes if note.startswith(TWICE)] == ["note"]


@pytest.mark.parametrize("is_refused", [False, True])
def test_connections_of_one_size_are_not_remarked_on(is_refused: bool, tmp_path: Path) -> None:
    """A polling client's connections differ in duration; refused connections carry no data."""
    made = Conversation()
    for number in range(4):
        made = Conversation(Kind(client_isn=1000 + number * 70_000), made.packets, ident=made.ident)
        begin = number * 200 * MS
        if is_refused:
            made.send(begin, 0, SYN)
            refusal = made.frame(1, RST | ACK, 0, made.sent[0])
            made.packets.append((begin + RTT, refusal))
            continue
        made.open(begin)
        made.ping(begin + 20 * MS + number * 2 * MS)
        made.close(begin + 40 * MS + number * 2 * MS)
    path = made.write(tmp_path / "a.pcap")
    assert tables(path)["flows"]["connection"].n_unique() == 4
    assert "recorded twice" not in str(summarise(path).notes)


@pytest.mark.parametrize("kind", [Kind(), *AMBIGUOUS])
@pytest.mark.parametrize("with_times", [False, True])
@pytest.mark.parametrize("answer", [500_000, 700_000])
def test_another_connection_on_the_same_ports_is_none(
    kind: Kind, with_times: bool, answer: int, tmp_path: Path
) -> None:
    """It has the same initial numbers, but its own timestamps and identifications."""
    made = short(kind)
    following = made.again(replace(kind, server_isn=answer))
    begin = 200 * MS
    following.open(begin)
    following.ping(begin + 15 * MS)
    following.ping(begin + 26 * MS)
    following.close(begin + 38 * MS)
    if with_times:
        stamped(following)
    found = tables(following.write(tmp_path / "a.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [0]
    assert found["flows"]["connection"].n_unique() == 2


@pytest.mark.parametrize("kind", [Kind(), *AMBIGUOUS])
def test_a_lone_syn_behind_an_end_is_no_copy(kind: Kind, tmp_path: Path) -> None:
    """After a copy of a SYN come copies of the packets that followed the SYN."""
    made = short(kind)
    made.packets.append((200 * MS, made.packets[0][1]))
    found = tables(made.write(tmp_path / "a.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [0]
