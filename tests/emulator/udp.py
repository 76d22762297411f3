"""Sends UDP datagrams at a rate, or prints the rate of frame bytes received, by kernel stamps.

send ADDRESS BIT_PER_S SECONDS FRAME_BYTES | receive SECONDS_OF_SILENCE
"""

import socket
import struct
import sys
import time

HEADERS = 14 + 20 + 8
SO_TIMESTAMPNS = 35
SO_RCVBUFFORCE = 33
PORT = 9


def send(address: str, rate: float, seconds: float, frame_bytes: int) -> None:
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    payload = bytes(frame_bytes - HEADERS)
    gap = frame_bytes * 8 / rate
    start = time.monotonic()
    sent = 0
    while (now := time.monotonic() - start) < seconds:
        if now < sent * gap:
            time.sleep(min(sent * gap - now, 0.001))
        else:
            link.sendto(payload, (address, PORT))
            sent += 1
    print(sent)


def receive(silence: float) -> None:
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        link.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
    except PermissionError:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    link.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    link.bind(("", PORT))
    link.settimeout(silence)
    print("ready", flush=True)
    first = last = frame_bytes = 0
    try:
        while True:
            data, [(_, _, stamp), *_], _, _ = link.recvmsg(65_536, 64)
            seconds, nanoseconds = struct.unpack("qq", stamp)
            last = seconds * 10**9 + nanoseconds
            if first:
                frame_bytes += len(data) + HEADERS
            else:
                first = last
    except TimeoutError:
        print(frame_bytes * 8e9 / (last - first))


if sys.argv[1] == "send":
    send(sys.argv[2], float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
else:
    receive(float(sys.argv[2]))
