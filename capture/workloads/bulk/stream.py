"""One side of a transfer, and the TCP flow beside it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import common
from place import CHUNK, Place

if TYPE_CHECKING:
    import channels
    from job import Job

BLOCK_BYTES = 1456  # with our header of 16 a UDP payload of 1472: one Ethernet frame
SOCKET_BUFFER = 4 << 20
BESIDE_LEAD_S = 1.0  # head start for the TCP flow beside the transfer to reach its rate
DATA = 1
FIELDS = (
    *("packets", "payload_bytes", "repeated", "reports", "report_bytes"),
    *("blocks", "arrived", "lowered", "rate_bit_s", "elapsed_ns"),
)


class Kernel:
    """The compiled transfer."""

    def __init__(self) -> None:
        library = common.kernels()
        number, size, pointer = ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p
        place, rate = (number, pointer, pointer, size, size, size), ctypes.c_double
        self._send = library.flowsweep_bulk_send
        self._send.argtypes = (*place, rate, rate, rate, ctypes.c_bool, pointer)
        self._receive = library.flowsweep_bulk_receive
        self._receive.argtypes = (*place, ctypes.c_bool, pointer, pointer)

    @staticmethod
    def _done(error: int, counts: Any) -> dict[str, int]:
        if error:
            raise OSError(error, os.strerror(error), "UDP transfer")
        return dict(zip(FIELDS, counts, strict=True))

    def send(self, udp: socket.socket, place: Place, job: Job) -> dict[str, int]:
        """Sends the content of a place; returns FIELDS."""
        counts = (ctypes.c_uint64 * len(FIELDS))()
        error = self._send(
            *(udp.fileno(), *place.for_kernel(), job.bytes, BLOCK_BYTES),
            *(job.start_bit_s, job.least_bit_s, job.most_bit_s, job.transport == "lambda", counts),
        )
        return self._done(error, counts)

    def receive(
        self, udp: socket.socket, place: Place, job: Job
    ) -> tuple[dict[str, int], list[tuple[int, int]]]:
        """Fills a place; returns FIELDS, and each piece's first packet and end in ns."""
        counts = (ctypes.c_uint64 * len(FIELDS))()
        spans = (ctypes.c_uint64 * (2 * place.pieces))()
        error = self._receive(
            *(udp.fileno(), *place.for_kernel(), job.bytes, BLOCK_BYTES),
            *(job.transport == "lambda", spans, counts),
        )
        return self._done(error, counts), list(zip(spans[::2], spans[1::2], strict=True))


