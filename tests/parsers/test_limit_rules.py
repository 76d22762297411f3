"""What limited a flow, with packets made for one rule each."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from build import pcap, tcp

import flowsweep

SENDER, RECEIVER = ("10.0.0.1", 1000), ("10.0.0.2", 80)
SYN, SYN_ACK, ACK, PUSH = 0x02, 0x12, 0x10, 0x18
#: Source address of the receiver in a frame.
ANSWERS = b"\x0a\0\0\x02"
MSS = 1448
RTT_NS, GAP_NS = 50_000_000, 1_000
CLASSES = ("app", "sender", "receiver", "network", "unknown")


class Conversation:
    """A sender whose segments wait for acknowledgements, one RTT after what they acknowledge.

    Small gaps between segments show that no acknowledgement released each of them.
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
        """Sends segments; `last`: bytes of the last one, `flags`: on every second one."""
        for left in reversed(range(segments)):
            payload = MSS if left else last
            kind = ACK if left % 2 else flags
            frame = tcp(*SENDER, *RECEIVER, kind, seq=self.next, ack=1, payload=payload)
            self.time += GAP_NS
            self.packets.append((self.time, frame))
            self.next += payload

    def hear(self, window: int) -> None:
        """Acknowledges all that was sent, one RTT later."""
        self.time += RTT_NS
        self.packets.append((self.time, self._answer(ACK, 1, window)))

    def flights(self, *segments: int, window: int = 13, flags: int = ACK) -> None:
        """Sends flights of these numbers of segments, and their acknowledgements."""
        for number in segments:
            self.send(number, flags=flags)
            self.hear(window)

    def limits(self, folder: Path) -> dict[str, float]:
        """Returns the number of round trips for which each class limited the sender."""
        file = folder / "conversation.pcap"
        file.write_bytes(pcap(self.packets))
        flows = pl.DataFrame(flowsweep.read_flows(file))
        row = flows.row(by_predicate=pl.col("direction") == "forward", named=True)
        return {name: row[f"{name}_limited_ns"] / RTT_NS for name in CLASSES}


@pytest.mark.parametrize("flags", [ACK, PUSH])  # a burst, and segments one by one
def test_little_room_is_none_where_the_window_was_full_before(tmp_path: Path, flags: int) -> None:
    # Linux defers a burst until the window has room for all of it, and reports rwnd_limited
    # (tcp_tso_should_defer); its congestion window already allowed 13 segments.
    talk = Conversation(window=13)
    talk.flights(13, 12, flags=flags)
    talk.send(1)
    found = talk.limits(tmp_path)
    assert found["network"] == pytest.approx(0, abs=0.01), found
    assert found["receiver"] == pytest.approx(2, abs=0.01), found


@pytest.mark.parametrize("flags", [ACK, PUSH])
def test_the_first_flight_is_limited_by_the_congestion_window(tmp_path: Path, flags: int) -> None:
    # Ten segments, RFC 6928, in a window of eleven. The later plateau does not show a send buffer:
    # the receiver's window keeps the flight constant.
    talk = Conversation(window=11)
    talk.send(10, flags=flags)
    for _ in range(20):
        talk.hear(window=11)
        talk.send(11, flags=flags)
    found = talk.limits(tmp_path)
    assert found["network"] == pytest.approx(1, abs=0.01), found
    assert found["receiver"] == pytest.approx(19, abs=0.02), found
    assert found["sender"] == 0, found


def test_one_direction_alone_tells_nothing_of_what_its_sender_waited_for(tmp_path: Path) -> None:
    talk = Conversation(window=13)
    talk.flights(13, 12)
    talk.send(1)
    talk.packets = [packet for packet in talk.packets if packet[1][26:30] == b"\x0a\0\0\x01"]
    found = talk.limits(tmp_path)
    unknown = found.pop("unknown")
    assert set(found.values()) == {0}
    assert unknown == pytest.approx(2, abs=0.01)


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
    # The window grew to twenty: the congestion window may allow only fourteen segments.
    talk = Conversation(window=13)
    talk.flights(13, 14, window=20, flags=flags)
    talk.send(1)
    found = talk.limits(tmp_path)
    assert found["network"] == pytest.approx(1, abs=0.01), found
    assert found["receiver"] == pytest.approx(1, abs=0.01), found


