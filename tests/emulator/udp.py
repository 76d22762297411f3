"""Sends UDP datagrams at a rate, or reports what was received.

send ADDRESS BIT_PER_S SECONDS FRAME_BYTES | receive

`send` prints how many it sent. `receive` ends after a silence once standard input has ended, so
the sender may begin late; it prints the frame bytes after the first frame and the nanoseconds
from that to the last, by kernel timestamps.
"""

import select
import socket
import struct
import sys
import time

HEADERS = 14 + 20 + 8
SO_TIMESTAMPNS = 35
UDP_SEGMENT = 103
SO_RCVBUFFORCE = 33
PORT = 9
SILENCE_S = 0.5


def send(address: str, rate: float, seconds: float, frame_bytes: int) -> None:
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    # The kernel splits one call into datagrams: even a sender with little CPU time can flood.
    at_once = 10 if rate > 50e6 else 1
    link.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, frame_bytes - HEADERS)
    payload = bytes(at_once * (frame_bytes - HEADERS))
    gap = frame_bytes * 8 / rate
    start = time.monotonic()
    sent = 0
    while (now := time.monotonic() - start) < seconds:
        if now < sent * gap:
            time.sleep(min(sent * gap - now, 0.001))
        else:
            link.sendto(payload, (address, PORT))
            sent += at_once
    print(sent)


def receive() -> None:
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        link.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
    except PermissionError:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    link.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    link.bind(("", PORT))
    print("ready", flush=True)
    first = last = frame_bytes = 0
    watched: list[object] = [link, sys.stdin]
    while ready := select.select(watched, [], [], SILENCE_S if len(watched) == 1 else None)[0]:
        if link not in ready:
            watched.remove(sys.stdin)
            continue
        data, [(_, _, stamp), *_], _, _ = link.recvmsg(65_536, 64)
        seconds, nanoseconds = struct.unpack("qq", stamp)
        last = seconds * 10**9 + nanoseconds
        if first:
            frame_bytes += len(data) + HEADERS
        else:
            first = last
    print(frame_bytes, last - first)


if sys.argv[1] == "send":
    send(sys.argv[2], float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
else:
    receive()