@contextlib.contextmanager
def together(*works: Callable[[], None]) -> Iterator[None]:
    """Runs each of `works` in a thread; raises the first error at the end."""
    errors: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class Stream:
    """One transfer, from the view of one of its two ranks."""

    def __init__(self, ranks: channels.Ranks, job: Job, peer: int, *, sends: bool) -> None:
        self.ranks, self.job, self.peer, self.sends = ranks, job, peer, sends
        self.kernel = Kernel()
        content = common.content(job.seed * 1000 + ranks.rank, job.bytes) if sends else None
        kind = job.source if sends else job.target
        self.place = Place(job.bytes, kind, job.folder, content, job.files)
        self._channel = ranks.connect(peer) if sends else None
        self._beside = ranks.connect(peer) if sends and job.beside else None
        self.udp: socket.socket | None = None
        self.counts: dict[str, int] = {}
        self.span = (0.0, 0.0)
        self.beside_bytes = 0

    def accepted(self, made: list[channels.Channel]) -> None:
        """Sets the receiver's ends of the sender's connections, in the order of the sender."""
        self._channel = made[0]
        self._beside = made[1] if self.job.beside else None

    @property
    def channel(self) -> channels.Channel:
        """The connection of the transfer, after both sides have it."""
        assert self._channel is not None, "`accepted` comes first"  # noqa: S101 - for the types
        return self._channel

    @property
    def beside(self) -> channels.Channel:
        """The connection of the TCP flow beside the transfer, if the job has one."""
        assert self._beside is not None, "the job has no flow beside"  # noqa: S101 - for the types
        return self._beside

    def open_udp(self) -> None:
        """Opens this side's UDP socket and sends its port to the other side."""
        if self.job.transport == "tcp":
            return
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            self.udp.setsockopt(socket.SOL_SOCKET, option, SOCKET_BUFFER)
        self.udp.bind((self.ranks.address, 0))
        self.channel.send(DATA, number=self.udp.getsockname()[1])

    def connect_udp(self) -> None:
        """Connects to the UDP port of the other side."""
        if self.udp is None:
            return
        port = self.channel.expect(DATA).number
        self.udp.connect((self.ranks.place(self.peer)[0], port))

    def run(self) -> None:
        """Runs the transfer, and the TCP flow beside it."""
        if self._beside is None:
            self._transfer()
            return
        work = self._send_beside if self.sends else self._receive_beside
        self.over = threading.Event()
        with together(work):
            # The flow must have reached its rate before the transfer disturbs it.
            time.sleep(BESIDE_LEAD_S)
            self.beside_before = self.beside_bytes
            self._transfer()
            self.beside_during = self.beside_bytes - self.beside_before
            self.over.set()

    def _transfer(self) -> None:
        begin = self.ranks.now()
        files: list[tuple[float, float]] = []
        if self.udp is None:
            if self.sends:
                self._send_tcp()
            else:
                files = self._receive_tcp()
        elif self.sends:
            self.counts = self.kernel.send(self.udp, self.place, self.job)
        else:
            self.counts, spans = self.kernel.receive(self.udp, self.place, self.job)
            # An incomplete file, which plain UDP may leave, has no end.
            files = [(begin + first / 1e9, begin + whole / 1e9) for first, whole in spans if whole]
        # Both sides linger, lest the other wait forever; the span excludes that.
        stayed = self.counts.get("elapsed_ns")
        self.span = (begin, self.ranks.now() if stayed is None else begin + stayed / 1e9)
        if self.sends:
            return
        pair = (self.peer, self.ranks.rank)
        if self.job.files == 1:
            self.ranks.transfer("stream", *pair, self.job.bytes, self.span)
            return
        for span in files:
            self.ranks.transfer("file", *pair, self.place.each, span)

    def _send_tcp(self) -> None:
        for at in range(0, self.job.bytes, CHUNK):
            self.channel.socket.sendall(self.place.read(at, CHUNK))
        # The transfer ends when the other side has everything.
        self.channel.expect(DATA)

    def _receive_tcp(self) -> list[tuple[float, float]]:
        """Receives the content; returns start and end of each file."""
        room = memoryview(bytearray(CHUNK))
        at = 0
        files = []
        begin = self.ranks.now()
        while at < self.job.bytes:
            rest = self.place.each - at % self.place.each
            size = self.channel.socket.recv_into(room[: min(CHUNK, rest)])
            if size == 0:
                raise ConnectionError(f"rank {self.peer} has closed its connection")
            self.place.write(at, room[:size])
            at += size
            if size == rest:
                self.place.finish(at // self.place.each - 1)
                files.append((begin, self.ranks.now()))
                begin = files[-1][1]
        self.channel.send(DATA)
        return files

    def _send_beside(self) -> None:
        block = bytes(CHUNK)
        self.beside.socket.settimeout(0.05)
        while not self.over.is_set():
            with contextlib.suppress(TimeoutError):
                self.beside_bytes += self.beside.socket.send(block)
        self.beside.socket.shutdown(socket.SHUT_WR)

    def _receive_beside(self) -> None:
        room = bytearray(CHUNK)
        while size := self.beside.socket.recv_into(room):
            self.beside_bytes += size

    def account(self) -> None:
        """Adds data that no channel has counted to the rank's counts."""
        data = (self.counts.get("payload_bytes", self.job.bytes), self.counts.get("packets", 0))
        reports = (self.counts.get("report_bytes", 0), self.counts.get("reports", 0))
        out, into = (data, reports) if self.sends else (reports, data)
        self.ranks.count_sent(self.peer, *out)
        self.ranks.count_received(*into)
        if self.sends:
            self.ranks.count_sent(self.peer, self.beside_bytes, 0)
        else:
            self.ranks.count_received(self.beside_bytes, 0)

    def result(self) -> dict[str, Any]:
        """Returns the results of this side, with the digest of the content."""
        seconds = self.span[1] - self.span[0]
        found: dict[str, Any] = {
            "rank": self.ranks.rank,
            "peer": self.peer,
            "end_s": self.span[1],
            "seconds": seconds,
            "digest": self.place.digest(),
            **self.counts,
        }
        if self._beside is not None:
            found["beside_mbit_s"] = 8e-6 * self.beside_during / seconds
        self.place.close()
        return found
