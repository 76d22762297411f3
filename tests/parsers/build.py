"""Small captures from scratch: frames, pcap and pcapng files."""

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
    """An Ethernet frame with a TCP segment."""
    if mss is not None:
        options += struct.pack(">BBH", 2, 4, mss)
    if sack is not None:
        options += struct.pack(">BBBBII", 1, 1, 5, 10, *sack)
    offset = (5 + len(options) // 4) << 4
    fields = (sport, dport, seq, ack, offset, flags, window, 0, 0)
    segment = struct.pack(">HHIIBBHHH", *fields) + options
    return _ethernet(src, dst, 6, segment + bytes(payload))


def udp(src: str, sport: int, dst: str, dport: int, payload: int = 0) -> bytes:
    """An Ethernet frame with a UDP datagram."""
    datagram = struct.pack(">HHHH", sport, dport, 8 + payload, 0)
    return _ethernet(src, dst, 17, datagram + bytes(payload))


def arp() -> bytes:
    """An Ethernet frame that is not IP."""
    return bytes(12) + b"\x08\x06" + bytes(46)


def _ethernet(src: str, dst: str, protocol: int, content: bytes) -> bytes:
    """IPv4 or IPv6, as the addresses are."""
    ends = ip_address(src).packed + ip_address(dst).packed
    if len(ends) == 32:
        header = struct.pack(">IHBB", 6 << 28, len(content), protocol, 64)
        return bytes(12) + b"\x86\xdd" + header + ends + content
    header = struct.pack(">BBHIBBH", 0x45, 0, 20 + len(content), 0, 64, protocol, 0)
    return bytes(12) + b"\x08\x00" + header + ends + content


def pcap(packets: list[tuple[int, bytes]], *, snaplen: int = 262_144) -> bytes:
    """A classic pcap with nanoseconds of (time since START_NS, frame)."""
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, snaplen, 1)]
    for offset, frame in packets:
        second, rest = divmod(START_NS + offset, 10**9)
        captured = frame[:snaplen]
        parts.append(struct.pack("<IIII", second, rest, len(captured), len(frame)) + captured)
    return b"".join(parts)
