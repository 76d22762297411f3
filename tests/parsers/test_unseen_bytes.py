"""Bytes that the other side acknowledged but the capture lacks."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from conversation import ACK, KINDS, MS, PING, Conversation, Kind, tables
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    import pytest


def unseen(made: Conversation, folder: Path) -> list[int | None]:
    flows = tables(made.write(folder / "a.pcap"))["flows"]
    return flows["unseen_acked_bytes"].to_list()


def transfer(kind: Kind, pings: int) -> Conversation:
    made = Conversation(kind)
    made.open(0)
    for number in range(1, pings + 1):
        made.ping(number * 100 * MS)
    return made


@settings(max_examples=40, deadline=None)
@given(kind=KINDS, seed=st.integers(0, 99), late=st.booleans())
def test_segments_that_were_not_captured_are_counted_by_their_bytes(
    kind: Kind, seed: int, late: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The data of a third of 40 pings are missing; `late`: the handshake is missing, too."""
    made = transfer(kind, 40)
    made.close(5000 * MS)
    data = range(3, 3 + 2 * 40, 2)
    # without a handshake, the first ping shows where the bytes begin
    gone = set(random.Random(seed).sample(data[1:], 13))
    kept = range(3 if late else 0, len(made.packets))
    made.packets = [made.packets[number] for number in kept if number not in gone]
    assert unseen(made, tmp_path_factory.mktemp("holes")) == [13 * PING, 0]


def test_the_last_bytes_and_a_fin_are_counted(tmp_path: Path) -> None:
    made = transfer(Kind(), 3)
    made.close(500 * MS)
    # the last data, and the client's FIN
    gone = [len(made.packets) - 5, len(made.packets) - 3]
    made.packets = [packet for at, packet in enumerate(made.packets) if at not in gone]
    assert unseen(made, tmp_path) == [PING + 1, 0]


def test_data_captured_behind_their_acknowledgement_are_there(tmp_path: Path) -> None:
    made = transfer(Kind(), 3)
    for at in (3, 7):
        (sent, data), (heard, answer) = made.packets[at : at + 2]
        made.packets[at : at + 2] = [(sent, answer), (heard, data)]
    assert unseen(made, tmp_path) == [0, 0]


def test_a_stray_acknowledgement_acknowledges_nothing(tmp_path: Path) -> None:
    made = Conversation(Kind())
    made.open(0)
    seq, ack = made.sent[1], made.sent[0] + 2**31 - 10**6
    made.packets.append((50 * MS, made.frame(1, ACK, seq, ack)))
    for number in range(1, 4):
        made.ping(number * 100 * MS)
    assert unseen(made, tmp_path) == [0, 0]


def test_one_direction_alone_tells_nothing(tmp_path: Path) -> None:
    made = transfer(Kind(), 3)
    made.packets = made.packets[0:1] + made.packets[3::2]
    assert unseen(made, tmp_path) == [None]


def test_what_was_sent_before_the_capture_began_is_not_missing(tmp_path: Path) -> None:
    """The first segment is a keep-alive, or a late retransmission."""
    for below in (1, 50_000):
        made = transfer(Kind(), 20)
        del made.packets[:3]
        again = made.frame(0, ACK, made.kind.client_isn + 1, made.sent[1], below > 1)
        made.packets[:0] = [(90 * MS, again)]
        made.packets[1:3] = []
        assert unseen(made, tmp_path) == [0, 0], below


def test_a_segment_in_fragments_is_unknown(tmp_path: Path) -> None:
    made = transfer(Kind(), 3)
    frame = bytearray(made.packets[5][1])
    later = bytearray(frame)
    frame[20:22] = b"\x20\x00"
    later[20:22] = (len(frame[34:]) // 8).to_bytes(2, "big")
    made.packets[5:6] = [(made.packets[5][0], bytes(frame)), (made.packets[5][0], bytes(later))]
    assert unseen(made, tmp_path) == [None, 0]


def test_show_and_the_grade_state_it(tmp_path: Path) -> None:
    from flowsweep.analysis.capture_summary import summarise

    made = transfer(replace(Kind()), 20)
    del made.packets[9]
    summary = summarise(made.write(tmp_path / "a.pcap"))
    (note,) = [note.text for note in summary.notes if "acknowledged" in note.text]
    assert note.startswith("1,000 bytes of TCP acknowledged but missing from the capture")
    assert "(5.0 %)" in note
    assert summary.grade == "D"
