"""Where messages end, with packets made for one rule each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from build import pcap, tcp

import flowsweep

SENDER, RECEIVER = ("10.0.0.1", 1000), ("10.0.0.2", 80)
SYN, SYN_ACK, ACK, PUSH = 0x02, 0x12, 0x10, 0x18
FULL = 1448
MS = 1_000_000
RTT = 16 * MS
BACK_TO_BACK = 1_000


class Conversation:
    """Segments of one sender, captured at the sender or at the receiver."""

    def __init__(self, *, far: bool = False) -> None:
        """Records the handshake; at the receiver (`far`) the RTT lies in its second half."""
        self.time = 0 if far else RTT
        self.next = 1
        done = RTT if far else self.time + 1000
        self.packets = [
            (0, tcp(*SENDER, *RECEIVER, flags=SYN, mss=FULL)),
            (self.time, tcp(*RECEIVER, *SENDER, SYN_ACK, ack=1, mss=FULL, window=65_535)),
            (done, tcp(*SENDER, *RECEIVER, ACK, seq=1, ack=1)),
        ]
        self.time = done

    def send(self, *payloads: int, after: int = 0, push: bool = True) -> Conversation:
        """Sends segments in one burst, the last with PUSH."""
        self.time += after
        for left, payload in zip(reversed(range(len(payloads))), payloads, strict=True):
            self.time += BACK_TO_BACK
            flags = PUSH if push and not left else ACK
            frame = tcp(*SENDER, *RECEIVER, flags, seq=self.next, ack=1, payload=payload)
            self.packets.append((self.time, frame))
            self.next += payload
        return self

    def hear(self, after: int, upto: int | None = None) -> Conversation:
        """Acknowledges everything, or the bytes below `upto`."""
        self.time += after
        ack = self.next if upto is None else upto
        frame = tcp(*RECEIVER, *SENDER, ACK, seq=1, ack=ack, window=65_535)
        self.packets.append((self.time, frame))
        return self

    def messages(self, folder: Path) -> pl.DataFrame:
        """Returns the messages that the parser finds."""
        file = folder / "conversation.pcap"
        file.write_bytes(pcap(self.packets))
        return pl.DataFrame(flowsweep.read_messages(file))


def sizes(talk: Conversation, folder: Path) -> list[int]:
    """Returns the sizes of the messages in bytes."""
    return talk.messages(folder)["bytes"].to_list()


def test_a_paced_write_is_one_message(tmp_path: Path) -> None:
    # BBR sends 20 kB this way: two segments every millisecond, each pair with PUSH (Linux 5.5 on).
    talk = Conversation().send(FULL, FULL)
    for _ in range(5):
        talk.send(FULL, FULL, after=MS)
    talk.send(FULL, 1000, after=MS)
    talk.hear(RTT).send(100, after=100 * MS)
    rows = talk.messages(tmp_path)
    assert rows["bytes"].to_list() == [13 * FULL + 1000, 100]
    assert rows["at_sender"].to_list() == [True, True]
    # later writes could have joined the queue; the last one left at once
    assert rows["merged_possible"].to_list() == [True, False]


def test_a_slow_pace_splits_once_at_most(tmp_path: Path) -> None:
    # BBR may take the low rate of the first segments for that of the path.
    talk = Conversation()
    for _ in range(10):
        talk.send(FULL, FULL, after=12 * MS)
    assert len(talk.messages(tmp_path)) <= 2


def test_without_push_bytes_are_queued_whatever_the_stop(tmp_path: Path) -> None:
    talk = Conversation().send(FULL, FULL, push=False).send(FULL, 10, after=15 * MS)
    assert sizes(talk, tmp_path) == [3 * FULL + 10]


def test_push_on_a_segment_handed_over_alone_ends_a_write(tmp_path: Path) -> None:
    talk = Conversation().send(FULL).send(FULL, after=5 * MS).send(FULL, FULL, 7, after=5 * MS)
    rows = talk.messages(tmp_path)
    assert rows["bytes"].to_list() == [FULL, FULL, 2 * FULL + 7]
    assert rows["evidence"].to_list()[:2] == ["pause+push"] * 2


def test_what_an_acknowledgement_lets_go_belongs_to_what_waited(tmp_path: Path) -> None:
    # A congestion window of two: each flight leaves on the acknowledgement of the previous one.
    talk = Conversation()
    for _ in range(5):
        talk.send(FULL, FULL).hear(RTT)
    talk.send(FULL, 5)
    rows = talk.messages(tmp_path)
    assert rows["bytes"].to_list() == [11 * FULL + 5]
    assert rows["merged_possible"].to_list() == [True]


def test_a_stop_behind_the_last_acknowledgement_ends_a_write(tmp_path: Path) -> None:
    talk = Conversation().send(FULL, FULL).hear(RTT).send(FULL, FULL, after=20 * MS)
    rows = talk.messages(tmp_path)
    assert rows["bytes"].to_list() == [2 * FULL, 2 * FULL]
    assert rows["evidence"][0] == "pause"


def test_far_from_the_sender_flights_are_no_messages(tmp_path: Path) -> None:
    # The receiver acknowledges at once; the data that this releases come an RTT later.
    talk = Conversation(far=True)
    for _ in range(6):
        talk.send(FULL, FULL).hear(20_000)
        talk.time += RTT
    talk.send(FULL, 5).hear(20_000).send(9, after=100 * MS)
    rows = talk.messages(tmp_path)
    assert rows["bytes"].to_list() == [13 * FULL + 5, 9]
    assert rows["at_sender"].to_list() == [False, False]
    assert rows["merged_possible"].to_list() == [None, None]


def test_far_from_the_sender_what_comes_later_than_due_is_another_write(tmp_path: Path) -> None:
    talk = Conversation(far=True).send(FULL, FULL).hear(20_000).send(FULL, FULL, after=3 * RTT)
    assert sizes(talk, tmp_path) == [2 * FULL, 2 * FULL]


def test_a_short_segment_without_push_ends_nothing_where_push_is_set(tmp_path: Path) -> None:
    # SACK blocks, or a smaller path MTU, make segments shorter.
    talk = Conversation().send(10).send(FULL, 1200, FULL, after=50 * MS)
    assert sizes(talk, tmp_path) == [10, 2 * FULL + 1200]


def test_a_host_that_never_sets_push_ends_messages_at_short_segments(tmp_path: Path) -> None:
    talk = Conversation()
    for _ in range(3):
        talk.send(FULL, 10, push=False, after=50 * MS)
    assert sizes(talk, tmp_path) == [FULL + 10] * 3


@pytest.mark.parametrize("gap", [100_000, 30 * MS])
def test_what_follows_closer_than_a_pace_may_be_several_writes(tmp_path: Path, gap: int) -> None:
    talk = Conversation().send(FULL, 100).send(200, after=gap)
    rows = talk.messages(tmp_path)
    assert rows["bytes"].to_list() == [FULL + 100, 200]
    assert rows["merged_possible"].to_list() == [False, gap < MS]


def test_without_a_round_trip_time_the_place_is_not_known(tmp_path: Path) -> None:
    talk = Conversation()
    talk.packets.clear()
    talk.send(100)
    rows = talk.messages(tmp_path)
    assert rows["at_sender"].to_list() == [None]
    assert rows["merged_possible"].to_list() == [None]


def test_the_byte_of_a_keep_alive_is_no_message(tmp_path: Path) -> None:
    """RFC 9293 3.8.4: a receiver discards it, as it has acknowledged that number before."""
    talk = Conversation().send(200)
    acknowledged = tcp(*RECEIVER, *SENDER, ACK, seq=1, ack=201)
    packets = [*talk.packets, (talk.time + RTT, acknowledged)]
    quiet = flows(packets, tmp_path)
    for number in range(1, 6):
        time = talk.time + number * 45_000 * MS
        packets += [
            (time, tcp(*SENDER, *RECEIVER, ACK, seq=200, payload=1, ack=1)),
            (time + RTT, acknowledged),
        ]
    found = flows(packets, tmp_path)
    assert found["keep_alives"] == 5
    assert found["app_limited_ns"] == quiet["app_limited_ns"]
    messages = pl.DataFrame(flowsweep.read_messages(tmp_path / "a.pcap"))
    assert messages["bytes"].to_list() == [200]


@pytest.mark.parametrize("size", [1, 100])
def test_a_fin_that_is_resent_with_the_last_bytes_takes_none_of_them(
    size: int, tmp_path: Path
) -> None:
    """The bytes were lost before the capture point; Linux joins both when it resends."""
    talk = Conversation()
    fin = tcp(*SENDER, *RECEIVER, ACK | 0x01, seq=1 + size, ack=1)
    again = tcp(*SENDER, *RECEIVER, PUSH | 0x01, seq=1, payload=size, ack=1)
    flows([*talk.packets, (talk.time + MS, fin), (talk.time + 230 * MS, again)], tmp_path)
    messages = pl.DataFrame(flowsweep.read_messages(tmp_path / "a.pcap"))
    assert messages["bytes"].to_list() == [size]


def flows(packets: list[tuple[int, bytes]], folder: Path) -> dict[str, Any]:
    """Returns the sender's row of `flows`."""
    (folder / "a.pcap").write_bytes(pcap(packets))
    table = pl.DataFrame(flowsweep.read_flows(folder / "a.pcap"))
    (row,) = table.filter(pl.col("src_ip") == SENDER[0]).rows(named=True)
    return row


@pytest.mark.parametrize("payload", [0, 1])
def test_a_keep_alive_before_anything_else_is_no_message(payload: int, tmp_path: Path) -> None:
    """The capture begins in mid-connection: the other side has acknowledged the number before."""
    packets = [(0, tcp(*RECEIVER, *SENDER, ACK, seq=1, ack=201))]
    for number in range(1, 4):
        time = number * 45_000 * MS
        packets += [
            (time, tcp(*SENDER, *RECEIVER, ACK, seq=200, payload=payload, ack=1)),
            (time + RTT, tcp(*RECEIVER, *SENDER, ACK, seq=1, ack=201)),
        ]
    packets.append((200_000 * MS, tcp(*SENDER, *RECEIVER, ACK, seq=201, payload=100, ack=1)))
    packets.append((200_000 * MS + RTT, tcp(*RECEIVER, *SENDER, ACK, seq=1, ack=301)))
    found = flows(packets, tmp_path)
    assert found["keep_alives"] == 3
    assert found["out_of_order_packets"] == 0
    assert found["unseen_acked_bytes"] == 0
    messages = pl.DataFrame(flowsweep.read_messages(tmp_path / "a.pcap"))
    assert messages["bytes"].to_list() == [100]
