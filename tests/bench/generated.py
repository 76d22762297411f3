"""Generates captures for the benchmark: TCP connections, in many files or of two hosts, a flood."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

MSS = 1448
HEADER_BYTES = 14 + 20 + 32
FILE_HEADER = np.array([0xA1B23C4D, 0x00040002, 0, 0, HEADER_BYTES, 1], "<u4")
START_NS = 1_700_000_000 * 10**9
SERVER = 0x0A800001
#: Connections of one client address: ports from 1024 on.
PORTS = 50_000

#: A record with all headers of a frame and no payload.
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
    ]
)


def _records(first: int, count: int) -> np.ndarray:
    """Returns `count` records from number `first` on, 1 µs apart, with their common fields."""
    out = np.zeros(count, RECORD)
    time = START_NS + 1000 * np.arange(first, first + count, dtype=np.int64)
    out["seconds"], out["nanoseconds"] = time // 10**9, time % 10**9
    out["captured"] = HEADER_BYTES
    out["ethernet"] = bytes.fromhex("020000000002020000000001")
    out["ethertype"], out["version"], out["ttl"], out["protocol"] = 0x0800, 0x45, 64, 6
    out["offset"], out["window"] = 0x80, 65535
    # Hosts number datagrams like this; two equal ones would be copies (RFC 6864).
    out["identification"] = 1 + np.arange(first, first + count) % 65535
    out["padding"], out["timestamp_option"] = b"\x01\x01", b"\x08\x0a"
    return out


def _exchange(out: np.ndarray, connection: np.ndarray, number: np.ndarray) -> None:
    """Fills in a handshake, then two full segments of the client for each ACK of the server.

    Args:
        out: The records to fill.
        connection: The number of each record's connection.
        number: The number of each record within its connection.
    """
    step = np.maximum(number - 3, 0)
    is_data = (number >= 3) & (step % 3 < 2)
    backward = (number == 1) | ((number >= 3) & ~is_data)
    sent = 1 + MSS * (step // 3 * 2 + np.minimum(step % 3, 2))  # client bytes before this one

    out["length"] = np.where(is_data, HEADER_BYTES + MSS, HEADER_BYTES)
    out["ip_length"] = out["length"] - 14
    client, server = 0x0A000000 + connection // PORTS, SERVER
    out["source"] = np.where(backward, server, client)
    out["destination"] = np.where(backward, client, server)
    client_port = 1024 + connection % PORTS
    out["source_port"] = np.where(backward, 5201, client_port)
    out["destination_port"] = np.where(backward, client_port, 5201)
    out["sequence"] = np.select([number == 0, backward], [0, np.minimum(number, 2) > 1], sent)
    out["sequence"][(number == 2)] = 1
    out["acknowledgement"] = np.select([number == 0, number == 1, backward], [0, 1, sent], 1)
    out["flags"] = np.select([number == 0, number == 1], [0x02, 0x12], 0x10)
    out["timestamp"] = (number + 1).astype(np.uint32)


def write_interleaved(path: Path, packets: int, connections: int, seed: int = 1) -> None:
    """Writes a nanosecond pcap with all headers: connections in random interleaving.

    Each connection is a handshake (SYN, SYN-ACK, ACK), then two full segments from the
    client for each ACK of the server, with 1 µs between packets.
    """
    random = np.random.default_rng(seed)
    connection = random.integers(0, connections, packets, dtype=np.uint32)
    every = min(packets, connections)
    connection[:every] = random.permutation(connections)[:every]
    order = np.argsort(connection, kind="stable")
    starts = np.r_[0, np.flatnonzero(np.diff(connection[order])) + 1]
    lengths = np.diff(np.r_[starts, packets])
    number = np.empty(packets, np.int64)  # of the packet within its connection
    number[order] = np.arange(packets) - np.repeat(starts, lengths)

    out = _records(0, packets)
    _exchange(out, connection, number)
    with path.open("wb") as file:
        file.write(FILE_HEADER.tobytes())
        out.tofile(file)


def write_long(path: Path, packets: int, connections: int) -> None:
    """Like `write_interleaved`, but in turns and of any size: keeps a million packets in memory."""
    step = 1_000_000
    with path.open("wb") as file:
        file.write(FILE_HEADER.tobytes())
        for first in range(0, packets, step):
            place = np.arange(first, min(first + step, packets), dtype=np.int64)
            out = _records(first, len(place))
            _exchange(out, place % connections, place // connections)
            out.tofile(file)


def write_bursts(path: Path, packets: int, connections: int, seed: int = 3) -> None:
    """Writes bulk transfers: a dozen or more full segments in a row, then half as many ACKs."""
    random = np.random.default_rng(seed)
    lengths = random.integers(12, 48, packets // 12)
    turns = random.integers(0, connections, len(lengths))
    each = np.stack([lengths, lengths // 2], axis=1)
    backward = np.repeat(np.tile([False, True], len(turns)), each.ravel())
    connection = np.repeat(turns, each.sum(axis=1))
    kind = np.tile([0, 1, 2], connections)  # SYN, SYN-ACK, ACK; 3 is any later packet
    rest = packets - len(kind)
    connection = np.r_[np.repeat(np.arange(connections), 3), connection[:rest]]
    backward = np.r_[kind == 1, backward[:rest]]
    kind = np.r_[kind, np.full(rest, 3)]
    is_data = (kind == 3) & ~backward
    sent = np.empty(packets, np.int64)  # client bytes before this packet
    for number in range(connections):
        own = connection == number
        sent[own] = 1 + MSS * (np.cumsum(is_data[own]) - is_data[own])

    out = _records(0, packets)
    out["length"] = np.where(is_data, HEADER_BYTES + MSS, HEADER_BYTES)
    out["ip_length"] = out["length"] - 14
    client, client_port = 0x0A000001 + connection, 1024 + connection
    out["source"] = np.where(backward, SERVER, client)
    out["destination"] = np.where(backward, client, SERVER)
    out["source_port"] = np.where(backward, 5201, client_port)
    out["destination_port"] = np.where(backward, client_port, 5201)
    other = np.where(backward, sent, 1)
    sequence = np.select([kind < 2, kind == 2, backward], [0, 1, 1], sent)
    out["sequence"] = sequence % 2**32
    out["acknowledgement"] = np.select([kind == 0, kind == 1], [0, 1], other) % 2**32
    out["flags"] = np.select([kind == 0, kind == 1], [0x02, 0x12], 0x10)
    with path.open("wb") as file:
        file.write(FILE_HEADER.tobytes())
        out.tofile(file)


def split_by_host(path: Path, delay_ns: int = 5_000_000) -> None:
    """Writes what the clients and the server record of `path` to clients.pcap and server.pcap.

    `path` comes from this module. Each packet arrives `delay_ns` after it was sent; none is lost or
    overtaken. Both files are in time order.
    """
    content = np.fromfile(path, RECORD, offset=FILE_HEADER.nbytes)
    is_sent_by_server = content["source"] == SERVER
    files = (path.with_name("clients.pcap"), path.with_name("server.pcap"))
    for file, is_delayed in zip(files, (is_sent_by_server, ~is_sent_by_server), strict=True):
        out = content.copy()
        time = content["seconds"].astype(np.int64) * 10**9 + content["nanoseconds"]
        time[is_delayed] += delay_ns
        out["seconds"], out["nanoseconds"] = time // 10**9, time % 10**9
        with file.open("wb") as opened:
            opened.write(FILE_HEADER.tobytes())
            out[np.argsort(time, kind="stable")].tofile(opened)


def as_pcapng(path: Path, to: Path) -> None:
    """Writes the packets of `path`, a file of this module, as pcapng blocks without options."""
    content = np.fromfile(path, RECORD, offset=FILE_HEADER.nbytes)
    room = -(-HEADER_BYTES // 4) * 4
    block = np.dtype(
        [(name, "<u4") for name in ("type", "length", "interface", "high", "low", "captured")]
        + [("wire", "<u4"), ("packet", f"V{room}"), ("again", "<u4")]
    )
    out = np.zeros(len(content), block)
    time = content["seconds"].astype(np.uint64) * 10**9 + content["nanoseconds"]
    out["type"], out["length"], out["again"] = 6, block.itemsize, block.itemsize
    out["high"], out["low"] = time >> 32, time & 0xFFFFFFFF
    out["captured"], out["wire"] = HEADER_BYTES, content["length"]
    content_bytes = np.zeros((len(content), room), np.uint8)
    whole = content.view(np.uint8).reshape(len(content), -1)
    content_bytes[:, :HEADER_BYTES] = whole[:, 16 : 16 + HEADER_BYTES]
    out["packet"] = content_bytes.view(f"V{room}")[:, 0]
    section = [0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0xFFFFFFFF, 0xFFFFFFFF, 28]
    nanoseconds = [1, 32, 1, 0, 0x00010009, 9, 0, 32]
    with to.open("wb") as file:
        file.write(np.array(section + nanoseconds, "<u4").tobytes())
        out.tofile(file)


def write_flood(path: Path, packets: int) -> None:
    """Writes SYNs to one server, each from another address or port: a connection per packet."""
    step = 1_000_000
    with path.open("wb") as file:
        file.write(FILE_HEADER.tobytes())
        for first in range(0, packets, step):
            number = np.arange(first, min(first + step, packets), dtype=np.int64)
            out = _records(first, len(number))
            out["length"], out["ip_length"] = HEADER_BYTES, HEADER_BYTES - 14
            # An odd factor permutes 24 bits: no two numbers get the same address and port.
            out["source"] = 0x0B000000 + number * 0x9E3779B1 % (1 << 24)
            out["source_port"] = 1024 + number // (1 << 24)
            out["destination"], out["destination_port"] = SERVER, 443
            out["sequence"] = number * 2_654_435_761 % (1 << 32)
            out["flags"] = 0x02
            out.tofile(file)


def deal_out(path: Path, files: int, seed: int = 2) -> None:
    """Deals the packets of `path`, a file of this module, randomly to <name>-000.pcap and so on."""
    content = np.fromfile(path, RECORD, offset=FILE_HEADER.nbytes)
    turns = np.random.default_rng(seed).integers(0, files, len(content))
    for number in range(files):
        with path.with_name(f"{path.stem}-{number:03}.pcap").open("wb") as file:
            file.write(FILE_HEADER.tobytes())
            content[turns == number].tofile(file)


if __name__ == "__main__":
    # In its own process: otherwise numpy's memory would count in the peak of later programs.
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("packets", type=int)
    parser.add_argument("connections", type=int, help="0: a SYN flood")
    parser.add_argument("--files", type=int, help="deal the packets out to so many, beside PATH")
    parser.add_argument("--bursts", action="store_true", help="bulk transfers")
    parser.add_argument("--by-host", action="store_true", help="split it by who recorded it")
    parser.add_argument("--long", action="store_true", help="as much as fits on the disk")
    options = parser.parse_args()
    if options.long:
        write_long(options.path, options.packets, options.connections)
    elif options.bursts:
        write_bursts(options.path, options.packets, options.connections)
    elif options.connections:
        write_interleaved(options.path, options.packets, options.connections)
    else:
        write_flood(options.path, options.packets)
    if options.by_host:
        split_by_host(options.path)
    if options.files:
        deal_out(options.path, options.files)