def test_a_flight_that_stays_below_the_window_is_not_limited_by_it(tmp_path: Path) -> None:
    # The window was full once. A send buffer or the congestion window keeps later flights below it.
    talk = Conversation(window=13)
    talk.flights(13, *[12] * 8)
    talk.send(1)
    found = talk.limits(tmp_path)
    assert found["receiver"] == pytest.approx(2, abs=0.01), found
    assert found["network"] == pytest.approx(7, abs=0.01), found


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
    # The congestion window shrank by an unknown amount.
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
    # Until the repair, and during the last wait; between them the receiver's window was full.
    assert found["network"] == pytest.approx(5, abs=0.01), found
    assert found["receiver"] == pytest.approx(1, abs=0.01), found


MS = 1_000_000


def timeline(
    folder: Path,
    sends: list[int],
    acks: list[tuple[int, int]],
    segments: int,
    last: int = MSS,
    flags: int = PUSH,
    again: int = 0,
    every: int = 1,
) -> dict[str, float]:
    """Returns the classes' shares, given times in ns of bursts and acknowledgements.

    A burst has `segments` full segments, except that the last one of every `every`-th burst has
    `last` bytes; the last segment has `flags`.
    An acknowledgement is a time and the number of bytes acknowledged until then. The first segment
    of every `again`-th burst is sent again, if that is not 0.
    """
    packets: list[tuple[int, bytes]] = [
        (-20 * MS, tcp(*SENDER, *RECEIVER, flags=SYN, mss=MSS)),
        (0, tcp(*RECEIVER, *SENDER, SYN_ACK, 0, ack=1, window=60_000, mss=MSS)),
    ]
    number = 1
    for burst, begin in enumerate(sends):
        if again and burst % again == 1:
            frame = tcp(*SENDER, *RECEIVER, ACK, number, ack=1, payload=MSS)
            packets.append((begin - GAP_NS, frame))
        for left in reversed(range(segments)):
            payload = MSS if left or burst % every else last
            kind = ACK if left else flags
            frame = tcp(*SENDER, *RECEIVER, kind, number, ack=1, payload=payload)
            packets.append((begin + (segments - 1 - left) * GAP_NS, frame))
            number += payload
    for time, acked_bytes in acks:
        frame = tcp(*RECEIVER, *SENDER, ACK, 1, ack=1 + acked_bytes, window=60_000, mss=MSS)
        packets.append((time, frame))
    file = folder / "timeline.pcap"
    file.write_bytes(pcap(sorted((time + 20 * MS, frame) for time, frame in packets)))
    flows = pl.DataFrame(flowsweep.read_flows(file))
    row = flows.row(by_predicate=pl.col("direction") == "forward", named=True)
    times = {name: row[f"{name}_limited_ns"] for name in CLASSES}
    return {name: time / sum(times.values()) for name, time in times.items()}


def jitter(number: int, most: int) -> int:
    """Returns an offset that varies with `number` but not between runs."""
    return number * 7919 % (2 * most) - most


ROUND = 6 * MS


