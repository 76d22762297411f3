"""Measures the RTT and the rate of the idle path between two hosts.

One process opens sockets in the namespaces of both hosts. Arrival times are the kernel's, so
delays of Python do not matter.
"""

from __future__ import annotations

import ipaddress
import socket
import statistics
import struct
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flowsweep.testbed import emulation
from flowsweep.testbed import spec as specs
from flowsweep.testbed.namespaces import counters, datagrams

if TYPE_CHECKING:
    from flowsweep.testbed.spec import HostSpec, LinkSpec, Spec

FRAMES_PER_CALL = 32
DISCARD_PORT = 9
PROBES = 9
PROBE_GAP_S = 1e-3
RTT_TRIES = 3
RTT_TOLERANCE = 0.05
RTT_TOLERANCE_NS = 300_000
FRAME_HEADER_BYTES = 14 + 20 + 8
PROBE_PAYLOAD_BYTES = 8
FULL_FRAME_BYTES = FRAME_HEADER_BYTES + datagrams.PAYLOAD_BYTES
TRAIN_S = 0.03
TRAIN_PARTS = 5
MAX_TRAIN_FRAMES = 120  # fit into a socket buffer of the default size
RATE_TRIES = 3
RATE_TOLERANCE = 0.02
OVERLOAD_LEAD_S = 4e-3
OVERLOAD_S = 0.06
PLAUSIBLE_SHARE = 0.9
PLAUSIBLE_RTT_NS = 1_000_000


@dataclass(frozen=True)
class Path:
    """The measured path between the first hosts of two sites while nothing else was sent.

    `rtt_ns` is None if no probe arrived. `rate_bit_s` counts frame bytes, plus what Ethernet
    adds if the emulator counts that; None if there is no limit, or if this process was not
    scheduled often enough to find it.
    """

    between: tuple[str, str]
    rtt_ns: int | None
    rate_bit_s: float | None


def announce(spec: Spec) -> None:
    """Sends a broadcast frame from each host, so that the emulator learns where each host is.

    It uses UDP because the kernel needs some 15 ms to close a packet socket.
    """
    broadcast = str(ipaddress.ip_network(specs.EXPERIMENT_NETWORK).broadcast_address)
    for host in spec.hosts:
        with datagrams.open_socket(host) as sender:
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            sender.sendto(b"", (broadcast, DISCARD_PORT))


@dataclass(frozen=True)
class _Asked:
    """The expected path of a probe; the forward rate is measured."""

    rtt_ns: int
    rate_bit_s: float | None
    back_bit_s: float | None
    queue_bytes: int
    overhead_bytes: int
    least_frame_bytes: int

    @property
    def full_frame_bytes(self) -> int:
        """Bytes of the largest frame on the line."""
        return FULL_FRAME_BYTES + self.overhead_bytes


def measure(spec: Spec) -> list[Path]:
    """Measures every pair of sites, between their first hosts."""
    return [
        _measure(_expect(spec, link), spec.at(link.a)[0], spec.at(link.b)[0]) for link in spec.links
    ]


def find_implausible(spec: Spec, paths: list[Path]) -> str | None:
    """Returns how the idle paths differ from the requested ones, or None."""
    for link, path in zip(spec.links, paths, strict=True):
        if path.rtt_ns is None:
            return "no probe came through"
        if abs(path.rtt_ns - link.rtt_ns) > max(PLAUSIBLE_RTT_NS, 0.1 * link.rtt_ns):
            return f"RTT {path.rtt_ns / 1e6:.2f} ms, {link.rtt_ns / 1e6:g} ms asked"
        asked = spec.path_rate_bit_s(link.a, link.b)
        if path.rate_bit_s is not None and asked is not None:
            share = path.rate_bit_s / asked
            if abs(share - 1) > 1 - PLAUSIBLE_SHARE:
                return f"rate {path.rate_bit_s / 1e6:.6g} Mbit/s, {asked / 1e6:.6g} asked"
    return None


