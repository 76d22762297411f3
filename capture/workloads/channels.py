"""Ranks of workloads without MPI, which find each other and use plain TCP.

Every rank connects to rank 0, which is on the first host, and learns where the others listen.
Messages have a header of HEADER_BYTES; app.json counts the bytes after it.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
import time
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import common
from record import Record, add_report

HEADER = struct.Struct("<IIQ")  # kind, number, bytes that follow
HEADER_BYTES = HEADER.size
CONNECT_LIMIT_S = 120.0  # many ranks on few cores start one after the other
CONNECT_AGAIN_S = 0.02
BACKLOG = 256
HELLO, TABLE, READY, GO, REPORT = range(1000, 1005)


def own_rank() -> int:
    """Returns the number of this rank, even before it has found the others."""
    return int(os.environ.get("OMPI_COMM_WORLD_RANK", "0"))


class Message(NamedTuple):
    """A received message: its header was complete at `begin_s`, all of it at `end_s`."""

    kind: int
    number: int
    data: bytearray
    begin_s: float
    end_s: float


class Channel:
    """A connection to another rank."""

    def __init__(self, ranks: Ranks, connection: socket.socket, peer: int) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(None)
        self.socket = connection
        self.peer = peer
        self._ranks = ranks

    def send(self, kind: int, data: bytes | bytearray | memoryview = b"", number: int = 0) -> None:
        """Sends one message; returns when the kernel has all of it."""
        header = HEADER.pack(kind, number, len(data))
        if len(data) < 1 << 16:
            self.socket.sendall(header + bytes(data))
        else:
            self.socket.sendall(header)
            self.socket.sendall(data)
        self._ranks.count_sent(self.peer, len(data))

    def receive(self) -> Message:
        """Waits for a message."""
        kind, number, size = HEADER.unpack(self._exactly(HEADER_BYTES))
        begin = self._ranks.now()
        data = self._exactly(size)
        self._ranks.count_received(size)
        return Message(kind, number, data, begin, self._ranks.now())

    def expect(self, kind: int) -> Message:
        """Waits for a message; raises if it is of another kind."""
        message = self.receive()
        if message.kind != kind:
            raise ValueError(f"rank {self.peer}: message {message.kind}, expected {kind}")
        return message

    def close(self) -> None:
        """Closes the connection."""
        self.socket.close()

    def _exactly(self, size: int) -> bytearray:
        data = bytearray(size)
        room = memoryview(data)
        while room:
            count = self.socket.recv_into(room)
            if count == 0:
                raise ConnectionError(f"rank {self.peer} has closed its connection")
            room = room[count:]
        return data


class Ranks(Record):
    """All ranks, from the view of one of them; counts what it sends and receives."""

    def __init__(self, app: str, problem: dict[str, Any], compute: str) -> None:
        super().__init__(app, problem, compute)
        self.rank = own_rank()
        self.size = common.ranks_started()
        self._lock = threading.Lock()
        # Rank 0 has a channel to every rank; each other rank has one to rank 0.
        self.control: dict[int, Channel] = {}
        self._find_each_other()

    def _find_each_other(self) -> None:
        known = os.environ.get("FLOWSWEEP_HOSTS", "")
        hosts = dict(entry.split("=", 1) for entry in known.split(",") if entry)
        self.address = hosts.get(self.host, "127.0.0.1")
        first = next(iter(hosts.values()), "127.0.0.1")
        # Concurrent programs on one machine use different ports.
        job = os.environ.get("PMIX_NAMESPACE", "alone")
        port = 20_000 + zlib.crc32(job.encode()) % 10_000
        self._listener = socket.create_server(
            (self.address, port if self.rank == 0 else 0), backlog=BACKLOG
        )
        own = self._listener.getsockname()
        self._places: list[tuple[str, int]] = [own] * self.size
        if self.rank:
            self._places[0] = (first, port)
            self.control[0] = self.connect(0)
            self.control[0].send(HELLO, json.dumps(own).encode())
            table = self.control[0].expect(TABLE).data
            self._places = [(address, number) for address, number in json.loads(bytes(table))]
        else:
            for _ in range(1, self.size):
                channel = self.accept()
                address, number = json.loads(bytes(channel.expect(HELLO).data))
                self._places[channel.peer] = (address, number)
                self.control[channel.peer] = channel
            for channel in self.control.values():
                channel.send(TABLE, json.dumps(self._places).encode())

    def connect(self, rank: int) -> Channel:
        """Makes a new connection to a rank, which must `accept` it."""
        limit = time.monotonic() + CONNECT_LIMIT_S
        while True:
            try:
                made = socket.create_connection(self._places[rank], CONNECT_LIMIT_S)
                break
            except OSError:
                # The rank may not have started yet.
                if time.monotonic() > limit:
                    raise
                time.sleep(CONNECT_AGAIN_S)
        channel = Channel(self, made, rank)
        channel.send(HELLO, number=self.rank)
        return channel

    def accept(self) -> Channel:
        """Accepts the next connection from another rank."""
        made, _ = self._listener.accept()
        channel = Channel(self, made, -1)
        channel.peer = channel.expect(HELLO).number
        return channel

    def place(self, rank: int) -> tuple[str, int]:
        """Returns address and port of a rank's listener."""
        return self._places[rank]

    def start(self) -> None:
        """Waits until all ranks are ready, and starts their clocks together."""
        if self.rank:
            self.control[0].send(READY)
            self.control[0].expect(GO)
        else:
            for channel in self.control.values():
                channel.expect(READY)
            for channel in self.control.values():
                channel.send(GO)
        self.start_clock()

    def count_sent(self, to: int, size: int, messages: int = 1) -> None:
        """Counts messages to a rank; may be called from any thread."""
        with self._lock:
            super().count_sent(to, size, messages)

    def count_received(self, size: int, messages: int = 1) -> None:
        """Counts messages from a rank; may be called from any thread."""
        with self._lock:
            super().count_received(size, messages)

    def finish(self, output: Path, result: dict[str, Any]) -> None:
        """Collects the counts of all ranks; rank 0 writes `output`."""
        if self.rank:
            # A report cannot count the message that carries it.
            self.control[0].send(REPORT, json.dumps(self.report()).encode())
            # Rank 0 closes first, so that no rank seems lost while the last reports are in transit.
            self.control[0].socket.recv(1)
            return
        reports = [self.report()]
        for channel in dict(sorted(self.control.items())).values():
            data = channel.expect(REPORT).data
            report = json.loads(bytes(data))
            add_report(report, len(data))
            reports.append(report)
        reports[0]["received_messages"] = self.received_messages
        reports[0]["received_bytes"] = self.received_bytes
        self.write(output, result, reports)
        for channel in self.control.values():
            channel.close()
