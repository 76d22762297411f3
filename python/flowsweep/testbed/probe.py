"""Two idle hosts to the round-trip time and the rate that the path between them really has.

Sockets are opened in the namespaces of both hosts by this one process; arrival times
are the kernel's, so that how late Python is called plays no part.
"""

from __future__ import annotations

import contextlib
import select
import socket
import statistics
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flowsweep.testbed import bed as beds
from flowsweep.testbed import counters, kernel

if TYPE_CHECKING:
    from flowsweep.testbed.bed import Bed, BedHost

SO_TIMESTAMPNS = 35
UDP_SEGMENT = 103
FRAMES_PER_CALL = 32
LOCAL_EXPERIMENT_ETHERTYPE = 0x88B5
PROBES = 9
PROBE_GAP_S = 1e-3
FRAME_HEADER_BYTES = 14 + 20 + 8
TRAIN_PAYLOAD_BYTES = 1472
PROBE_PAYLOAD_BYTES = 4
FULL_FRAME_BYTES = FRAME_HEADER_BYTES + TRAIN_PAYLOAD_BYTES
TRAIN_S = 0.03
TRAIN_PARTS = 5
MAX_TRAIN_FRAMES = 120  # what a socket's buffer of the usual size holds
RATE_TRIES = 3
RATE_TOLERANCE = 0.02
OVERLOAD_LEAD_S = 4e-3
OVERLOAD_S = 0.06
PLAUSIBLE_SHARE = 0.9


@dataclass(frozen=True)
class Path:
    """Measured between the first hosts of two sites while nothing else was sent.

    `rate_bit_s` counts frame bytes, as the emulator does; None where there is no limit, or
    where this process was not run often enough to find it.
    """

    between: tuple[str, str]
    rtt_ns: int
    rate_bit_s: float | None


def announce(bed: Bed) -> None:
    """One broadcast frame from each host, so that the emulator knows where each one is."""
    for host in bed.hosts:
        with (
            kernel.network_namespace(host.namespace),
            socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw,
        ):
            raw.bind((beds.EXPERIMENT_INTERFACE, 0))
            source = bytes.fromhex(host.mac.replace(":", ""))
            frame = b"\xff" * 6 + source + struct.pack("!H", LOCAL_EXPERIMENT_ETHERTYPE)
            raw.send(frame.ljust(60, b"\0"))


def measure(bed: Bed) -> list[Path]:
    """Every pair of sites, by their first hosts."""
    firsts = [bed.at(site)[0] for site in bed.sites]
    return [
        _measure(bed, near, far) for index, near in enumerate(firsts) for far in firsts[index + 1 :]
    ]


def exercise(bed: Bed, seconds: float) -> None:
    """A full frame each way every millisecond between the first hosts of two sites."""
    near, far = (bed.at(site)[0] for site in bed.sites[:2])
    with _socket(near) as here, _socket(far) as there:
        payload = bytes(TRAIN_PAYLOAD_BYTES)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            here.sendto(payload, there.getsockname())
            there.sendto(payload, here.getsockname())
            time.sleep(PROBE_GAP_S)
        time.sleep(2e-9 * bed.rtt_ns + 0.01)


@contextlib.contextmanager
def _socket(host: BedHost) -> Iterator[socket.socket]:
    with kernel.network_namespace(host.namespace):
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with made:
        made.bind((host.address, 0))
        made.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        made.setblocking(False)
        yield made


def _receive(receiver: socket.socket, limit_s: float) -> tuple[bytes, int] | None:
    """A datagram and its arrival in nanoseconds; None after `limit_s`."""
    readable, _, _ = select.select([receiver], [], [], max(0.0, limit_s))
    if not readable:
        return None
    data, ancillary, _, _ = receiver.recvmsg(2048, 64)
    for level, kind, stamp in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
            seconds, nanoseconds = struct.unpack("qq", stamp[:16])
            return data, seconds * 10**9 + nanoseconds
    return data, time.time_ns()


def _measure(bed: Bed, near: BedHost, far: BedHost) -> Path:
    with _socket(near) as here, _socket(far) as there:
        forth = _one_way(here, there, bed)
        back = _one_way(there, here, bed)
        rate = None if bed.rate_bit_s is None else _settled_rate(here, there, far, bed)
    return Path((near.name, far.name), max(0, forth + back - 2 * _own_time_ns(bed)), rate)


def _own_time_ns(bed: Bed) -> int:
    """What a probe takes to leave at the rate of the link: not part of the path's delay."""
    if bed.rate_bit_s is None:
        return 0
    return round((FRAME_HEADER_BYTES + PROBE_PAYLOAD_BYTES) * 8e9 / bed.rate_bit_s)