def round_trips(spec: Spec) -> list[int | None]:
    """Measures the RTT of every pair of sites, in nanoseconds; None if no probe arrived."""
    found = []
    for link in spec.links:
        asked = _expect(spec, link)
        with (
            datagrams.open_socket(spec.at(link.a)[0]) as here,
            datagrams.open_socket(spec.at(link.b)[0]) as there,
        ):
            found.append(_round_trip(here, there, asked))
    return found


def _expect(spec: Spec, link: LinkSpec) -> _Asked:
    ends = (link.a, link.b)
    queues = [spec.uplinks[site].queue_bytes for site in ends if site in spec.uplinks]
    return _Asked(
        link.rtt_ns,
        spec.path_rate_bit_s(*ends),
        spec.path_rate_bit_s(*reversed(ends)),
        min([link.queue_bytes, *queues]),
        emulation.ETHERNET_OVERHEAD_BYTES if spec.overhead else 0,
        emulation.ETHERNET_LEAST_FRAME_BYTES if spec.overhead else 0,
    )


def exercise(spec: Spec, seconds: float) -> None:
    """Sends a full frame each way every millisecond between the first hosts of two sites."""
    near, far = (spec.at(site)[0] for site in spec.sites[:2])
    with datagrams.open_socket(near) as here, datagrams.open_socket(far) as there:
        payload = bytes(datagrams.PAYLOAD_BYTES)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            datagrams.send(here, payload, there)
            datagrams.send(there, payload, here)
            time.sleep(PROBE_GAP_S)
        time.sleep(2e-9 * spec.longest_rtt_ns + 0.01)


def _measure(path: _Asked, near: HostSpec, far: HostSpec) -> Path:
    with datagrams.open_socket(near) as here, datagrams.open_socket(far) as there:
        rtt_ns = _round_trip(here, there, path)
        rate = None if path.rate_bit_s is None else _settled_rate(here, there, far, path)
    return Path((near.name, far.name), rtt_ns, rate)


def _round_trip(here: socket.socket, there: socket.socket, path: _Asked) -> int | None:
    """Measures the RTT; if it is longer than requested, takes the shortest of several tries.

    A path that really is longer is so every time; it seems longer once if a host or the emulator
    was not scheduled. A try without an arrived probe is ignored.
    """
    usual = path.rtt_ns + max(RTT_TOLERANCE_NS, round(RTT_TOLERANCE * path.rtt_ns))
    found: list[int] = []
    for _ in range(RTT_TRIES):
        forth, back = _both_ways(here, there, path)
        if forth is None or back is None:
            continue
        found.append(max(0, forth + back - sum(_own_times_ns(path))))
        if found[-1] <= usual:
            break
    return min(found, default=None)


def _own_times_ns(path: _Asked) -> list[int]:
    """Returns the serialisation time of a probe each way, which is not part of the path's delay."""
    size = max(FRAME_HEADER_BYTES + PROBE_PAYLOAD_BYTES, path.least_frame_bytes)
    rates = (path.rate_bit_s, path.back_bit_s)
    return [round((size + path.overhead_bytes) * 8e9 / rate) if rate else 0 for rate in rates]


def _both_ways(
    here: socket.socket, there: socket.socket, path: _Asked
) -> tuple[int | None, int | None]:
    """Returns the median nanoseconds each way from sending a small datagram to its arrival."""
    # No probe may queue behind an earlier one, and the two directions alternate.
    gap_s = max(PROBE_GAP_S, 2e-9 * max(_own_times_ns(path))) / 2
    ways = ((here, there), (there, here))
    base = time.time_ns()  # distinguishes these probes from late earlier ones
    sent: dict[int, int] = {}
    for number in range(2 * PROBES):
        sender, receiver = ways[number % 2]
        sent[base + number] = time.time_ns()
        datagrams.send(sender, struct.pack("!Q", base + number), receiver)
        time.sleep(gap_s)
    end = time.monotonic() + path.rtt_ns / 1e9 + 1.0
    found = []
    for way, (_, receiver) in enumerate(ways):
        waited = {number for number in sent if (number - base) % 2 == way}
        delays = []
        while waited:
            arrival = datagrams.receive(receiver, end - time.monotonic())
            if arrival is None:
                break
            (number,) = struct.unpack("!Q", arrival[0][:8].ljust(8, b"\0"))
            if number in waited:
                waited.remove(number)
                delays.append(arrival[1] - sent[number])
        found.append(round(statistics.median(delays)) if delays else None)
    return found[0], found[1]


