"""The tunnel around a flow is recorded with it, separately for each direction."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import polars as pl
import pytest
from build import ethernet, ip, pcap, tcp, udp
from made_captures import flow_rows, tables

import flowsweep

TUNNEL = ["tunnel", "tunnel_id", "tunnel_src_ip", "tunnel_dst_ip"]
LEFT, RIGHT = "192.0.2.1", "192.0.2.2"


def vxlan(source: str, destination: str, network: int, frame: bytes) -> bytes:
    """Returns an Ethernet frame in VXLAN, RFC 7348."""
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


#: UDP ports of tunnels, and bytes with which a header of each may begin.
PORTS = {
    1701: b"\0\2\0\1\0\1\x21",
    2152: b"\x30\xff\1\0\0\0\0\1",
    3544: b"\0\1\0\0",
    4341: bytes(8),
    4342: b"\x80\0\0\0",
    4754: b"\0\0\x65\x58",
    4789: b"\x08\0\0\0\0\0\1\0",
    4790: b"\x0c\0\0\1\0\0\1\0",
    5072: b"\x22\x52\x11\x04",
    5247: b"\0\x10\2\0\0\0\0\0",
    6080: b"\0\4\0\0",
    6081: b"\0\0\x65\x58\0\0\1\0",
    6635: b"\0\1\1\x40",
    8472: b"\x08\0\0\0\0\0\1\0",
    37_008: b"\1\0\0\1\1",
}


def dns(number: int, *, is_answer: bool) -> bytes:
    """Returns a query for an address, RFC 1035 4, or a response with one."""
    name = b"".join(bytes([len(part)]) + part for part in (b"host%d" % number, b"example")) + b"\0"
    question = name + struct.pack(">HH", 1, 1)
    flags, answers = (0x8180, 1) if is_answer else (0x0100, 0)
    header = struct.pack(">HHHHHH", number * 7919 % 65_536, flags, 1, answers, 0, 0)
    record = struct.pack(">HHHIH", 0xC00C, 1, 1, 300, 4) + b"\x0a\0\0\x01"
    return header + question + (record if is_answer else b"")


@pytest.mark.parametrize("content", ["random", "begun", "dns"])
@pytest.mark.parametrize("port", sorted(PORTS))
def test_a_port_alone_makes_no_tunnel(port: int, content: str) -> None:
    """Datagrams of other applications, both ways: their flow counts all their bytes."""
    dice, packets, sent = random.Random(port), [], [0, 0]
    for number in range(400):
        back = number % 2 == 1
        if content == "dns":
            payload = dns(number, is_answer=back)
        else:
            begin = PORTS[port] if content == "begun" else b""
            payload = begin + dice.randbytes(dice.randrange(1200))
        sent[back] += len(payload)
        ends, ports = (LEFT, RIGHT), (40_000, port)
        if back:
            ends, ports = ends[::-1], ports[::-1]
        header = struct.pack(">HHHH", *ports, 8 + len(payload), 0)
        packets.append((number, ethernet(ip(*ends, 17, header + payload, ident=number + 1))))
    found = tables(pcap(packets))
    columns = ("src_port", "packets", "payload_bytes", "tunnel")
    assert flow_rows(found, *columns) == [
        (40_000, 200, sent[0], None),
        (port, 200, sent[1], None),
    ]
    captures = found["captures"]
    assert captures.select("undecoded_packets", "length_conflict_packets").rows() == [(0, 0)]
