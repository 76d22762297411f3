"""Sends and receives as a named writer does, and records the kernel's view of the connection.

`writers.py receive HOST NAME [slow-ack]` listens, prints `ready`, and ends with its connection.
`writers.py send HOST NAME SECONDS CONGESTION RATE FILE` sends for SECONDS on a link of RATE bit/s.
It writes an npz file: `polls`, a structured array of `TCP_INFO` about every 2 ms, and `begun` and
`done`, the times at which each `send` was entered and left. Times are nanoseconds since 1970.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import struct
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

PORT = 7700
BLOCK = bytes(256 << 10)
#: Payload of a full segment at an MTU of 1500 with timestamps.
FULL = 1448
POLL_S = 0.002
#: `tcp_info`: ca_state, the bit app_limited, snd_mss, unacked, snd_cwnd, bytes_acked,
#: notsent_bytes, busy_time, rwnd_limited, sndbuf_limited (microseconds), snd_wnd.
INFO = struct.Struct("=xB5xB8xI4xI52xI36xQ16xI20x3Q36xI")
FIELDS = [
    *(("time", "<i8"), ("recovery", "u1"), ("app_limited", "u1"), ("mss", "<u4")),
    *(("unacked", "<u4"), ("cwnd", "<u4"), ("acked", "<u8"), ("notsent", "<u4")),
    *(("busy_us", "<u8"), ("receiver_us", "<u8"), ("sender_us", "<u8")),
    ("window", "<u4"),
]


@dataclass(frozen=True)
class Writer:
    """What one connection does.

    `size` bytes are written at a time: every `period` seconds, or so that they take `share` of the
    link, or continuously. `answer`: bytes that the receiver returns for each write. `nap`: the
    receiver reads 64 KiB, then sleeps for `nap` seconds. `bulk_s`: after every `bulk_s` seconds the
    connection switches between these writes and continuous ones.
    """

    size: int = len(BLOCK)
    period: float = 0
    share: float = 0
    answer: int = 0
    nap: float = 0
    send_buffer: int = 0
    receive_buffer: int = 0
    bulk_s: float = 0
    no_delay: bool = False


WRITERS = {
    "steady": Writer(8192, share=0.3),
    "small": Writer(1000, share=0.1),
    "seldom": Writer(8192, period=0.04),
    "no-delay": Writer(3000, share=0.2, no_delay=True),
    "segments": Writer(4 * FULL, share=0.3),
    "bulk": Writer(),
    "buffer-16": Writer(send_buffer=16 << 10),
    "buffer-64": Writer(send_buffer=64 << 10),
    "buffer-small": Writer(1000, send_buffer=32 << 10),
    "slow-reader": Writer(nap=0.1, receive_buffer=128 << 10),
    "small-window": Writer(receive_buffer=16 << 10),
    "bursts": Writer(100_000, period=0.1),
    "questions": Writer(300, answer=5000, no_delay=True),
    "phases": Writer(8192, share=0.3, bulk_s=0.5),
}
#: Send buffers, small windows, and both on one path: for `fit_limits.py`.
BUFFERED = {
    **{f"buffer-{kib}": Writer(send_buffer=kib << 10) for kib in (16, 32, 64, 128)},
    **{f"window-{kib}": Writer(receive_buffer=kib << 10) for kib in (16, 64)},
    "buffer-below-window": Writer(send_buffer=16 << 10, receive_buffer=64 << 10),
    "buffer-about-window": Writer(send_buffer=32 << 10, receive_buffer=48 << 10),
    "buffer-above-window": Writer(send_buffer=64 << 10, receive_buffer=16 << 10),
    "buffer-small-writes": Writer(4000, send_buffer=32 << 10),
    "iperf": Writer(128 << 10),
    "steady-16": Writer(16 << 10, share=0.4),
    "ask-large": Writer(20_000, answer=300, no_delay=True),
    "answer-large": Writer(300, answer=20_000, no_delay=True),
}
#: These writers send steadily, and less than the link carries.
STEADY = ("steady", "small", "seldom", "no-delay", "segments")


def receive(host: str, writer: Writer, *, slow_ack: bool) -> None:
    """Receives one connection."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if writer.receive_buffer:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, writer.receive_buffer)
        listener.bind((host, PORT))
        listener.listen()
        print("ready", flush=True)
        connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    missing = writer.size
    while True:
        if slow_ack:
            # Delays acknowledgements; Linux turns quick ones on again, so this is repeated.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        got = len(connection.recv(64 << 10))
        if not got:
            break
        missing -= got
        if writer.answer and missing <= 0:
            connection.sendall(BLOCK[: writer.answer])
            missing += writer.size
        if writer.nap:
            time.sleep(writer.nap)
    connection.close()


def poll(connection: socket.socket, over: threading.Event, found: list[tuple[int, ...]]) -> None:
    """Polls the kernel until `over` is set."""
    while not over.is_set():
        infort = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO.size)
        found.append((time.time_ns(), *INFO.unpack(infort)))
        time.sleep(POLL_S)


def write(connection: socket.socket, writer: Writer, seconds: float, rate: float) -> np.ndarray:
    """Writes for `seconds`; returns begin and end of each call of `send`."""
    period = writer.period or (writer.size * 8 / (writer.share * rate) if writer.share else 0)
    start = due = time.monotonic()
    times = []
    for _ in itertools.count():
        now = time.monotonic()
        if now > start + seconds:
            break
        bulk = writer.bulk_s and (now - start) // writer.bulk_s % 2 == 1
        begun = time.time_ns()
        connection.sendall(BLOCK if bulk else BLOCK[: writer.size])
        times.append((begun, time.time_ns()))
        missing = writer.answer
        while missing:
            missing -= len(connection.recv(missing))
        if period and not bulk:
            # A late writer does not catch up.
            due = max(due + period, time.monotonic())
            time.sleep(max(0, due - time.monotonic()))
    return np.array(times, np.int64)


def send(
    host: str, writer: Writer, seconds: float, congestion: str, rate: float
) -> dict[str, object]:
    """Sends as the writer does; returns the content of the file."""
    connection = socket.socket()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, writer.no_delay)
    if writer.send_buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, writer.send_buffer)
    connection.connect((host, PORT))
    over, polls = threading.Event(), []
    poller = threading.Thread(target=poll, args=(connection, over, polls))
    poller.start()
    times = write(connection, writer, seconds, rate)
    # The queued data may take a second more; the other side is not waited for.
    limit = time.monotonic() + 1
    while polls[-1][4] and time.monotonic() < limit:
        time.sleep(POLL_S)
    over.set()
    poller.join()
    connection.close()
    return {"polls": np.array(polls, FIELDS), "begun": times[:, 0], "done": times[:, 1]}


if __name__ == "__main__":
    # A writer that other programs delay would be limited by them instead.
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    match sys.argv[1:]:
        case ["receive", host, name, *slow]:
            receive(host, (WRITERS | BUFFERED)[name], slow_ack=bool(slow))
        case ["send", host, name, seconds, congestion, rate, file]:
            report = send(host, (WRITERS | BUFFERED)[name], float(seconds), congestion, float(rate))
            np.savez_compressed(file, **report)
        case _:
            sys.exit(f"{Path(__file__).name}: {__doc__}")
