"""Measurements of an emulator, and how long the machine withheld its cores meanwhile."""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from accuracy_beds import OVERHEAD_BYTES, Bed, CannotError, Link, outcome

US, MS = 1_000, 1_000_000
# Packets that waited for a withheld core have left this long after it came back.
HANDLING_NS = 500 * US
KS_COUNT = 10_000


class Witness:
    """A real-time sleeper on each core that records when the core was withheld."""

    def __enter__(self) -> Self:
        script = Path(__file__).with_name("accuracy_probe.py")
        self._found: list[tuple[int, int, int]] = []
        self._sleepers = [
            subprocess.Popen(
                [sys.executable, script, "witness", str(core)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for core in sorted(os.sched_getaffinity(0))
        ]
        for sleeper in self._sleepers:
            assert sleeper.stdout is not None
            sleeper.stdout.readline()
        return self

    def __exit__(self, *_: object) -> None:
        for sleeper in self._sleepers:
            self._found += json.loads(sleeper.communicate()[0])

    @property
    def late_ns(self) -> int:
        """The latest wake-up of all."""
        return max((late for _, _, late in self._found), default=0)

    def withheld(self, begin_ns: int, end_ns: int) -> bool:
        """Returns whether some core was withheld between two wall-clock times."""
        return any(begin < end_ns and begin_ns < end for begin, end, _ in self._found)


@dataclass
class Test:
    """A measurement that yields (what, value, unit, limit, passed)."""

    name: str
    run: Callable[[Any], Iterator[tuple[str, float, str, str, bool | None]]]


def delay(rtt_ns: int, count: int) -> Test:
    def run(emulator: Any) -> Iterator[tuple[str, float, str, str, bool | None]]:
        with Witness() as witness, emulator.bed(Link(delay_ns=rtt_ns // 2)) as bed:
            echoes = round_trips(bed, count)
        times = [ns for _, ns in echoes]
        bias = statistics.median(times) - emulator.bare_ns - rtt_ns
        bound = min(50 * US, 0.05 * rtt_ns) if rtt_ns < MS else 50 * US
        yield "bias", bias / US, "us", f"<= {bound / US:g}", abs(bias) <= bound
        yield "p99 - p50", spread(times) / US, "us", "<= 100", spread(times) <= 100 * US
        times = undisturbed_times(echoes, witness)
        if count // 2 < len(times) < count:
            what = "p99 - p50 undisturbed"
            yield what, spread(times) / US, "us", "<= 100", spread(times) <= 100 * US

    return Test(f"RTT {rtt_ns / MS:g} ms", run)


def spread(times: list[int]) -> int:
    """Returns the difference between the 99th percentile and the median."""
    times = sorted(times)
    return times[int(0.99 * len(times))] - times[len(times) // 2]


def undisturbed_times(echoes: list[tuple[int, int]], witness: Witness) -> list[int]:
    """Returns the RTTs of echoes in transit while no core was withheld: the emulator's own part."""
    return [ns for begin, ns in echoes if not witness.withheld(begin, begin + ns)]


def bare(bed: Bed, count: int) -> tuple[int, int]:
    """Returns median and p99 - p50 of the RTT with a bridge in place of the emulator, in ns."""
    with Witness() as witness:
        echoes = round_trips(bed, count)
    times = [ns for _, ns in echoes]
    middle, own = round(statistics.median(times)), spread(times)
    times = undisturbed_times(echoes, witness)
    beside = f", undisturbed {spread(times) / US:.0f} us" if len(times) > count // 2 else ""
    print(
        f"round trip without an emulator: {middle / US:.1f} us, subtracted below; "
        f"p99 - p50 {own / US:.0f} us{beside}",
        flush=True,
    )
    return middle, own


def round_trips(bed: Bed, count: int) -> list[tuple[int, int]]:
    """Returns when each echo was sent, and its RTT in ns."""
    echoes: list[tuple[int, int]] = bed.result("west", "rtt", bed.address, 200, count)
    if len(echoes) < count:
        raise RuntimeError(f"{count - len(echoes)} of {count} echoes did not come back")
    return echoes


def rate(bit_s: float, frame_bytes: int, seconds: float) -> Test:
    def run(emulator: Any) -> Iterator[tuple[str, float, str, str, bool | None]]:
        link = Link(delay_ns=MS, rate_bit_s=bit_s, queue_bytes=max(20_000, round(bit_s / 80)))
        with emulator.bed(link) as bed:
            fast = bit_s > 20e6
            found = counted_rate if fast else stamped_rate
            # Twice the link's rate, or a third more if one core cannot send that much.
            offered = (1.33 if bit_s >= 1e9 else 2) * bit_s
            measured = found(bed, offered, seconds, frame_bytes)
        error = measured / bit_s - 1
        bound = 0.01 if bit_s >= 1e9 else 0.001
        yield "error", error * 100, "%", f"<= {bound * 100:g}", abs(error) <= bound

    return Test(f"rate {bit_s / 1e6:g} Mbit/s", run)


def counted_rate(bed: Bed, offered: float, seconds: float, frame_bytes: int) -> float:
    """Returns the rate from the far interface's counters, between two readings in mid-flood."""
    bin_ = bed.probe("east", "discard", seconds + 2)
    sender = bed.probe("west", "flood", bed.address, offered, seconds + 1, frame_bytes)
    time.sleep(0.6)
    found = bed.result("east", "count", seconds)
    sent = outcome(sender) * (frame_bytes + OVERHEAD_BYTES) * 8 / (seconds + 1)
    outcome(bin_)
    if sent < 0.75 * offered:
        raise CannotError(f"only {sent / 1e6:.0f} Mbit/s could be offered beside it")
    return float((found["bytes"] + OVERHEAD_BYTES * found["packets"]) * 8e9 / found["ns"])


def stamped_rate(bed: Bed, offered: float, seconds: float, frame_bytes: int) -> float:
    """Returns the rate from the kernel timestamps of the first and the last datagram."""
    sink = bed.probe("east", "sink-sizes", 1)
    outcome(bed.probe("west", "flood", bed.address, offered, seconds, frame_bytes))
    found = outcome(sink)
    return float(found["frames"] * (frame_bytes + OVERHEAD_BYTES) * 8e9 / found["ns"])


def jitter(law: str, count: int) -> Test:
    std_ns = 1.0 * MS

    def run(emulator: Any) -> Iterator[tuple[str, float, str, str, bool | None]]:
        flat = [arrived - sent for sent, arrived in one_way(emulator, Link(delay_ns=20 * MS), 500)]
        middle = statistics.median(flat)
        asked = {"std_ns": std_ns, "law": law}
        with Witness() as witness:
            all_ = one_way(emulator, Link(delay_ns=20 * MS, jitter=asked), count, 5_000)
        yield from follows(law, all_, middle, std_ns)
        handled = [times for times in all_ if not while_withheld(*times, witness)]
        if count // 4 < len(handled) < count:
            for what, *rest in follows(law, handled, middle, std_ns):
                yield f"{what} undisturbed", *rest

    return Test(f"jitter {law}", run)


def follows(
    law: str, times: list[tuple[int, int]], middle_ns: float, std_ns: float
) -> Iterator[tuple[str, float, str, str, bool | None]]:
    """Yields how well delays (sent, arrived) follow a law: spread, and Kolmogorov-Smirnov distance.

    The distance uses the first KS_COUNT: with very many, microseconds of the path would show.
    """
    delays = [(arrived - sent - middle_ns) / std_ns for sent, arrived in times]
    error = statistics.pstdev(delays) - 1
    yield "std error", error * 100, "%", "<= 3", abs(error) <= 0.03
    scaled = sorted(delays[:KS_COUNT])
    count = len(scaled)
    distance = max(
        max(abs(cumulative(law, x) - n / count), abs(cumulative(law, x) - (n + 1) / count))
        for n, x in enumerate(scaled)
    )
    bound = 1.628 / math.sqrt(count)
    yield "KS distance", distance, "", f"<= {bound:.4f}", distance <= bound


def while_withheld(sent: int, arrived: int, witness: Witness) -> bool:
    """Returns whether a core was withheld when a datagram entered or left the emulator.

    The time in between is ignored: it would exclude long delays more often than short ones.
    """
    return witness.withheld(sent, sent + HANDLING_NS) or witness.withheld(
        arrived - HANDLING_NS, arrived
    )


def one_way(
    emulator: Any, link: Link, count: int, per_second: int = 2_000
) -> list[tuple[int, int]]:
    """Returns the wall-clock times at which each datagram was sent and arrived."""
    with emulator.bed(link) as bed:
        sink = bed.probe("east", "sink", 1)
        bed.result("west", "stream", bed.address, per_second, count)
        found = outcome(sink)
    if len(found) < count:
        raise RuntimeError(f"{count - len(found)} of {count} datagrams did not arrive")
    return [(sent, arrived) for _, sent, arrived, _ in found]


def cumulative(law: str, x: float) -> float:
    """Returns the law's CDF at x standard deviations from the mean."""
    if law == "uniform":
        return min(1.0, max(0.0, x / math.sqrt(12) + 0.5))
    if law == "normal":
        return 0.5 * (1 + math.erf(x / math.sqrt(2)))
    # Bounded Pareto, shape 3 from 1 to 10.
    kept = 1 - 10.0**-3
    mean = 3 / kept / 2 * (1 - 10.0**-2)
    deviation = math.sqrt(3 / kept * (1 - 10.0**-1) - mean**2)
    return (1 - min(10.0, max(1.0, mean + deviation * x)) ** -3) / kept


def loss(probability: float, count: int) -> Test:
    def run(emulator: Any) -> Iterator[tuple[str, float, str, str, bool | None]]:
        with emulator.bed(Link(delay_ns=MS, loss=probability)) as bed:
            sink = bed.probe("east", "sink", 1)
            bed.result("west", "stream", bed.address, 5_000, count)
            arrived = len(outcome(sink))
        lost = count - arrived
        expected = count * probability
        width = 2.576 * math.sqrt(expected * (1 - probability))
        limit = f"{(expected - width) / count * 100:.3f}..{(expected + width) / count * 100:.3f}"
        yield "lost", lost / count * 100, "%", limit, abs(lost - expected) <= width

    return Test(f"loss {probability * 100:g} %", run)


def conservation(count: int) -> Test:
    def run(emulator: Any) -> Iterator[tuple[str, float, str, str, bool | None]]:
        with emulator.bed(Link(delay_ns=5 * MS, rate_bit_s=100e6, queue_bytes=500_000)) as bed:
            sink = bed.probe("east", "sink", 1)
            bed.result("west", "stream", bed.address, 5_000, count)
            missing = count - len(outcome(sink))
        if bed.counters:
            link = bed.counters["links"][0]
            missing -= sum(link[key] for key in link if key in DROPS)
        yield "unexplained", missing, "frames", "0", missing == 0

    return Test("conservation", run)


DROPS = frozenset(f"dropped_{cause}" for cause in ("queue", "codel", "loss", "send", "oversize"))


def throughput(rate_bit_s: float | None, seconds: int) -> Test:
    def run(emulator: Any) -> Iterator[tuple[str, float, str, str, bool | None]]:
        link = Link(delay_ns=500 * US, rate_bit_s=rate_bit_s, queue_bytes=1_000_000)
        if rate_bit_s is None:
            link.queue_bytes = None
        with emulator.bed(link) as bed:
            server = bed.start("east", "iperf3", "-s", "-1")
            time.sleep(0.5)
            client = bed.start("west", "iperf3", "-c", bed.address, "-t", seconds, "-J")
            text, _ = client.communicate(timeout=seconds + 20)
            server.communicate(timeout=10)
        found = json.loads(text)
        if "end" not in found or "sum_received" not in found["end"]:
            raise RuntimeError(found.get("error", "iperf3 gave no result"))
        measured = found["end"]["sum_received"]["bits_per_second"]
        if rate_bit_s is None:
            yield "goodput", measured / 1e6, "Mbit/s", ">= 1000", measured >= 1e9
        else:
            # 1448 bytes of data in a frame of 1514 + 24.
            share = measured / (rate_bit_s * 1_448 / 1_538)
            yield "goodput / possible", share * 100, "%", ">= 90", share >= 0.9
        if bed.counters:
            late = bed.counters["lateness_ns"]["p99"]
            yield "late, p99", late / US, "us", "", None
            dropped = sum(port["kernel_dropped"] for port in bed.counters["ports"])
            yield "kernel drops", dropped, "frames", "0", dropped == 0

    name = "TCP, no rate" if rate_bit_s is None else f"TCP, {rate_bit_s / 1e9:g} Gbit/s"
    return Test(name, run)


def plan(quick: bool) -> list[Test]:
    probes, many = (400, 4_000) if quick else (1_000, 10_000)
    rtts = (0.3, 8) if quick else (0.3, 1, 8, 64)
    tests = [delay(round(rtt * MS), probes) for rtt in rtts]
    rates = [(1e6, 1_000, 3.0), (10e6, 1_514, 3.0), (100e6, 1_514, 3.0), (1e9, 1_514, 3.0)]
    if not quick:
        rates.insert(0, (80e3, 200, 10.0))
    tests += [rate(*values) for values in rates]
    laws = [("normal", many)]
    if not quick:
        # Pareto's tail is long (kurtosis 29): the spread of 10,000 varies by 2.7 % (one sigma), of
        # 60,000 by 1.1 %.
        laws += [("uniform", many), ("pareto", 60_000)]
    tests += [jitter(law, count) for law, count in laws]
    probabilities = (0.01,) if quick else (0.001, 0.01, 0.1)
    tests += [loss(p, 20_000 if quick else 50_000) for p in probabilities]
    seconds = 4 if quick else 8
    return [*tests, conservation(many), throughput(1e9, seconds), throughput(None, seconds)]
