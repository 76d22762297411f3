"""Builds packets of RDMA over UDP (RoCEv2).

InfiniBand Architecture Specification, volume 1, chapter 9 and annex A17.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from build import ethernet, ip, pcap

PORT = 4791
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 0x00, 0x01, 0x02, 0x04
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY = 0x06, 0x07, 0x08, 0x0A
READ_REQUEST, READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY = 0x0C, 0x0D, 0x0E, 0x0F, 0x10
ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE, FETCH_ADD = 0x11, 0x12, 0x14
UC, UD, XRC = 0x20, 0x60, 0xA0
CNP = 0x81
SEQUENCE_ERROR, NOT_READY, ACCESS_ERROR = 0x60, 0x21, 0x62
US = 1000
WRAP = 1 << 24


def transport(opcode: int, qp: int, psn: int, behind: bytes = b"", payload: int = 0) -> bytes:
    """Returns a Base Transport Header, the headers `behind` it, padded payload and a zero CRC."""
    pad = -payload % 4
    header = struct.pack(">BBHII", opcode, pad << 4, 0xFFFF, qp, psn % WRAP)
    return header + behind + bytes(payload + pad + 4)


def reth(length: int) -> bytes:
    """Returns an RDMA extended header: address, key, length of the message."""
    return struct.pack(">QII", 0x7F0000100000, 0x1234, length)


def aeth(syndrome: int = 0) -> bytes:
    """Returns an acknowledgement header."""
    return struct.pack(">I", syndrome << 24 | 1)


@dataclass
class Talk:
    """Two hosts: `a` has queue pair 0x22 and sends requests, `b` has 0x11."""

    a: str = "10.0.0.1"
    b: str = "10.0.0.2"
    vlan: int | None = None
    start: int = 100
    qps: tuple[int, int] = (0x22, 0x11)
    service: int = 0
    #: Each packet of a host gets its own identification; if False, all are 0.
    identified: bool = True
    packets: list[tuple[int, bytes]] = field(default_factory=list)

    def add(self, time: int, source: int, content: bytes, mark: int = 0) -> None:
        """Adds a UDP packet with `content`, from host `a` (0) or `b` (1)."""
        ends = (self.a, self.b) if source == 0 else (self.b, self.a)
        header = struct.pack(">HHHH", 51_000 + source, PORT, 8 + len(content), 0)
        ident = (len(self.packets) + 1) % 65_536 if self.identified else 0
        packet = bytearray(ip(*ends, 17, header + content, ident=ident))
        if packet[0] >> 4 == 6:
            packet[1] |= mark << 4
        else:
            packet[1] |= mark
        self.packets.append((time, ethernet(bytes(packet), vlan=self.vlan)))

    def ask(
        self,
        time: int,
        opcode: int,
        number: int,
        payload: int = 0,
        behind: bytes = b"",
        mark: int = 0,
    ) -> None:
        """Adds a request of `a`; `number` is relative to `start`."""
        extended = bytes(4) if self.service == XRC else b""
        psn = self.start + number
        content = transport(opcode | self.service, self.qps[1], psn, extended + behind, payload)
        self.add(time, 0, content, mark)

    def answer(
        self, time: int, number: int, syndrome: int = 0, opcode: int = ACKNOWLEDGE, payload: int = 0
    ) -> None:
        """Adds a response of `b`, with a syndrome if its header has one."""
        behind = b"" if opcode == READ_MIDDLE else aeth(syndrome)
        behind += bytes(8) if opcode == ATOMIC_ACKNOWLEDGE else b""
        psn = self.start + number
        self.add(time, 1, transport(opcode | self.service, self.qps[0], psn, behind, payload))

    def notify(self, time: int) -> None:
        """Adds a Congestion Notification Packet of `b`."""
        self.add(time, 1, transport(CNP, self.qps[0], 0, bytes(16)))

    def capture(self, snaplen: int = 262_144) -> bytes:
        return pcap(sorted(self.packets, key=lambda it: it[0]), snaplen=snaplen)
