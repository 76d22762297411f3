"""Builds small captures: packets, frames, pcap and pcapng files."""

from __future__ import annotations

import struct
from ipaddress import ip_address

START_NS = 1_700_000_000_123_456_789


def tcp(
    src: str,
    sport: int,
    dst: str,
    dport: int,
    flags: int = 0x10,
    seq: int = 0,
    payload: int = 0,
    ack: int = 0,
    mss: int | None = None,
    sack: tuple[int, int] | None = None,
    window: int = 512,
    options: bytes = b"",
) -> bytes:
    """Returns an Ethernet frame with a TCP segment."""
    if mss is not None:
        options += struct.pack(">BBH", 2, 4, mss)
    if sack is not None:
        options += struct.pack(">BBBBII", 1, 1, 5, 10, *sack)
    offset = (5 + len(options) // 4) << 4
    fields = (sport, dport, seq, ack, offset << 8 | flags, window, 0, 0)
    segment = struct.pack(">HHIIHHHH", *fields) + options
    return _ethernet(src, dst, 6, segment + bytes(payload))


def udp(src: str, sport: int, dst: str, dport: int, payload: int = 0) -> bytes:
    """Returns an Ethernet frame with a UDP datagram."""
    datagram = struct.pack(">HHHH", sport, dport, 8 + payload, 0)
    return _ethernet(src, dst, 17, datagram + bytes(payload))


def arp() -> bytes:
    """Returns an Ethernet frame that is not IP."""
    return bytes(12) + b"\x08\x06" + bytes(46)


def ip(
    src: str, dst: str, protocol: int, content: bytes, *, ident: int = 0, fragment: int = 0
) -> bytes:
    """Returns an IPv4 or IPv6 packet, depending on the addresses; `fragment` is for IPv4."""
    ends = ip_address(src).packed + ip_address(dst).packed
    if len(ends) == 32:
        return struct.pack(">IHBB", 6 << 28, len(content), protocol, 64) + ends + content
    fields = (0x45, 0, 20 + len(content), ident, fragment, 64, protocol, 0)
    header = struct.pack(">BBHHHBBH", *fields) + ends
    words = sum(struct.unpack(">10H", header))
    words = (words & 0xFFFF) + (words >> 16)
    total = (words & 0xFFFF) + (words >> 16)
    return header[:10] + struct.pack(">H", 0xFFFF - total) + header[12:] + content


def datagram(sport: int, dport: int, payload: int, *, length: int | None = None) -> bytes:
    """Returns a UDP datagram without a checksum; `length` overrides the header's length field."""
    stated = 8 + payload if length is None else length
    return struct.pack(">HHHH", sport, dport, stated, 0) + bytes(payload)


def ethernet(packet: bytes, *, vlan: int | None = None, kind: int | None = None) -> bytes:
    """Returns a frame around an IP packet, or around the EtherType `kind`."""
    tag = b"" if vlan is None else struct.pack(">HH", 0x8100, vlan)
    if kind is None:
        kind = 0x86DD if packet[0] >> 4 == 6 else 0x0800
    return bytes(12) + tag + struct.pack(">H", kind) + packet


def _ethernet(src: str, dst: str, protocol: int, content: bytes) -> bytes:
    return ethernet(ip(src, dst, protocol, content))


def pcap(
    packets: list[tuple[int, bytes]],
    *,
    snaplen: int = 262_144,
    link: int = 1,
    originals: list[int] | None = None,
) -> bytes:
    """Returns a classic nanosecond pcap of (time since START_NS, frame).

    `originals` are the original lengths stated in the records; by default the true ones.
    """
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, snaplen, link)]
    for number, (offset, frame) in enumerate(packets):
        second, rest = divmod(START_NS + offset, 10**9)
        captured = frame[:snaplen]
        original = len(frame) if originals is None else originals[number]
        parts.append(struct.pack("<IIII", second, rest, len(captured), original) + captured)
    return b"".join(parts)


def block(kind: int, body: bytes) -> bytes:
    """Returns a block of pcapng."""
    body += bytes(-len(body) % 4)
    length = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + length + body + length


def option(code: int, value: bytes) -> bytes:
    """Returns an option of a block of pcapng."""
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def interface(*options: bytes, link: int = 1) -> bytes:
    """Returns an Interface Description Block."""
    return block(1, struct.pack("<HHI", link, 0, 0) + b"".join(options))


def enhanced(ticks: int, frame: bytes, *options: bytes, number: int = 0) -> bytes:
    """Returns an Enhanced Packet Block of interface `number`."""
    head = (number, ticks >> 32, ticks & 0xFFFF_FFFF, len(frame), len(frame))
    padded = frame + bytes(-len(frame) % 4)
    return block(6, struct.pack("<IIIII", *head) + padded + b"".join(options))


def simple(frame: bytes) -> bytes:
    """Returns a Simple Packet Block."""
    return block(3, struct.pack("<I", len(frame)) + frame)


SECTION = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
