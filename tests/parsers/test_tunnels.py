"""The tunnel around a flow is noted beside it, as it was for each direction."""

from __future__ import annotations

import struct
from pathlib import Path

import polars as pl
from build import pcap, tcp, udp

import flowsweep

TUNNEL = ["tunnel", "tunnel_id", "tunnel_src_ip", "tunnel_dst_ip"]
LEFT, RIGHT = "192.0.2.1", "192.0.2.2"


def vxlan(source: str, destination: str, network: int, frame: bytes) -> bytes:
    """An Ethernet frame in VXLAN, RFC 7348."""
    header = struct.pack(">II", 0x08 << 24, network << 8)
    outer = bytearray(udp(source, 50_000, destination, 4789, payload=8 + len(frame)))
    return bytes(outer[: -8 - len(frame)]) + header + frame


def test_each_direction_has_the_tunnel_it_went_through(tmp_path: Path) -> None:
    there, back = ("10.0.0.1", 1000, "10.0.0.2", 80), ("10.0.0.2", 80, "10.0.0.1", 1000)
    path = tmp_path / "a.pcap"
    path.write_bytes(
        pcap([
            (0, vxlan(RIGHT, LEFT, 7, tcp(*there, flags=0x02))),
            (1, vxlan(LEFT, RIGHT, 8, tcp(*back, flags=0x12))),
            (2, vxlan(RIGHT, "192.0.2.9", 9, tcp(*there, flags=0x10))),
            (3, udp("10.0.0.3", 5, "10.0.0.4", 6)),
        ])
    )  # fmt: skip
    flows = pl.DataFrame(flowsweep.read_flows(path))
    assert flows.select("src_ip", *TUNNEL).rows() == [
        ("10.0.0.1", "vxlan", 7, RIGHT, LEFT),
        ("10.0.0.2", "vxlan", 8, LEFT, RIGHT),
        ("10.0.0.3", None, None, None, None),
    ]
    assert pl.DataFrame(flowsweep.read_captures(path))["tunnelled_packets"].to_list() == [3]