def released(
    folder: Path, reaction_ns: int, flags: int = PUSH, again: int = 0, every: int = 0
) -> dict[str, float]:
    """Sends four segments after each acknowledgement of four, five times a round trip.

    The last segment is short in every `every`-th burst, if that is not 0.
    """
    segments, bursts, last = 4, 1200, 100
    every = every or bursts
    times = [MS * tenths // 10 for tenths in (10, 17, 31, 39, 56)]
    acks = []
    for number in range(5, bursts):
        done = number - 4
        short = (done + every - 1) // every * (MSS - last)
        acks.append((times[number - 5] + ROUND, done * segments * MSS - short))
        times.append(acks[-1][0] + reaction_ns + jitter(number, 2_000))
    return timeline(folder, times, acks, segments, last, flags, again, every)


def test_who_wakes_up_for_an_acknowledgement_is_limited_by_the_send_buffer(tmp_path: Path) -> None:
    found = released(tmp_path, reaction_ns=40_000)
    assert found["sender"] > 0.9, found


def test_a_send_buffer_is_not_distinguished_from_a_small_congestion_window_after_a_loss(
    tmp_path: Path,
) -> None:
    found = released(tmp_path, reaction_ns=40_000, again=100)
    assert found["sender"] == 0, found
    assert found["network"] > 0.9, found


def test_a_kernel_that_sends_on_at_once_is_limited_by_the_congestion_window(tmp_path: Path) -> None:
    found = released(tmp_path, reaction_ns=6_000)
    assert found["network"] > 0.9, found


def test_after_a_loss_the_congestion_window_holds_back_short_ends_of_writes_too(
    tmp_path: Path,
) -> None:
    found = released(tmp_path, reaction_ns=40_000, again=100, every=15)
    assert found["network"] > 0.9, found
    assert found["unknown"] > 0, found


def test_without_push_more_was_queued_whenever_it_was_sent(tmp_path: Path) -> None:
    # Linux sets PUSH on the end of a write and on every buffer of several segments.
    found = released(tmp_path, reaction_ns=40_000, flags=ACK)
    assert found["network"] > 0.9, found


@pytest.mark.parametrize("late_ns", [100_000, 400_000])
def test_a_writer_that_wakes_up_late_is_limited_by_its_send_buffer(
    tmp_path: Path, late_ns: int
) -> None:
    """On a busy host: 0.4 ms late at a round trip of 50 ms, and with pauses in its bursts."""
    writes, rounds, last = 2, 40, 456
    sends, acks = [], []
    for number in range(rounds):
        # The last write is still under way when the writer wakes up.
        begin = acks[-2][0] + late_ns + jitter(number, late_ns // 4) if acks else MS
        for write in range(writes):
            sends.append(begin + write * 200_000)
            acked_bytes = len(sends) * (11 * MSS + last)
            acks.append((begin + RTT_NS + write * 3 * MS, acked_bytes))
    found = timeline(tmp_path, sends, acks, 12, last, every=1)
    # The network may limit the slow start.
    assert found["sender"] > 0.7, found
    assert found["app"] < 0.05, found


def written(
    folder: Path, period_ns: int, segments: int, *, even: bool, queue_ns: int = 0
) -> dict[str, float]:
    """Sends bursts by the writer's own clock, acknowledged one round trip later.

    `even`: the path is so busy that acknowledgements of two segments each are spaced evenly.
    All but the first 100 bursts wait in a queue of the network for `queue_ns`.
    """
    bursts = 400
    times = [MS + period_ns * number + jitter(number, 15_000) for number in range(bursts)]
    acks = []
    for number, time in enumerate(times):
        for pair in range(2, segments + 1, 2):
            acked_bytes = (number * segments + pair) * MSS
            later = (pair - 2) // 2 * (2 * period_ns // segments if even else 30_000)
            later += queue_ns if number >= 100 else 0
            acks.append((time + ROUND + 400_000 + later + jitter(number, 11_000), acked_bytes))
    return timeline(folder, times, acks, segments)


@pytest.mark.parametrize("period_ms", [1, 3, 7, 23])
def test_a_writer_with_its_own_clock_limits_itself_at_any_rtt(
    tmp_path: Path, period_ms: int
) -> None:
    # Full segments only: no short one shows that the send queue was empty.
    found = written(tmp_path, period_ms * MS, 4, even=False)
    assert found["app"] > 0.9, found


def test_the_same_by_a_timer_that_paces_is_the_network(tmp_path: Path) -> None:
    found = written(tmp_path, 2 * MS, 4, even=True)
    assert found["network"] > 0.9, found


def test_a_writer_with_its_own_clock_is_in_doubt_where_a_queue_stands(tmp_path: Path) -> None:
    # A fifth above the minimum RTT: the network is saturated for some of the time.
    found = written(tmp_path, 3 * MS, 4, even=False, queue_ns=ROUND // 5)
    assert found["unknown"] > 0.7, found
    assert found["app"] == pytest.approx(0.25, abs=0.05), found


def pairs(folder: Path, again: int = 0) -> dict[str, float]:
    """Sends writes of two segments every 3 ms, which the kernel paces.

    The first segment follows an acknowledgement as fast as a writer that slept in `send` would
    react, the second more slowly; acknowledgements come in pairs, too.
    """
    times, acks = [], []
    for number in range(400):
        write = MS + 3 * MS * number
        times += [write + jitter(number, 15_000), write + 400_000 + jitter(number, 15_000)]
        for half, later in enumerate((100_000, 3 * MS - 60_000)):
            acks.append((write + ROUND + later, (2 * number + half + 1) * MSS))
    return timeline(folder, times, acks, segments=1, again=again)


def test_a_writer_whose_writes_the_kernel_paces_limits_itself(tmp_path: Path) -> None:
    found = pairs(tmp_path)
    assert found["app"] > 0.9, found


def test_after_a_loss_such_a_writer_is_in_doubt(tmp_path: Path) -> None:
    # The congestion window is small after a loss, and may end each wait.
    found = pairs(tmp_path, again=60)
    assert found["app"] < 0.1, found
    assert found["unknown"] > 0.9, found


def test_a_burst_that_is_paced_is_in_doubt_and_the_pause_behind_it_is_not(tmp_path: Path) -> None:
    # Nothing is in flight when the next burst begins: the application slept. No acknowledgement
    # arrives during a burst: either the kernel paces it, or the application wrote it in pieces.
    times, acks = [], []
    for number in range(200):
        write = MS + 20 * MS * number + jitter(number, 15_000)
        times += [write + 300_000 * piece for piece in range(8)]
        for segment in range(16):
            time = write + ROUND + 30_000 * segment
            acks.append((time, (16 * number + segment + 1) * MSS))
    found = timeline(tmp_path, times, acks, segments=2)
    assert found["unknown"] == pytest.approx(7 * 0.3 / 20, abs=0.02), found
    assert found["app"] == pytest.approx(1 - 7 * 0.3 / 20, abs=0.02), found


def test_short_ends_of_writes_show_an_empty_queue(tmp_path: Path) -> None:
    times = [MS + 3 * MS * number + jitter(number, 100_000) for number in range(300)]
    size = 2 * MSS + 100
    acks = [(time + ROUND + MS, (number + 1) * size) for number, time in enumerate(times)]
    found = timeline(tmp_path, times, acks, segments=3, last=100)
    assert found["app"] > 0.9, found


def rounds(folder: Path, pauses: list[int]) -> dict[str, float]:
    """Sends writes of four segments and a short one, each `pause` after the acknowledgement."""
    size, times, acks = 4 * MSS + 100, [MS], []
    for number, pause in enumerate(pauses):
        acks.append((times[-1] + RTT_NS, (number + 1) * size))
        times.append(acks[-1][0] + pause)
    return timeline(folder, times[:-1], acks, segments=5, last=100)


def test_who_fills_a_drained_buffer_again_every_round_trip_is_limited_by_it(tmp_path: Path) -> None:
    # On a busy machine, a writer that slept until its buffer was empty wakes up late.
    found = rounds(tmp_path, [250_000 + jitter(number, 200_000) for number in range(300)])
    assert found["sender"] > 0.9, found


def test_who_writes_at_any_time_after_a_round_trip_limits_itself(tmp_path: Path) -> None:
    found = rounds(tmp_path, [number * 3_700_000 % (20 * MS) for number in range(100)])
    assert found["app"] > 0.9, found


def test_beside_the_receiver_nothing_is_reported(tmp_path: Path) -> None:
    # There, acknowledgements follow at once, and the data they release come a round trip later.
    syn = tcp(*SENDER, *RECEIVER, flags=SYN, mss=MSS)
    syn_ack = tcp(*RECEIVER, *SENDER, SYN_ACK, 0, ack=1, window=60_000, mss=MSS)
    packets = [(0, syn), (10_000, syn_ack)]
    for number in range(20):
        time, start = ROUND * (number + 1), 1 + number * MSS
        packets.append((time, tcp(*SENDER, *RECEIVER, ACK, start, ack=1, payload=MSS)))
        packets.append((time + 9_000, tcp(*RECEIVER, *SENDER, ACK, 1, ack=start + MSS)))
    file = tmp_path / "receiver.pcap"
    file.write_bytes(pcap(packets))
    flows = pl.DataFrame(flowsweep.read_flows(file))
    row = flows.row(by_predicate=pl.col("direction") == "forward", named=True)
    limited_ns = [row[f"{name}_limited_ns"] for name in CLASSES]
    assert limited_ns == [0, 0, 0, 0, 19 * ROUND + 9_000]


@pytest.mark.parametrize("flags", [ACK, PUSH])
def test_a_window_whose_acknowledgements_were_not_captured_holds_nobody(
    tmp_path: Path, flags: int
) -> None:
    """The data fill half of the window; the acknowledgements of some flights were not captured."""
    talk = Conversation(window=13)
    talk.flights(*[6] * 20, flags=flags)
    heard = [place for place, packet in enumerate(talk.packets) if packet[1][26:30] == ANSWERS]
    for place in reversed([*heard[5:8], *heard[12:17]]):
        del talk.packets[place]
    assert talk.limits(tmp_path)["receiver"] == 0


def test_a_window_that_is_full_until_an_acknowledgement_is_missing_holds(tmp_path: Path) -> None:
    talk = Conversation(window=13)
    talk.flights(*[13] * 20)
    heard = [place for place, packet in enumerate(talk.packets) if packet[1][26:30] == ANSWERS]
    del talk.packets[heard[10]]
    found = talk.limits(tmp_path)
    # the waits before and after the missing acknowledgement
    assert found["unknown"] == pytest.approx(2, abs=0.1), found
    assert found["receiver"] == pytest.approx(17, abs=1.1), found
