"""Packets that the file marks as sent by the capturing host, and which host that is."""

from __future__ import annotations

import struct
from pathlib import Path

import build
import polars as pl
import pytest
from conversation import MS, Conversation, Kind, whole

import flowsweep
from flowsweep.analysis.capture_summary import summarise

CLIENT, SERVER = "10.0.0.1", "10.0.0.2"
ETHERNET_BYTES = 14


def is_of(frame: bytes, address: str) -> bool:
    return frame[26:30] == bytes(map(int, address.split(".")))


def cooked(frame: bytes, is_outgoing: bool) -> bytes:
    kind = 4 if is_outgoing else 0
    return struct.pack(">HHH8sH", kind, 1, 6, b"", 0x0800) + frame[ETHERNET_BYTES:]


def cooked_2(frame: bytes, is_outgoing: bool) -> bytes:
    kind = 4 if is_outgoing else 0
    head = struct.pack(">HHIHBB8s", 0x0800, 0, 2, 1, kind, 6, b"")
    return head + frame[ETHERNET_BYTES:]


def tapped(frame: bytes, is_outgoing: bool) -> bytes:
    head = struct.pack("<III24sI", 108, 1, 1, b"en0", 2 if is_outgoing else 1)
    return head.ljust(108, b"\0") + frame


LINKS = {"cooked": (113, cooked), "cooked 2": (276, cooked_2), "PKTAP": (258, tapped)}


def write(made: Conversation, link: str, own: str, path: Path) -> Path:
    """Writes the conversation as captured by `own`."""
    if link in LINKS:
        number, wrapped = LINKS[link]
        packets = [(time, wrapped(frame, is_of(frame, own))) for time, frame in made.packets]
        path.write_bytes(build.pcap(packets, link=number))
        return path
    blocks = [build.SECTION, build.interface()]
    for time, frame in made.packets:
        flags = struct.pack("<I", 2 if is_of(frame, own) else 1)
        blocks.append(build.enhanced(time // 1000, frame, build.option(2, flags)))
    path.write_bytes(b"".join(blocks))
    return path


@pytest.mark.parametrize("own", [CLIENT, SERVER])
@pytest.mark.parametrize("link", [*LINKS, "pcapng"])
def test_packets_of_the_capturing_host_tell_whose_it_is(
    link: str, own: str, tmp_path: Path
) -> None:
    path = write(whole(Kind(), pings=5), link, own, tmp_path / "a.pcap")
    flows = pl.DataFrame(flowsweep.read_flows(path))
    for row in flows.rows(named=True):
        expected = row["packets"] if row["src_ip"] == own else 0
        assert row["outgoing_packets"] == expected
    assert flows["ecn_capable_packets"].sum() == 0
    assert summarise(path).host == own


def test_without_marks_none_is_outgoing(tmp_path: Path) -> None:
    made = whole(Kind(), pings=5)
    made.send(900 * MS, 0)
    flows = pl.DataFrame(flowsweep.read_flows(made.write(tmp_path / "a.pcap")))
    assert flows["outgoing_packets"].to_list() == [0, 0]
