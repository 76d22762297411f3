"""Fates of datagrams: split or merged by interfaces (UDP GSO and GRO), and identical ones."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest
from build import ethernet, ip, pcap

US, MS = 1_000, 1_000_000
DELAY = 10 * MS
SIZE = 1200
ADDRESSES = {4: ("10.0.0.1", "10.0.0.2"), 6: ("fd00::1", "fd00::2")}
Packets = list[tuple[int, bytes]]


class Sender:
    """Sends datagrams in batches from A to B, which answers each batch; the path loses some."""

    def __init__(self, version: int, most: int, lost: float = 0.0) -> None:
        self.ends = ADDRESSES[version]
        self.drawn = random.Random(1)
        #: Three views: a packet per batch, a packet per datagram, and the datagrams that arrived.
        self.batches: Packets = []
        self.datagrams: Packets = []
        self.arrived: Packets = []
        self.answers: Packets = []
        ident = 100
        for number in range(60):
            time = number * 3 * MS
            parts = [self.drawn.randbytes(SIZE) for _ in range(self.drawn.randint(1, most))]
            parts[-1] = parts[-1][: self.drawn.choice([SIZE, 30, 700])]
            self.batches.append((time, self.frame(b"".join(parts), ident)))
            for place, part in enumerate(parts):
                sent = (time + place * US, self.frame(part, ident + place))
                self.datagrams.append(sent)
                if self.drawn.random() >= lost:
                    self.arrived.append((sent[0] + DELAY, sent[1]))
            ident += len(parts)
            answer = self.frame(self.drawn.randbytes(40), number + 1, answers=True)
            self.answers.append((time + DELAY + MS, answer))

    def frame(self, payload: bytes, ident: int, *, answers: bool = False) -> bytes:
        """Returns a datagram of A, or of B."""
        ports = (5000, 443)[:: -1 if answers else 1]
        header = struct.pack(">HHHH", *ports, 8 + len(payload), 1)
        return ethernet(ip(*self.ends[:: -1 if answers else 1], 17, header + payload, ident=ident))


@pytest.fixture
def fates(tmp_path: Path, match, table):
    """Counts the fates, with their evidence, given the captures of A and B without the answers."""

    def run(made: Sender, at_a: Packets, at_b: Packets) -> dict[tuple[str, str, str], int]:
        answers = made.answers
        at_a = at_a + [(time + DELAY, frame) for time, frame in answers[:-1]]
        paths = []
        for name, packets in (("a", at_a), ("b", at_b + answers)):
            paths.append(tmp_path / f"{name}.pcap")
            paths[-1].write_bytes(pcap(sorted(packets), snaplen=96))
        named = [f"--address={name}={made.ends[n]}" for n, name in enumerate("ab")]
        assert match(*paths, *named).returncode == 0
        counts = table("fates").group_by("sender", "fate", "evidence").len().rows()
        return {(sender, fate, why): count for sender, fate, why, count in counts}

    return run


@pytest.mark.parametrize("is_merged", [False, True])
@pytest.mark.parametrize("version", [4, 6])
def test_a_datagram_that_was_cut_or_merged_is_not_lost(version: int, is_merged: bool, fates):
    made = Sender(version, most=16)
    late = [(time + DELAY, frame) for time, frame in made.batches]
    found = (
        fates(made, made.datagrams, late) if is_merged else fates(made, made.batches, made.arrived)
    )
    whole = found.pop(("a", "delivered", "matched"))
    assert 0 < whole < 10
    both = len(made.batches) + len(made.datagrams) - 2 * whole
    # The last answer is in one capture only, and nothing before it is missing.
    assert found == {
        ("a", "unknown", "merged"): both,
        ("b", "delivered", "matched"): 59,
        ("b", "unknown", "edge"): 1,
    }


def test_datagrams_that_nobody_cut_are_lost_where_the_capture_is_whole(fates):
    """Even if those that arrive are long, as jumbo frames are."""
    made = Sender(4, most=5, lost=0.1)
    late = [(time + DELAY, frame) for time, frame in made.batches if time % (30 * MS)]
    found = fates(made, made.batches, late)
    # The first one may have arrived before B began to capture.
    assert found[("a", "lost", "absent")] == 5
    assert found[("a", "unknown", "edge")] == 1
    assert ("a", "unknown", "merged") not in found


def test_a_gap_in_one_capture_makes_no_cut_datagrams(fates):
    """Each capture has packets that the other lacks, but none is longer than an Ethernet frame."""
    made = Sender(4, most=3)
    found = fates(
        made, made.datagrams[:60] + made.datagrams[63:], made.arrived[:30] + made.arrived[40:]
    )
    assert found[("a", "not_captured", "arrived")] == 3
    assert ("a", "unknown", "merged") not in found


@pytest.mark.parametrize("version", [4, 6])
def test_datagrams_of_one_length_are_distinguished_by_what_they_carry(version: int, fates):
    """Like RTP: no identifications, several in transit, and one of them lost."""
    made = Sender(version, most=16)
    whole = [(t, frame) for t, frame in made.datagrams if len(frame) >= SIZE]
    late = [(t + DELAY, frame) for t, frame in whole]
    found = fates(made, whole, late[:50] + late[53:200] + late[201:])
    assert found == {
        ("a", "delivered", "matched"): len(whole) - 4,
        ("a", "lost", "absent"): 4,
        ("b", "delivered", "matched"): 59,
        ("b", "unknown", "edge"): 1,
    }


@pytest.mark.parametrize("carries", ["numbers", "zeros"])
def test_an_identification_that_comes_again_is_of_another_datagram(carries: str, fates):
    """A fast sender reuses its identifications within seconds."""
    made = Sender(4, most=1)
    cycle, count = 17_000, 40_000
    sent = []
    for number in range(count):
        payload = struct.pack(">Q", number if carries == "numbers" else 0) + bytes(24)
        sent.append((number * 20 * US, made.frame(payload, number % cycle + 1)))
    made.answers = [(time // 10, frame) for time, frame in made.answers]
    arrived = [(time + DELAY, frame) for time, frame in sent if time != sent[-9][0]]
    found = fates(made, sent, arrived)
    assert found[("a", "delivered", "matched")] == count - 1
    assert found[("a", "lost", "absent")] == 1


@pytest.mark.parametrize("version", [4, 6])
def test_pings_are_distinguished_by_their_numbers(version: int, fates):
    """Several equally long pings are in transit, without identifications."""
    made = Sender(version, most=1)
    protocol, kind = (1, 8) if version == 4 else (58, 128)
    sent = []
    for number in range(200):
        ping = struct.pack(">BBHHH", kind, 0, number ^ 0xFFFF, 7, number) + bytes(56)
        sent.append((number * MS, ethernet(ip(*made.ends, protocol, ping))))
    arrived = [(time + DELAY, frame) for time, frame in sent if time not in (50 * MS, 90 * MS)]
    found = fates(made, sent, arrived)
    assert found[("a", "delivered", "matched")] == 198
    assert found[("a", "lost", "absent")] == 2
