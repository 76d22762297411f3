"""Measures a path from inside a namespace; each result is one line of JSON.

rtt ADDRESS PER_SECOND COUNT        ICMP echoes: time sent, and RTT by kernel timestamp, ns
stream ADDRESS PER_SECOND COUNT     numbered, stamped datagrams; prints how many were sent
sink SILENCE_S                      receives them: number, time sent, arrival time, frame bytes
sink-sizes SILENCE_S                receives any datagrams: frames after the first, and the time
flood ADDRESS BIT_PER_S SECONDS FRAME_BYTES
count SECONDS                       frames and bytes received meanwhile, and the time, ns
discard SECONDS                     receives datagrams and drops them
witness CORE                        until its input ends: when a core was withheld, and how long, ns
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import select
import socket
import struct
import sys
import time
from pathlib import Path

HEADERS = 14 + 20 + 8
PORT = 9
SO_TIMESTAMPNS = 35
SO_RCVBUFFORCE = 33
SOL_UDP = 17
UDP_SEGMENT = 103
ICMP_ECHO = 8
# The witness is one step below the emulators' 50: it waits for them, and they never for it.
PRIORITIES = {"rtt": 20, "stream": 20, "witness": 49}
WITNESS_GAP_NS = 1_000_000
# No emulator occupies a core that long.
WITNESS_LATE_NS = 250_000
STAMP = struct.Struct("!QQ")


def big_buffer(link: socket.socket) -> None:
    try:
        link.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
    except PermissionError:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)


def arrival(ancillary: list[tuple[int, int, bytes]]) -> int:
    seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
    return seconds * 10**9 + nanoseconds


def checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def rtt(address: str, per_second: float, count: int) -> list[tuple[int, int]]:
    link = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    link.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    link.setblocking(False)
    mark = os.getpid() & 0xFFFF
    times: list[tuple[int, int]] = []
    sent = 0
    gap = 1 / per_second
    start = time.monotonic()
    # An echo is lost if it has not returned a second after the last one was sent.
    while (now := time.monotonic() - start) < count * gap + 1 and len(times) < count:
        if sent < count and now >= sent * gap:
            stamp = STAMP.pack(sent, time.time_ns())
            head = struct.pack("!BBHHH", ICMP_ECHO, 0, 0, mark, sent & 0xFFFF)
            code = checksum(head + stamp)
            head = struct.pack("!BBHHH", ICMP_ECHO, 0, code, mark, sent & 0xFFFF)
            link.sendto(head + stamp, (address, 0))
            sent += 1
            continue
        wait = sent * gap - now if sent < count else 0.1
        if not select.select([link], [], [], max(wait, 0))[0]:
            continue
        data, ancillary, _, _ = link.recvmsg(256, 64)
        kind, _, _, owner, _ = struct.unpack("!BBHHH", data[20:28])
        if kind == 0 and owner == mark:
            begin = STAMP.unpack(data[28:44])[1]
            times.append((begin, arrival(ancillary) - begin))
    return times


def stream(address: str, per_second: float, count: int) -> int:
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    gap = 1 / per_second
    start = time.monotonic()
    for number in range(count):
        while (left := start + number * gap - time.monotonic()) > 0:
            time.sleep(left)
        link.sendto(STAMP.pack(number, time.time_ns()), (address, PORT))
    return count


def sink(silence: float) -> list[tuple[int, int, int, int]]:
    return [(*STAMP.unpack_from(data), stamp, len(data) + HEADERS) for data, stamp in take(silence)]


def sink_sizes(silence: float) -> dict[str, int]:
    stamps = [stamp for _, stamp in take(silence)]
    return {"frames": len(stamps) - 1, "ns": stamps[-1] - stamps[0]}


def take(silence: float) -> list[tuple[bytes, int]]:
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    big_buffer(link)
    link.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    link.bind(("", PORT))
    link.settimeout(30)
    print("ready", flush=True)
    found: list[tuple[bytes, int]] = []
    try:
        while True:
            data, ancillary, _, _ = link.recvmsg(65_536, 64)
            if not found:
                link.settimeout(silence)
            found.append((data, arrival(ancillary)))
    except TimeoutError:
        return found


def flood(address: str, rate: float, seconds: float, frame_bytes: int) -> int:
    """Sends several full datagrams per call, because one call each would be too slow."""
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    payload = frame_bytes - HEADERS
    group = 1
    if rate > 20e6:
        group = 20
        link.setsockopt(SOL_UDP, UDP_SEGMENT, payload)
    data = bytes(payload * group)
    gap = frame_bytes * 8 * group / rate
    start = time.monotonic()
    sent = 0
    while (now := time.monotonic() - start) < seconds:
        if now < sent * gap:
            time.sleep(min(sent * gap - now, 0.001))
        else:
            link.sendto(data, (address, PORT))
            sent += 1
    return sent * group


def received() -> array.array[int]:
    total = array.array("Q", [0, 0])
    for line in Path("/proc/self/net/dev").read_text().splitlines()[2:]:
        name, values = line.split(":")
        if name.strip() != "lo":
            size, packets = values.split()[:2]
            total[0] += int(packets)
            total[1] += int(size)
    return total


def count(seconds: float) -> dict[str, int]:
    first, begin = received(), time.monotonic_ns()
    time.sleep(seconds)
    last, end = received(), time.monotonic_ns()
    return {"packets": last[0] - first[0], "bytes": last[1] - first[1], "ns": end - begin}


def discard(seconds: float) -> None:
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    link.bind(("", PORT))
    print("ready", flush=True)
    time.sleep(seconds)


def witness(core: int) -> list[tuple[int, int, int]]:
    """Returns when the machine withheld this core from a process with real-time priority.

    Each entry has the last wake-up in time, the late one, and how late it was.
    """
    os.sched_setaffinity(0, {core})
    withheld = []
    print("ready", flush=True)
    while True:
        begin, due = time.time_ns(), time.monotonic_ns() + WITNESS_GAP_NS
        if select.select([sys.stdin], [], [], WITNESS_GAP_NS / 1e9)[0]:
            return withheld
        late = time.monotonic_ns() - due
        if late > WITNESS_LATE_NS:
            withheld.append((begin, time.time_ns(), late))


def main() -> None:
    what, *words = sys.argv[1:]
    if what in PRIORITIES:
        # The path is measured, not the time that this program waits for a core.
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITIES[what]))
    address = words[0] if what in ("rtt", "stream", "flood") else ""
    numbers = [float(word) for word in words[1 if address else 0 :]]
    results = {
        "rtt": lambda: rtt(address, numbers[0], int(numbers[1])),
        "stream": lambda: stream(address, numbers[0], int(numbers[1])),
        "sink": lambda: sink(numbers[0]),
        "sink-sizes": lambda: sink_sizes(numbers[0]),
        "flood": lambda: flood(address, numbers[0], numbers[1], int(numbers[2])),
        "count": lambda: count(numbers[0]),
        "discard": lambda: discard(numbers[0]),
        "witness": lambda: witness(int(numbers[0])),
    }
    print(json.dumps(results[what]()))


if __name__ == "__main__":
    main()
