"""Shifts the times of a capture, as network namespaces all share the kernel's clock."""

from __future__ import annotations

import struct
from pathlib import Path

import pyarrow as pa

MAGIC = 0xA1B23C4D  # a pcap file with nanosecond time stamps
FILE_HEADER, RECORD_HEADER = 24, 16


def ahead(path: Path, seconds: float) -> bytes:
    """Returns a zstd-compressed pcap, decompressed and with all time stamps moved by `seconds`."""
    with pa.input_stream(str(path), compression="zstd") as stream:
        changed = bytearray(stream.read())
    assert struct.unpack_from("=I", changed)[0] == MAGIC
    place = FILE_HEADER
    while place + RECORD_HEADER <= len(changed):
        whole, fraction, size = struct.unpack_from("=III", changed, place)
        stamp = whole * 10**9 + fraction + round(seconds * 1e9)
        struct.pack_into("=II", changed, place, *divmod(stamp, 10**9))
        place += RECORD_HEADER + size
    return bytes(changed)
