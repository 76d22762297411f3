"""What limited a flow, of packets made for one rule each."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from build import pcap, tcp

import flowsweep

SENDER, RECEIVER = ("10.0.0.1", 1000), ("10.0.0.2", 80)
SYN, SYN_ACK = 0x02, 0x12
MSS = 1448
RTT_NS = 50_000_000
CLASSES = ("app", "sender", "receiver", "network")


class Conversation:
    """A sender whose segments wait for acknowledgements, one RTT after what they acknowledge."""

    def __init__(self, window: int) -> None:
        """The receiver's window in segments."""
        self.time, self.sent = RTT_NS, 0
        self.packets = [
            (0, tcp(*SENDER, *RECEIVER, flags=SYN, mss=MSS)),
            (self.time, self._answer(SYN_ACK, seq=0, acknowledged=0, window=window)),
        ]

    @staticmethod
    def _answer(flags: int, seq: int, acknowledged: int, window: int) -> bytes:
        number, size = 1 + MSS * acknowledged, MSS * window
        return tcp(*RECEIVER, *SENDER, flags, seq, ack=number, window=size, mss=MSS)

    def send(self, segments: int, gap_ns: int = 0, again: int = 0) -> None:
        """So many segments, of which the first `again` were sent before."""
        self.sent -= again
        for _ in range(segments):
            frame = tcp(*SENDER, *RECEIVER, seq=1 + MSS * self.sent, ack=1, payload=MSS)
            self.packets.append((self.time, frame))
            self.time += gap_ns
            self.sent += 1
        self.time -= gap_ns

    def hear(self, window: int, but: int = 0) -> None:
        """The acknowledgement of all that was sent but the last `but` segments, one RTT later."""
        self.time += RTT_NS
        answer = self._answer(0x10, 1, self.sent - but, window)
        self.packets.append((self.time, answer))

    def limits(self, folder: Path) -> dict[str, float]:
        """Round trips that each class limited the sender."""
        file = folder / "conversation.pcap"
        file.write_bytes(pcap(self.packets))
        flows = pl.DataFrame(flowsweep.read_flows(file))
        row = flows.row(by_predicate=pl.col("direction") == "forward", named=True)
        return {name: row[f"{name}_limited_ns"] / RTT_NS for name in CLASSES}


@pytest.mark.parametrize("gap_ns", [0, 1000])
def test_room_for_one_segment_is_none_where_more_was_in_flight(tmp_path: Path, gap_ns: int) -> None:
    # Linux holds back a part of two segments until the window has room for both, and says
    # rwnd_limited (tcp_tso_should_defer); its congestion window allowed 13 segments already.
    talk = Conversation(window=13)
    talk.send(13, gap_ns)
    talk.hear(window=13)
    talk.send(12, gap_ns)
    talk.hear(window=13)
    talk.send(1)
    found = talk.limits(tmp_path)
    assert found["network"] == pytest.approx(0, abs=0.01), found
    assert found["receiver"] == pytest.approx(2, abs=0.01), found


@pytest.mark.parametrize("gap_ns", [0, 1000])
def test_the_first_flight_is_limited_by_the_congestion_window(tmp_path: Path, gap_ns: int) -> None:
    # Ten segments, RFC 6928, in a window of eleven. No later plateau makes it the sender's buffer:
    # it is the window that keeps the flight as it is.
    talk = Conversation(window=11)
    talk.send(10, gap_ns)
    for _ in range(20):
        talk.hear(window=11)
        talk.send(11, gap_ns)
    found = talk.limits(tmp_path)
    assert found["network"] == pytest.approx(1, abs=0.01), found
    assert found["receiver"] == pytest.approx(19, abs=0.02), found
    assert found["sender"] == 0, found


def test_room_for_two_segments_is_room(tmp_path: Path) -> None:
    talk = Conversation(window=13)
    talk.send(13)
    talk.hear(window=13)
    talk.send(11)
    talk.hear(window=13)
    talk.send(1)
    found = talk.limits(tmp_path)
    assert found["network"] == pytest.approx(1, abs=0.01), found
    assert found["receiver"] == pytest.approx(1, abs=0.01), found


def test_little_room_says_nothing_after_a_loss(tmp_path: Path) -> None:
    # The congestion window became smaller, nobody knows how much.
    talk = Conversation(window=13)
    talk.send(13)
    talk.hear(window=13, but=13)
    talk.send(1, again=13)
    talk.sent += 12
    talk.hear(window=13)
    talk.send(12)
    talk.hear(window=13)
    talk.send(1)
    found = talk.limits(tmp_path)
    # The repair, and the last wait; the receiver's window was full between them.
    assert found["network"] == pytest.approx(2, abs=0.01), found
    assert found["receiver"] == pytest.approx(1, abs=0.01), found


def test_a_flight_that_stays_below_the_window_is_limited_by_the_send_buffer(tmp_path: Path) -> None:
    talk = Conversation(window=40)
    for _ in range(20):
        talk.send(10)
        talk.hear(window=40)
    talk.send(1)
    found = talk.limits(tmp_path)
    assert found["sender"] == pytest.approx(20, abs=0.02), found