def _settled_rate(
    sender: socket.socket, receiver: socket.socket, far: HostSpec, path: _Asked
) -> float | None:
    """Measures the rate; if it is not as requested, takes the nearest of several tries.

    A link that really differs does so every time; a sender that was not scheduled, only once.
    """
    asked = path.rate_bit_s or 0.0
    found: list[float] = []
    for _ in range(RATE_TRIES):
        rate = _rate(sender, receiver, far, path)
        if rate is not None:
            found.append(rate)
            if abs(rate / asked - 1) <= RATE_TOLERANCE:
                return rate
    return min(found, key=lambda rate: abs(rate - asked), default=None)


def _rate(
    sender: socket.socket, receiver: socket.socket, far: HostSpec, path: _Asked
) -> float | None:
    """Measures frame bits per second of full frames while the link's queue is never empty."""
    asked = path.rate_bit_s or 0.0
    datagrams.cut_into_frames(sender)
    frames = max(TRAIN_PARTS + 1, int(asked * TRAIN_S / (8 * path.full_frame_bytes)))
    if frames <= min(path.queue_bytes // FULL_FRAME_BYTES, MAX_TRAIN_FRAMES):
        return _measure_train_rate(sender, receiver, frames, path)
    return _measure_overload_rate(sender, receiver, far, path)


def _measure_train_rate(
    sender: socket.socket, receiver: socket.socket, frames: int, path: _Asked
) -> float | None:
    """Measures the rate by the arrival times of frames that were sent at once and queued.

    Takes the median over parts, so that a delay of the emulator spoils only one part.
    """
    for first in range(0, frames, FRAMES_PER_CALL):
        count = min(FRAMES_PER_CALL, frames - first)
        # A late call leaves a gap between two parts at most.
        datagrams.send_frames(sender, count, receiver, TRAIN_S)
    line_s = frames * path.full_frame_bytes * 8 / (path.rate_bit_s or 1.0)
    limit = time.monotonic() + path.rtt_ns / 1e9 + 2 * line_s + 0.5
    arrivals: list[int] = []
    while len(arrivals) < frames:
        arrival = datagrams.receive(receiver, limit - time.monotonic())
        if arrival is None:
            break
        arrivals.append(arrival[1])
    size = (len(arrivals) - 1) // TRAIN_PARTS
    if size < 1:
        return None
    spans = [arrivals[(part + 1) * size] - arrivals[part * size] for part in range(TRAIN_PARTS)]
    return size * path.full_frame_bytes * 8e9 / max(1.0, statistics.median(spans))


def _measure_overload_rate(
    sender: socket.socket, receiver: socket.socket, far: HostSpec, path: _Asked
) -> float | None:
    """Measures the rate under twice the load of the link, by the receiver's interface counter."""
    asked = path.rate_bit_s or 1.0
    burst_s = FRAMES_PER_CALL * path.full_frame_bytes * 8 / (2 * asked)
    start = time.monotonic()
    first_s = path.rtt_ns / 1e9 + OVERLOAD_LEAD_S
    bursts, readings = 0, list[tuple[float, int]]()
    while len(readings) < 2:
        now = time.monotonic() - start
        if bursts * burst_s <= now:
            datagrams.send_frames(sender, FRAMES_PER_CALL, receiver)
            # Missed bursts are skipped: the queue has enough frames.
            bursts = max(bursts, int(now / burst_s)) + 1
        elif now >= first_s + OVERLOAD_S * len(readings):
            received = counters.received_bytes(far)
            readings.append((time.monotonic(), received))
    (begin, before), (end, after) = readings
    on_line = path.full_frame_bytes / FULL_FRAME_BYTES
    rate = (after - before) * on_line * 8 / (end - begin)
    # Below this, the sender was not scheduled often enough to fill the link.
    return rate if rate >= PLAUSIBLE_SHARE * asked else None
