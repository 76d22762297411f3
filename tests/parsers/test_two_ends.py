"""RTTs where captures of both ends of a path were merged."""

from __future__ import annotations

from pathlib import Path

import build
import polars as pl
import pytest
from conversation import MS, RTT, US, Conversation, Kind, whole

from flowsweep.captures import Table
from flowsweep.parsing import Settings

LIMITS = ("app", "sender", "receiver", "network")


def split_by_end(made: Conversation) -> tuple[list[tuple[int, bytes]], ...]:
    """Returns what the client and the server see; `made` has the client's times.

    The server sees a packet of the client half a round trip later, and sent its own that much
    earlier; it answers at once.
    """
    client = list(made.packets)
    server = [
        (time + (RTT // 2 if is_of_client(frame) else -RTT // 2), frame) for time, frame in client
    ]
    return client, server


def is_of_client(frame: bytes) -> bool:
    return frame[26:30] == bytes([10, 0, 0, 1])


def routed(frame: bytes) -> bytes:
    """Returns the frame after a router."""
    return frame[:22] + bytes([frame[22] - 1]) + frame[23:]


def flows(*captures: list[tuple[int, bytes]], folder: Path) -> list[dict[str, object]]:
    paths = [folder / f"{number}.pcap" for number in range(len(captures))]
    for path, packets in zip(paths, captures, strict=True):
        path.write_bytes(build.pcap(sorted(packets, key=lambda packet: packet[0])))
    return pl.DataFrame(Table("flows", tuple(paths), Settings())).rows(named=True)


@pytest.mark.parametrize("is_routed", [False, True])
@pytest.mark.parametrize("is_merged", [False, True])
def test_two_ends_have_no_rtt(is_merged: bool, is_routed: bool, tmp_path: Path) -> None:
    client, server = split_by_end(whole(Kind(), pings=20))
    if is_routed:
        client = [(t, f if is_of_client(f) else routed(f)) for t, f in client]
        server = [(t, routed(f) if is_of_client(f) else f) for t, f in server]
    captures = [client + server] if is_merged else [client, server]
    for row in flows(*captures, folder=tmp_path):
        assert (row["rtt_samples"], row["rtt_min_ns"], row["handshake_rtt_ns"]) == (0, None, None)
        assert [row[f"{limit}_limited_ns"] for limit in LIMITS] == [0] * 4
        assert row["unseen_acked_bytes"] == 0


def test_the_first_place_of_all_packets_has_an_rtt(tmp_path: Path) -> None:
    """One of two interfaces always sees packets later, as after a queue."""
    client = whole(Kind(), pings=20).packets
    late = [(time + 3 * MS, frame) for time, frame in client]
    assert flows(client, late, folder=tmp_path) == flows(client, folder=tmp_path)
    there, back = flows(client, folder=tmp_path)
    assert (there["rtt_min_ns"], back["rtt_min_ns"]) == (RTT, 10 * US)
