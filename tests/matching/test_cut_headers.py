"""Captures whose snap lengths cut the TCP header at different places."""

from __future__ import annotations

import struct
from pathlib import Path

import polars as pl
import pytest
from build import ethernet, ip, pcap

MS = 1_000_000
DELAY = 5 * MS
#: Segments that A sends, one per millisecond; every second one is acknowledged.
SEGMENTS = 60
LOST, RESENT_AT = 21, 70 * MS
ADDRESSES = {4: ("10.0.0.1", "10.0.0.2"), 6: ("fd00::1", "fd00::2")}


class Transfer:
    """A transfer with timestamps from A to B, in which one segment is lost and sent again."""

    def __init__(self, version: int) -> None:
        self.addresses = ADDRESSES[version]
        self.at_a: list[tuple[int, bytes]] = []
        self.at_b: list[tuple[int, bytes]] = []
        for number in range(SEGMENTS):
            self.send(number * MS, number, is_lost=number == LOST)
            if number % 2:
                self.acknowledge(number)
        self.send(RESENT_AT, LOST)
        self.acknowledge(SEGMENTS - 1, RESENT_AT)

    def frame(self, time: int, *, answers: bool, seq: int, ack: int, payload: int) -> bytes:
        """Returns a segment of A, or of B."""
        ends = self.addresses[:: -1 if answers else 1]
        ports = (1000, 80)[:: -1 if answers else 1]
        fields = (*ports, seq, ack, 8 << 12 | 0x10, 512, 0, 0)
        options = struct.pack(">BBBBII", 1, 1, 8, 10, 1000 + time // MS, 7)
        header = struct.pack(">HHIIHHHH", *fields) + options
        ident = len(self.at_a) + len(self.at_b) + 1
        return ethernet(ip(*ends, 6, header + bytes(payload), ident=ident))

    def send(self, time: int, number: int, *, is_lost: bool = False) -> None:
        """Sends 1,000 bytes of A."""
        frame = self.frame(time, answers=False, seq=1 + 1000 * number, ack=1, payload=1000)
        self.at_a.append((time, frame))
        if not is_lost:
            self.at_b.append((time + DELAY, frame))

    def acknowledge(self, number: int, sent: int | None = None) -> None:
        """Acknowledges what arrived up to a segment."""
        time = (number * MS if sent is None else sent) + DELAY
        until = number + 1 if number < LOST or sent else LOST
        frame = self.frame(time, answers=True, seq=1, ack=1 + 1000 * until, payload=0)
        self.at_b.append((time, frame))
        self.at_a.append((time + DELAY, frame))


@pytest.mark.parametrize("snaplens", [(60, 96), (64, 64), (96, 60), (65, 262_144)])
@pytest.mark.parametrize("version", [4, 6])
def test_timestamps_that_one_capture_lacks_tell_no_packets_apart(
    snaplens: tuple[int, int], version: int, tmp_path: Path, match, table
) -> None:
    """Without identifications it is unknown whether a segment or its retransmission arrived."""
    made = Transfer(version)
    paths = []
    more = 20 if version == 6 else 0
    for name, packets, snaplen in zip("ab", (made.at_a, made.at_b), snaplens, strict=True):
        paths.append(tmp_path / f"{name}.pcap")
        packets.sort(key=lambda packet: packet[0])
        paths[-1].write_bytes(pcap(packets, snaplen=snaplen + more))
    named = [f"--address={name}={made.addresses[n]}" for n, name in enumerate("ab")]
    assert match(*paths, *named).returncode == 0
    rows = table("fates").sort("sender", "fate")
    answers = ("b", "delivered", SEGMENTS // 2 + 1)
    found = rows.group_by("sender", "fate", maintain_order=True).len().rows()
    lost_fates = rows.filter(pl.col("seq") == 1 + 1000 * LOST)["fate", "evidence"].rows()
    if version == 4:
        assert found == [("a", "delivered", SEGMENTS), ("a", "lost", 1), answers]
        assert lost_fates == [("delivered", "matched"), ("lost", "reported")]
    else:
        assert found == [("a", "delivered", SEGMENTS - 1), ("a", "unknown", 2), answers]
        assert lost_fates == [("unknown", "alike"), ("unknown", "alike")]
    delays = table("one_way")["delay_ns"].to_list()
    assert delays == [DELAY] * rows.filter(fate="delivered").height
