"""Large captures for the benchmark: valid TCP of any number of interleaved connections."""

from __future__ import annotations

from pathlib import Path

import numpy as np

MSS = 1448
FRAME_BYTES = 14 + 20 + 32 + MSS
ACK_BYTES = 14 + 20 + 32
HEADER_BYTES = 14 + 20 + 32

RECORD = np.dtype(
    [
        ("seconds", "<u4"),
        ("nanoseconds", "<u4"),
        ("captured", "<u4"),
        ("length", "<u4"),
        ("ethernet", "S12"),
        ("ethertype", ">u2"),
        ("version", "u1"),
        ("tos", "u1"),
        ("ip_length", ">u2"),
        ("identification", ">u2"),
        ("fragment", ">u2"),
        ("ttl", "u1"),
        ("protocol", "u1"),
        ("ip_checksum", ">u2"),
        ("source", ">u4"),
        ("destination", ">u4"),
        ("source_port", ">u2"),
        ("destination_port", ">u2"),
        ("sequence", ">u4"),
        ("acknowledgement", ">u4"),
        ("offset", "u1"),
        ("flags", "u1"),
        ("window", ">u2"),
        ("checksum", ">u2"),
        ("urgent", ">u2"),
        ("padding", "S2"),
        ("timestamp_option", "S2"),
        ("timestamp", ">u4"),
        ("echo", ">u4"),
        ("payload", "V62"),
    ]
)


def write_interleaved(path: Path, packets: int, connections: int, seed: int = 1) -> None:
    """A nanosecond pcap with snap length 128: connections in random interleaving.

    Each connection is a handshake (SYN, SYN-ACK, ACK), then two full segments from the
    client for each ACK of the server, at 1 µs from packet to packet.
    """
    random = np.random.default_rng(seed)
    connection = random.integers(0, connections, packets, dtype=np.uint32)
    order = np.argsort(connection, kind="stable")
    starts = np.r_[0, np.flatnonzero(np.diff(connection[order])) + 1]
    lengths = np.diff(np.r_[starts, packets])
    number = np.empty(packets, np.int64)  # of the packet within its connection
    number[order] = np.arange(packets) - np.repeat(starts, lengths)

    step = np.maximum(number - 3, 0)
    is_data = (number >= 3) & (step % 3 < 2)
    backward = (number == 1) | ((number >= 3) & ~is_data)
    sent = 1 + MSS * (step // 3 * 2 + np.minimum(step % 3, 2))  # client octets before this one

    out = np.zeros(packets, RECORD)
    time = 1_700_000_000 * 10**9 + 1000 * np.arange(packets, dtype=np.int64)
    out["seconds"], out["nanoseconds"] = time // 10**9, time % 10**9
    out["length"] = np.where(is_data, FRAME_BYTES, ACK_BYTES)
    out["captured"] = 128  # one record size: short frames are padded in this synthetic file
    out["length"] = np.maximum(out["length"], 128)
    out["ethernet"] = bytes.fromhex("020000000002020000000001")
    out["ethertype"], out["version"], out["ttl"], out["protocol"] = 0x0800, 0x45, 64, 6
    out["ip_length"] = np.where(is_data, FRAME_BYTES - 14, ACK_BYTES - 14)
    client, server = 0x0A000000 + connection // 50_000, 0x0A800001
    out["source"] = np.where(backward, server, client)
    out["destination"] = np.where(backward, client, server)
    client_port = 1024 + connection % 50_000
    out["source_port"] = np.where(backward, 5201, client_port)
    out["destination_port"] = np.where(backward, client_port, 5201)
    out["sequence"] = np.select([number == 0, backward], [0, np.minimum(number, 2) > 1], sent)
    out["sequence"][(number == 2)] = 1
    out["acknowledgement"] = np.select([number == 0, number == 1, backward], [0, 1, sent], 1)
    out["offset"], out["window"] = 0x80, 65535
    out["flags"] = np.select([number == 0, number == 1], [0x02, 0x12], 0x10)
    out["padding"], out["timestamp_option"] = b"\x01\x01", b"\x08\x0a"
    out["timestamp"] = (number + 1).astype(np.uint32)
    header = np.array([0xA1B23C4D, 0x00040002, 0, 0, 128, 1], "<u4")
    with path.open("wb") as file:
        file.write(header.tobytes())
        out.tofile(file)


def write_full_frames(path: Path, source: Path, frames: int) -> None:
    """The first data frames of `source` as full 1514-byte frames."""
    records = np.fromfile(source, RECORD, count=frames, offset=24)
    size = FRAME_BYTES
    wide = np.zeros((len(records), 16 + size), np.uint8)
    wide[:, : RECORD.itemsize] = records.view(np.uint8).reshape(len(records), -1)
    lengths = np.where(records["ip_length"] > 100, size, 128).astype(np.uint32)
    with path.open("wb") as file:
        file.write(np.array([0xA1B23C4D, 0x00040002, 0, 0, 262144, 1], "<u4").tobytes())
        for start in range(0, len(records), 65536):
            part = wide[start : start + 65536].copy()
            keep = lengths[start : start + 65536]
            head = part[:, :16].copy().view("<u4")
            head[:, 2] = keep
            head[:, 3] = keep
            part[:, :16] = head.view(np.uint8)
            mask = np.arange(16 + size)[None, :] < (16 + keep)[:, None]
            file.write(part[mask].tobytes())