def _one_way(sender: socket.socket, receiver: socket.socket, bed: Bed) -> int:
    """Median nanoseconds from handing over a small datagram to its arrival."""
    target = receiver.getsockname()
    sent: dict[int, int] = {}
    delays: list[int] = []
    for number in range(PROBES):
        sent[number] = time.time_ns()
        sender.sendto(struct.pack("!I", number), target)
        # No probe may queue behind the one before.
        time.sleep(max(PROBE_GAP_S, 2e-9 * _own_time_ns(bed)))
    end = time.monotonic() + bed.rtt_ns / 1e9 + 1.0
    while len(delays) < PROBES:
        arrival = _receive(receiver, end - time.monotonic())
        if arrival is None:
            break
        (number,) = struct.unpack("!I", arrival[0][:4])
        delays.append(arrival[1] - sent[number])
    return round(statistics.median(delays)) if delays else 0


def _settled_rate(
    sender: socket.socket, receiver: socket.socket, far: BedHost, bed: Bed
) -> float | None:
    """The rate; where it is not as asked, the nearest of several.

    A link that really differs does so every time; a sender that was not run, only once.
    """
    asked = bed.rate_bit_s or 0.0
    found: list[float] = []
    for _ in range(RATE_TRIES):
        rate = _rate(sender, receiver, far, asked, bed)
        if rate is not None:
            found.append(rate)
            if abs(rate / asked - 1) <= RATE_TOLERANCE:
                return rate
    return min(found, key=lambda rate: abs(rate - asked), default=None)


def _rate(
    sender: socket.socket, receiver: socket.socket, far: BedHost, asked: float, bed: Bed
) -> float | None:
    """Frame bits per second of full frames while the link's queue is never empty."""
    # The kernel cuts a large datagram into frames, faster than Python could send them.
    sender.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, TRAIN_PAYLOAD_BYTES)
    frames = max(TRAIN_PARTS + 1, int(asked * TRAIN_S / (8 * FULL_FRAME_BYTES)))
    if frames <= min(bed.queue_bytes // FULL_FRAME_BYTES, MAX_TRAIN_FRAMES):
        return _rate_of_train(sender, receiver, frames, asked, bed)
    return _rate_of_overload(sender, receiver, far, asked, bed)


def _rate_of_train(
    sender: socket.socket, receiver: socket.socket, frames: int, asked: float, bed: Bed
) -> float | None:
    """Of frames sent at once that wait in the queue: by the times of their arrival.

    The median over parts: a moment in which the emulator was late spoils one part only.
    """
    for first in range(0, frames, FRAMES_PER_CALL):
        count = min(FRAMES_PER_CALL, frames - first)
        sender.sendto(bytes(TRAIN_PAYLOAD_BYTES * count), receiver.getsockname())
    limit = time.monotonic() + bed.rtt_ns / 1e9 + 2 * frames * FULL_FRAME_BYTES * 8 / asked + 0.5
    arrivals: list[int] = []
    while len(arrivals) < frames:
        arrival = _receive(receiver, limit - time.monotonic())
        if arrival is None:
            break
        arrivals.append(arrival[1])
    size = (len(arrivals) - 1) // TRAIN_PARTS
    if size < 1:
        return None
    spans = [arrivals[(part + 1) * size] - arrivals[part * size] for part in range(TRAIN_PARTS)]
    return size * FULL_FRAME_BYTES * 8e9 / max(1.0, statistics.median(spans))


def _rate_of_overload(
    sender: socket.socket, receiver: socket.socket, far: BedHost, asked: float, bed: Bed
) -> float | None:
    """Of twice as much as the link carries: by the counter of the receiver's interface."""
    burst = bytes(TRAIN_PAYLOAD_BYTES * FRAMES_PER_CALL)
    burst_s = FRAMES_PER_CALL * FULL_FRAME_BYTES * 8 / (2 * asked)
    target = receiver.getsockname()
    start = time.monotonic()
    first_s = bed.rtt_ns / 1e9 + OVERLOAD_LEAD_S
    bursts, readings = 0, list[tuple[float, int]]()
    while len(readings) < 2:
        now = time.monotonic() - start
        if bursts * burst_s <= now:
            with contextlib.suppress(BlockingIOError):
                sender.sendto(burst, target)
            # What could not be sent in time is not made up for: the queue holds enough.
            bursts = max(bursts, int(now / burst_s)) + 1
        elif now >= first_s + OVERLOAD_S * len(readings):
            received = counters.received_bytes(far)
            readings.append((time.monotonic(), received))
    (begin, before), (end, after) = readings
    rate = (after - before) * 8 / (end - begin)
    # Below this the sender was not run often enough to fill the link.
    return rate if rate >= PLAUSIBLE_SHARE * asked else None
