"""Writes whose number and sizes are known by construction, over one TCP connection.

`message_writers.py receive HOST` reads from every port of `WRITERS`, prints `ready`, and ends when
each had a connection. `message_writers.py send HOST NAME COUNT` writes as NAME defines and prints
the sizes of its writes as JSON.
"""

from __future__ import annotations

import itertools
import json
import random
import socket
import sys
import threading
import time
from collections.abc import Iterator

#: Payload of a full segment at an MTU of 1500: 40 bytes of headers, 12 of timestamps.
FULL = 1448
FIRST_PORT = 7100
#: Bytes of a write, seconds from its end to the next.
Write = tuple[int, float]


def _large(chance: random.Random) -> Iterator[Write]:
    while True:
        yield 30_000, chance.uniform(0.01, 0.06)


def _mixed(chance: random.Random) -> Iterator[Write]:
    while True:
        yield round(10 ** chance.uniform(2, 5)), chance.expovariate(1 / 0.03)


def _full(chance: random.Random) -> Iterator[Write]:
    while True:
        yield chance.randint(1, 20) * FULL, chance.uniform(0.02, 0.08)


def _bursts(chance: random.Random) -> Iterator[Write]:
    while True:
        for _ in range(4):
            yield 3000, 0
        yield 3000, chance.uniform(0.02, 0.06)


def _steady(_: random.Random) -> Iterator[Write]:
    while True:
        yield 5000, 0.005


#: Each has its own port, in this order.
WRITERS = {
    "30 kB": _large,
    "mixed sizes": _mixed,
    "multiples of the MSS": _full,
    "bursts": _bursts,
    "5 kB every 5 ms": _steady,
}
PORTS = {name: FIRST_PORT + number for number, name in enumerate(WRITERS)}


def _read(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        while connection.recv(1 << 20):
            pass


def receive(host: str) -> None:
    """Reads one connection on each port to its end."""
    threads = []
    for port in PORTS.values():
        listener = socket.create_server((host, port))
        threads.append(threading.Thread(target=_read, args=(listener,)))
        threads[-1].start()
    print("ready", flush=True)
    for thread in threads:
        thread.join()


def send(host: str, name: str, count: int) -> list[int]:
    """Sends `count` writes with their pauses and returns their sizes."""
    writes = WRITERS[name](random.Random(2006))
    sizes = []
    with socket.create_connection((host, PORTS[name])) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for size, pause in itertools.islice(writes, count):
            connection.sendall(bytes(size))
            sizes.append(size)
            time.sleep(pause)
        connection.shutdown(socket.SHUT_WR)
        # Waits until the other side has read everything and closed.
        connection.recv(1)
    return sizes


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["receive", host]:
            receive(host)
        case ["send", host, name, count]:
            print(json.dumps(send(host, name, int(count))))
        case _:
            sys.exit(f"{__file__}: {__doc__}")
