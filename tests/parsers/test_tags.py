"""Ethernet tags that switches add: the flow after each tag is found."""

from __future__ import annotations

import struct
from pathlib import Path

import polars as pl
import pytest
from build import pcap, udp

import flowsweep

FRAME = udp("10.0.0.1", 5, "10.0.0.2", 6, payload=7)
ENDS, TYPED = FRAME[:12], FRAME[12:]
TAGS = {
    "HSR": b"\x89\x2f" + bytes(4) + TYPED,
    "802.1CB": b"\xf1\xc1" + bytes(4) + TYPED,
    "802.1BR": b"\x89\x3f" + bytes(6) + TYPED,
    "VN-Tag": b"\x89\x26" + bytes(4) + TYPED,
    "FabricPath": b"\x89\x03" + bytes(2) + FRAME,
    "802.1ah": b"\x88\xe7" + bytes(4) + FRAME,
    "TRILL": b"\x22\xf3" + bytes(6) + FRAME,
    "TRILL with options": b"\x22\xf3" + struct.pack(">HHH", 2 << 6 | 5, 1, 2) + bytes(8) + FRAME,
    "Arista, 64 bits": b"\xd2\x8b\x00\x01\x00\x10" + bytes(8) + TYPED,
    "Arista, 48 bits": b"\xd2\x8b\x00\x01\x01\x21" + bytes(6) + TYPED,
}


@pytest.mark.parametrize("tag", TAGS)
def test_the_flow_behind_a_tag_is_found(tmp_path: Path, tag: str) -> None:
    path = tmp_path / "tagged.pcap"
    path.write_bytes(pcap([(0, ENDS + TAGS[tag])]))
    flow = pl.DataFrame(flowsweep.read_flows(path)).row(0, named=True)
    assert (flow["src_ip"], flow["src_port"]) == ("10.0.0.1", 5)
    assert (flow["dst_ip"], flow["dst_port"]) == ("10.0.0.2", 6)
    assert flow["payload_bytes"] == 7
