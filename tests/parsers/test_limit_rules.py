"""What limited a flow, of packets made for one rule each."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from build import pcap, tcp

import flowsweep

SENDER, RECEIVER = ("10.0.0.1", 1000), ("10.0.0.2", 80)
SYN, SYN_ACK, ACK, PUSH = 0x02, 0x12, 0x10, 0x18
MSS = 1448
RTT_NS, GAP_NS = 50_000_000, 1_000
CLASSES = ("app", "sender", "receiver", "network")


class Conversation:
    """A sender whose segments wait for acknowledgements, one RTT after what they acknowledge.

    A little gap between segments tells that no acknowledgement released each of them.
    """

    def __init__(self, window: int) -> None:
        """The receiver's window in segments."""
        self.time, self.next = RTT_NS, 1
        self.packets = [
            (0, tcp(*SENDER, *RECEIVER, flags=SYN, mss=MSS)),
            (self.time, self._answer(SYN_ACK, seq=0, window=window)),
        ]

    def _answer(self, flags: int, seq: int, window: int) -> bytes:
        size = MSS * window
        return tcp(*RECEIVER, *SENDER, flags, seq, ack=self.next, window=size, mss=MSS)

    def send(self, segments: int, last: int = MSS, flags: int = ACK) -> None:
        """So many segments; `last`: octets of the last one, `flags`: of every second one."""
        for left in reversed(range(segments)):
            payload = MSS if left else last
            kind = ACK if left % 2 else flags
            frame = tcp(*SENDER, *RECEIVER, kind, seq=self.next, ack=1, payload=payload)
            self.time += GAP_NS
            self.packets.append((self.time, frame))
            self.next += payload

    def hear(self, window: int) -> None:
        """The acknowledgement of all that was sent, one RTT later."""
        self.time += RTT_NS
        self.packets.append((self.time, self._answer(ACK, 1, window)))

    def flights(self, *segments: int, window: int = 13, flags: int = ACK) -> None:
        """So many segments each, and their acknowledgement."""
        for number in segments:
            self.send(number, flags=flags)
            self.hear(window)

    def limits(self, folder: Path) -> dict[str, float]:
        """Round trips that each class limited the sender."""
        file = folder / "conversation.pcap"
        file.write_bytes(pcap(self.packets))
        flows = pl.DataFrame(flowsweep.read_flows(file))
        row = flows.row(by_predicate=pl.col("direction") == "forward", named=True)
        return {name: row[f"{name}_limited_ns"] / RTT_NS for name in CLASSES}


@pytest.mark.parametrize("flags", [ACK, PUSH])  # a burst, and segments one by one
def test_little_room_is_none_where_the_window_was_full_before(tmp_path: Path, flags: int) -> None:
    # Linux holds back what it hands to the card at once until the window has room for it, and says
    # rwnd_limited (tcp_tso_should_defer); its congestion window allowed 13 segments already.
    talk = Conversation(window=13)
    talk.flights(13, 12, flags=flags)
    talk.send(1)
    found = talk.limits(tmp_path)
    assert found["network"] == pytest.approx(0, abs=0.01), found
    assert found["receiver"] == pytest.approx(2, abs=0.01), found


@pytest.mark.parametrize("flags", [ACK, PUSH])
def test_the_first_flight_is_limited_by_the_congestion_window(tmp_path: Path, flags: int) -> None:
    # Ten segments, RFC 6928, in a window of eleven. No later plateau makes it the sender's buffer:
    # it is the window that keeps the flight as it is.
    talk = Conversation(window=11)
    talk.send(10, flags=flags)
    for _ in range(20):
        talk.hear(window=11)
        talk.send(11, flags=flags)
    found = talk.limits(tmp_path)
    assert found["network"] == pytest.approx(1, abs=0.01), found
    assert found["receiver"] == pytest.approx(19, abs=0.02), found
    assert found["sender"] == 0, found


def test_a_third_of_the_window_is_room(tmp_path: Path) -> None:
    talk = Conversation(window=13)
    talk.flights(13, 9, 8)
    talk.send(1)
    found = talk.limits(tmp_path)
    assert found["network"] == pytest.approx(1, abs=0.01), found
    assert found["receiver"] == pytest.approx(2, abs=0.01), found


@pytest.mark.parametrize("flags", [ACK, PUSH])
def test_a_window_that_was_never_full_limits_nobody(tmp_path: Path, flags: int) -> None:
    talk = Conversation(window=13)
    talk.flights(12, 11, 12, 11, flags=flags)
    talk.send(1)
    found = talk.limits(tmp_path)
    assert found["network"] == pytest.approx(4, abs=0.01), found


@pytest.mark.parametrize("flags", [ACK, PUSH])
def test_little_room_says_nothing_beyond_what_the_congestion_window_allowed(
    tmp_path: Path, flags: int
) -> None:
    # The window grew: fourteen segments of twenty may be all that the congestion window allows.
    talk = Conversation(window=13)
    talk.flights(13, 14, window=20, flags=flags)
    talk.send(1)
    found = talk.limits(tmp_path)
    assert found["network"] == pytest.approx(1, abs=0.01), found
    assert found["receiver"] == pytest.approx(1, abs=0.01), found


def test_after_a_short_segment_nothing_waited_for_room(tmp_path: Path) -> None:
    talk = Conversation(window=13)
    talk.flights(13)
    talk.send(12, last=100)
    talk.hear(window=14)
    talk.send(1)
    found = talk.limits(tmp_path)
    assert found["app"] == pytest.approx(1, abs=0.01), found
    assert found["receiver"] == pytest.approx(1, abs=0.01), found


def test_little_room_says_nothing_after_a_loss(tmp_path: Path) -> None:
    # The congestion window became smaller, nobody knows how much.
    talk = Conversation(window=13)
    talk.send(13)
    end = talk.next
    talk.time += 4 * RTT_NS
    talk.next = 1
    talk.send(1)
    talk.next = end
    talk.hear(window=13)
    talk.send(12)
    talk.hear(window=13)
    talk.send(1)
    found = talk.limits(tmp_path)
    # Until the repair, and the last wait; the receiver's window was full between them.
    assert found["network"] == pytest.approx(5, abs=0.01), found
    assert found["receiver"] == pytest.approx(1, abs=0.01), found


def test_a_flight_that_stays_below_the_window_is_limited_by_the_send_buffer(tmp_path: Path) -> None:
    talk = Conversation(window=40)
    for _ in range(20):
        talk.send(10)
        talk.hear(window=40)
    talk.send(1)
    found = talk.limits(tmp_path)
    assert found["sender"] == pytest.approx(20, abs=0.02), found
