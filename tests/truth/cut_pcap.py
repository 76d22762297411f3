"""Classic pcap files that are cut after a packet."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

FILE_HEADER_BYTES, RECORD_HEADER = 24, struct.Struct("<4I")
NANOSECONDS = 0xA1B23C4D


def packet_ends(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Returns each packet's time (ns since 1970) and end offset in a little-endian file."""
    nanoseconds = int.from_bytes(content[:4], "little") == NANOSECONDS
    unit = 1 if nanoseconds else 1000
    times, ends, at = [], [], FILE_HEADER_BYTES
    while at + RECORD_HEADER.size <= len(content):
        seconds, fraction, captured, _ = RECORD_HEADER.unpack_from(content, at)
        at += RECORD_HEADER.size + captured
        times.append(seconds * 10**9 + fraction * unit)
        ends.append(at)
    return np.array(times), np.array(ends)


def write_prefixes(content: bytes, borders: np.ndarray, folder: Path) -> list[Path]:
    """Writes a file for each border, with the packets before it."""
    times, ends = packet_ends(content)
    files = []
    for number, border in enumerate(borders):
        packets = int(np.searchsorted(times, border))
        files.append(folder / f"{number}.pcap")
        files[-1].write_bytes(content[: ends[packets - 1] if packets else FILE_HEADER_BYTES])
    return files
