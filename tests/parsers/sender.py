"""Sends and receives as a named phase defines, one TCP connection each.

`sender.py receive HOST NAME...` listens, prints `ready`, and ends with the last connection.
`sender.py send HOST NAME SECONDS CONGESTION` prints one line of JSON: `sent` and `answered`, lists
of the bytes written in either direction; `begun`, when each write began if there are pauses; and
the kernel's chronographs (tcp_info(7)) when all was acknowledged: `busy`, which includes the
others, `receiver` and `sender`. Times are in nanoseconds.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import socket
import struct
import sys
import termios
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

BLOCK = bytes(256 << 10)
FIRST_PORT = 7000
# tcp_info: tcpi_busy_time, tcpi_rwnd_limited, tcpi_sndbuf_limited, in microseconds.
CHRONOGRAPHS = struct.Struct("=168x3Q")
# Payload of a full segment at an MTU of 1500: 40 bytes of headers, 12 of timestamps.
FULL = 1448


@dataclass(frozen=True)
class Phase:
    """What one connection does.

    `writes` (bytes each) follow one another after `pause` seconds; without any, the sender writes
    continuously. `answer`: bytes that the receiver sends after every write. `nap`: the receiver
    reads 64 KiB, then sleeps for `nap` seconds.
    """

    writes: tuple[int, ...] = ()
    pause: float = 0
    answer: int = 0
    nap: float = 0
    send_buffer: int = 0
    receive_buffer: int = 0


SIZES = (1, 100, FULL - 1, FULL, FULL + 1, 4 * FULL, 65_535, 65_536, 65_537, 7)
PHASES = {
    "paced": Phase(writes=(8192,), pause=0.01),
    "ping-pong": Phase(writes=(300,), answer=5000),
    "ping-pong-think": Phase(writes=(300,) * 30, answer=300, pause=0.005),
    "slow-reader": Phase(nap=0.1, receive_buffer=128 << 10),
    "small-receive-buffer": Phase(receive_buffer=16 << 10),
    "small-send-buffer": Phase((16 << 10,), send_buffer=64 << 10, receive_buffer=2 << 20),
    "large-writes": Phase(send_buffer=64 << 10, receive_buffer=2 << 20),
    "bulk": Phase(),
    "turns": Phase(writes=SIZES, answer=2 * FULL),
    "equal-turns": Phase(writes=(1000,) * 30, answer=300),
    "one-way": Phase(writes=SIZES, pause=0.1),
    "one-write": Phase(writes=(1_000_000,)),
}
PORTS = {name: FIRST_PORT + number for number, name in enumerate(PHASES)}


def _exactly(connection: socket.socket, remaining: int) -> bool:
    """Reads `remaining` bytes; returns False if the stream ends first."""
    while remaining > 0:
        got = len(connection.recv(min(remaining, len(BLOCK))))
        if got == 0:
            return False
        remaining -= got
    return True


def _receive(listener: socket.socket, phase: Phase) -> None:
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if phase.answer:
        for size in itertools.cycle(phase.writes):
            if not _exactly(connection, size):
                break
            connection.sendall(BLOCK[: phase.answer])
    else:
        while connection.recv(64 << 10):
            time.sleep(phase.nap)
    connection.close()


def receive(host: str, names: list[str]) -> None:
    """Accepts one connection for every name and receives as that phase defines."""
    threads = []
    for name, connections in Counter(names).items():
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if PHASES[name].receive_buffer:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, PHASES[name].receive_buffer)
        listener.bind((host, PORTS[name]))
        listener.listen()
        for _ in range(connections):
            threads.append(threading.Thread(target=_receive, args=(listener, PHASES[name])))
            threads[-1].start()
    print("ready", flush=True)
    for thread in threads:
        thread.join()


def send(host: str, name: str, seconds: float, congestion: str) -> dict[str, object]:
    """Sends as the phase defines; 0 seconds: each of its writes once."""
    phase = PHASES[name]
    connection = socket.socket()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if phase.send_buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, phase.send_buffer)
    connection.connect((host, PORTS[name]))
    sent, begun = [], []
    end = time.monotonic() + seconds
    due = time.monotonic()
    for size in itertools.cycle(phase.writes or (len(BLOCK),)):
        if time.monotonic() > end if seconds else len(sent) == len(phase.writes):
            break
        begun.append(time.monotonic_ns())
        connection.sendall(bytes(size))
        sent.append(size)
        if phase.answer:
            _exactly(connection, phase.answer)
            due = time.monotonic()
        # A late write does not shorten the next pause.
        due = max(due, begun[-1] / 1e9) + phase.pause
        time.sleep(max(0, due - time.monotonic()))
    queued = bytes(4)
    while struct.unpack("=i", fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(queued)))[0] > 0:
        time.sleep(0.0005)
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, CHRONOGRAPHS.size)
    times = (1000 * microseconds for microseconds in CHRONOGRAPHS.unpack(info))
    connection.close()
    return {
        "sent": sent,
        "begun": begun if phase.pause else [],
        "answered": [phase.answer] * len(sent) if phase.answer else [],
        **dict(zip(("busy", "receiver", "sender"), times, strict=True)),
    }


if __name__ == "__main__":
    # A sender that other programs delay would be limited by them instead of by its phase.
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    match sys.argv[1:]:
        case ["receive", host, *names]:
            receive(host, names)
        case ["send", host, name, seconds, congestion]:
            print(json.dumps(send(host, name, float(seconds), congestion)))
        case _:
            sys.exit(f"{Path(__file__).name}: {__doc__}")
