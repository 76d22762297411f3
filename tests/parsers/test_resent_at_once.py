"""Segments that are resent as soon as a copy would follow are told from copies by SACKs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from build import pcap, tcp
from conversation import tables

CLIENT, SERVER = ("fd00::1", 4000), ("fd00::2", 80)
SYN, SYN_ACK, ACK = 0x02, 0x12, 0x10
US, MS = 1_000, 1_000_000
RTT = 100 * US
SEGMENT, BURST, ROUNDS = 1000, 40, 10
#: Of each burst.
LOST = range(1, 24, 2)


def record(handshake: int | None, *, sacks: bool = True) -> list[tuple[int, bytes]]:
    """Returns bursts with losses, resent after an RTT and a half, captured beside the sender.

    handshake: Time from the SYN to its answer; None for a capture that begins in mid-connection.
    """
    packets: list[tuple[int, bytes]] = []

    def send(time: int, flags: int, seq: int, payload: int, ack: int) -> None:
        packets.append((time, tcp(*CLIENT, *SERVER, flags, seq, payload, ack, window=60_000)))

    def answer(time: int, flags: int, ack: int, **more: Any) -> None:
        packets.append((time, tcp(*SERVER, *CLIENT, flags, 900, 0, ack, window=60_000, **more)))

    if handshake is not None:
        send(0, SYN, 100, 0, 0)
        packets.append((handshake, tcp(*SERVER, *CLIENT, SYN_ACK, 899, 0, 101, window=60_000)))
        send(handshake + 10 * US, ACK, 101, 0, 900)
    time = (handshake or 0) + 50 * US
    for burst in range(ROUNDS):
        starts = [101 + (burst * BURST + number) * SEGMENT for number in range(BURST)]
        first = starts[LOST[0]]
        for number, start in enumerate(starts):
            send(time + number * US, ACK, start, SEGMENT, 900)
            if number not in LOST:
                sack = (start, start + SEGMENT) if start > first and sacks else None
                answer(time + RTT + number * US, ACK, first, sack=sack)
        time += RTT + 60 * US
        for place, number in enumerate(LOST):
            send(time + place * US, ACK, starts[number], SEGMENT, 900)
        time += RTT + 50 * US
        answer(time, ACK, starts[-1] + SEGMENT)
        time += 5 * MS
    return sorted(packets, key=lambda packet: packet[0])


def parse(packets: list[tuple[int, bytes]], folder: Path) -> tuple[dict[str, Any], int]:
    path = folder / "a.pcap"
    path.write_bytes(pcap(packets))
    made = tables(path)
    (client,) = made["flows"].filter(pl.col("src_ip") == CLIENT[0]).rows(named=True)
    return client, made["captures"]["duplicate_packets"].item()


@pytest.mark.parametrize("handshake", [RTT, 1 * MS, None])
def test_segments_that_were_reported_missing_are_resent(
    handshake: int | None, tmp_path: Path
) -> None:
    """The handshake may take much longer than the path, as with a SYN proxy."""
    client, copies = parse(record(handshake), tmp_path)
    assert client["retransmitted_packets"] == ROUNDS * len(LOST)
    assert copies == 0


@pytest.mark.parametrize("handshake", [RTT, 1 * MS, 10 * MS])
def test_what_is_resent_after_a_later_shorter_round_trip_is_no_copy(
    handshake: int, tmp_path: Path
) -> None:
    """No SACK reports a loss, and data are answered much sooner than the SYN was."""
    client, copies = parse(record(handshake, sacks=False), tmp_path)
    assert client["retransmitted_packets"] == ROUNDS * len(LOST)
    assert copies == 0


def test_copies_of_the_same_packets_are_copies(tmp_path: Path) -> None:
    """Each packet is recorded a second time after 2 us: before any report of it."""
    packets = [(time + late, frame) for time, frame in record(1 * MS) for late in (0, 2 * US)]
    packets.sort(key=lambda packet: packet[0])
    client, copies = parse(packets, tmp_path)
    assert client["retransmitted_packets"] == ROUNDS * len(LOST)
    assert 2 * copies == len(packets)
