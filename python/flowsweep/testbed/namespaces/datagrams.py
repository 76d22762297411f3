"""Sends datagrams between two hosts from one process; the kernel stamps their arrival."""

from __future__ import annotations

import contextlib
import errno
import select
import socket
import struct
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flowsweep.testbed import kernel

if TYPE_CHECKING:
    from flowsweep.testbed.spec import HostSpec

SO_TIMESTAMPNS = 35
UDP_SEGMENT = 103
PAYLOAD_BYTES = 1472  # of a full frame


@contextlib.contextmanager
def open_socket(host: HostSpec) -> Iterator[socket.socket]:
    """Opens a non-blocking socket at a host's experiment address, with arrival timestamps."""
    with kernel.network_namespace(host.namespace):
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with made:
        made.bind((host.address, 0))
        made.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        made.setblocking(False)
        yield made


def cut_into_frames(sender: socket.socket) -> None:
    """Makes the kernel cut datagrams into frames, as `send_frames` needs."""
    sender.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, PAYLOAD_BYTES)


def send(sender: socket.socket, data: bytes, receiver: socket.socket, limit_s: float = 0) -> bool:
    """Sends a datagram; returns False if the sender's buffer stays full for `limit_s`.

    The buffer is full if the kernel had no time to forward earlier datagrams.
    """
    end = time.monotonic() + limit_s
    while True:
        with contextlib.suppress(BlockingIOError):
            sender.sendto(data, receiver.getsockname())
            return True
        left_s = end - time.monotonic()
        if left_s <= 0:
            return False
        select.select([], [sender], [], left_s)


def send_frames(
    sender: socket.socket, count: int, receiver: socket.socket, limit_s: float = 0
) -> None:
    """Sends `count` full frames, as far as the buffer has room for them.

    The kernel cuts a large datagram into frames, faster than Python could send them. Before
    Linux 6.11 it refuses on an interface without checksum offload.
    """
    if sender.getsockopt(socket.IPPROTO_UDP, UDP_SEGMENT):
        try:
            send(sender, bytes(PAYLOAD_BYTES * count), receiver, limit_s)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            sender.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 0)
        else:
            return
    for _ in range(count):
        send(sender, bytes(PAYLOAD_BYTES), receiver, limit_s)


def receive(receiver: socket.socket, limit_s: float) -> tuple[bytes, int] | None:
    """Returns a datagram and its arrival time in nanoseconds; None after `limit_s`."""
    end = time.monotonic() + limit_s
    while True:
        readable, _, _ = select.select([receiver], [], [], max(0.0, end - time.monotonic()))
        if not readable:
            return None
        # The kernel may drop a datagram with a wrong checksum after select: see BUGS in select(2).
        with contextlib.suppress(BlockingIOError):
            return _receive_stamped(receiver)


def _receive_stamped(receiver: socket.socket) -> tuple[bytes, int]:
    data, ancillary, _, _ = receiver.recvmsg(2048, 64)
    for level, kind, stamp in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
            seconds, nanoseconds = struct.unpack("qq", stamp[:16])
            return data, seconds * 10**9 + nanoseconds
    return data, time.time_ns()
