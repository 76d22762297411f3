"""Random experiments as tables: axes that vary, hosts of other names, missing captures.

The tables agree with each other as the parser's do: each packet is made once, and each host's
flows, bins, intervals and messages are counted from the packets that it captured.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tiny
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

Row = dict[str, Any]


@dataclass(frozen=True)
class Packet:
    """One packet between two hosts; `time` is in ns since the start of its run."""

    time: int
    source: int
    target: int
    port: int
    payload: int


@dataclass(frozen=True)
class Run:
    """One run: its axes, its hosts as (name, site), what they sent, and what is missing.

    Attributes:
        captured: Which hosts have a capture.
        bin_ms: Width of the bins.
        stepped: Whether the clock stepped back: the first packet of a file is the latest.
        dropped: Packets that the kernel dropped, in each capture.
        start: How its flows begin: syn or midstream.
        record: What run.json contains besides the axes; None without a run.json.
    """

    axes: Row
    hosts: tuple[tuple[str, str | None], ...]
    packets: tuple[Packet, ...]
    captured: tuple[bool, ...]
    bin_ms: int
    length_ms: int
    start_ms: int
    stepped: bool
    dropped: int
    start: str
    record: Row | None
    app: str


AXES = {
    "rtt_asked_ns": [tiny.MS, 4 * tiny.MS, 16 * tiny.MS],
    "rate_asked_bit_s": [1e8, 1e7, None],
    "loss": [None, 0.01],
    "ranks": [None, 3, 12],
    "buffer_bytes": [None, 65536],
    "congestion": [None, "bbr"],
    "links": [None, 2],
    "beside_app": [None, None, None, "other"],
}


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """Draws one run."""
    axes = {name: draw(st.sampled_from([None, *values])) for name, values in AXES.items()}
    names = draw(st.sampled_from([("pc1", "pc2", "pc3"), ("alpha", "beta"), ("n1", "n2", "n3")]))
    sites = draw(st.sampled_from([(None, None, None), ("west", "west", "east"), ("a", "b", "c")]))
    hosts = tuple(zip(names, sites, strict=False))
    length_ms = draw(st.sampled_from([3, 40, 257, 1000, 1234]))
    times = st.integers(0, (length_ms + 60) * tiny.MS)
    end = st.integers(0, len(hosts) - 1)
    packet = st.builds(
        Packet, time=times, source=end, target=end, port=st.integers(1, 2),
        payload=st.sampled_from([0, 1, 500, 1448]),
    )  # fmt: skip
    packets = draw(st.lists(packet, max_size=25))
    return Run(
        axes=axes,
        hosts=hosts,
        packets=tuple(one for one in packets if one.source != one.target),
        captured=draw(st.tuples(*[st.sampled_from([True, True, True, False])] * len(hosts))),
        bin_ms=draw(st.sampled_from([1, 7, 10, 30, 100, 250])),
        length_ms=length_ms,
        start_ms=draw(st.integers(0, 120)),
        stepped=draw(st.booleans()),
        dropped=draw(st.sampled_from([0, 0, 50, 5_000])),
        start=draw(st.sampled_from(["syn", "syn", "midstream"])),
        record=draw(
            st.sampled_from([None, {"status": "valid"}, {"status": "valid", "completion_s": 1.5},
                             {"status": "invalid", "reason": "late", "completion_s": 9.0}])
        ),
        app=draw(st.sampled_from(["farm", "grid"])),
    )  # fmt: skip


def large() -> list[Run]:
    """Makes one run with more bins and flows than a figure draws one by one."""
    packets = [
        Packet(number * 500_000, number % 2, 1 - number % 2, number, 100) for number in range(2400)
    ]
    return [
        Run(
            axes=dict.fromkeys(AXES), hosts=(("pc1", "west"), ("pc3", "east")),
            packets=tuple(packets), captured=(True, True), bin_ms=1, length_ms=1000, start_ms=0,
            stepped=False, dropped=0, start="midstream", record={"status": "valid"}, app="farm",
        )
    ]  # fmt: skip


def buffers() -> list[Run]:
    """Makes a sweep of RTT and rate at two buffer sizes, one run per point, one of them invalid."""
    found = []
    for buffer in (None, 65536):
        for rtt, rate in ((1, 1e8), (4, 1e8), (16, 1e8), (1, 1e7), (1, 1e6)):
            axes = dict.fromkeys(AXES) | {
                "rtt_asked_ns": rtt * tiny.MS,
                "rate_asked_bit_s": rate,
                "buffer_bytes": buffer,
            }
            record = {"status": "valid", "completion_s": 1.0 + rtt / 10 + 1e6 / rate}
            if buffer and rtt == 16:
                record = {"status": "invalid", "reason": "late", "completion_s": 9.0}
            found.append(
                Run(
                    axes=axes, hosts=(("pc1", "west"), ("pc3", "east")),
                    packets=(Packet(1000, 0, 1, 1, 100),), captured=(True, True), bin_ms=10,
                    length_ms=100, start_ms=0, stepped=False, dropped=0, start="syn",
                    record=record, app="farm",
                )
            )  # fmt: skip
    return found


def experiments() -> st.SearchStrategy[list[Run]]:
    """Returns a strategy for experiments of up to six runs."""
    return st.lists(runs(), min_size=1, max_size=6)


def some(examples: int) -> settings:
    """Returns settings for a fixed set of examples; `make test` runs a third, `make fuzz` all."""
    share = 1 if os.environ.get("FLOWSWEEP_ALL_EXAMPLES") else 3
    return settings(
        max_examples=math.ceil(examples / share),
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def write(directory: Path, made: list[Run]) -> Path:
    """Writes the tables of these runs into `directory`."""
    tiny.runs(directory, [_row(f"r{number}", run) for number, run in enumerate(made)])
    for number, run in enumerate(made):
        for place, (host, _) in enumerate(run.hosts):
            if run.captured[place]:
                _tables(directory, f"r{number}", run, place, host)
    return directory


def _address(run: Run, place: int) -> str:
    return f"10.{1 + place}.0.{1 + len(run.hosts[place][0])}"


def _start(run: Run) -> int:
    return tiny.T0 + run.start_ms * tiny.MS


def _row(name: str, run: Run) -> Row:
    row: Row = {
        "run": name, "experiment": "made", "app": run.app, "problem": None, "repetition": 1,
        "baseline": None, "warmup": False, "start": None, "end": None, "completion_s": None,
        "status": "no record", "reason": "no run.json", "hosts": None, "json": None,
        "planned": None,
    }  # fmt: skip
    row |= dict.fromkeys(AXES)
    if run.record is None:
        return row
    hosts = [
        {"name": host, "site": site, "address": _address(run, place)}
        for place, (host, site) in enumerate(run.hosts)
    ]
    end = _start(run) + run.length_ms * tiny.MS
    spans = [
        {"from": 0, "to": 1, "bytes": 10_000 * n, "start_s": 0.0, "end_s": 0.001 * n}
        for n in (1, 2)
    ]
    ranks = [
        {"rank": n, "host": host, "mpi": {"send": {"calls": n, "seconds": 0.1}}}
        for n, (host, _) in enumerate(run.hosts)
    ]
    phases = [{"name": "busy", "rank": 0, "start_s": 0, "end_s": 0.5}]
    application = {"ranks": ranks, "transfers": spans, "phases": phases}
    record = {"application": application} if run.axes["links"] else {}
    return row | run.axes | run.record | {
        "start": _start(run), "end": end, "hosts": hosts, "json": json.dumps(record),
        "reason": run.record.get("reason"), "problem": '{"n": 1}',
    }  # fmt: skip


def _tables(directory: Path, name: str, run: Run, place: int, host: str) -> None:
    """Writes the tables of one host, which captured all that it sent or received."""
    seen = sorted(
        (one for one in run.packets if place in (one.source, one.target)), key=lambda one: one.time
    )
    if not seen:
        capture = tiny.capture(packets=0, wire_bytes=0, first_time=None, last_time=None)
        tiny.table(directory, "captures", name, host, [capture])
        return
    times = [_start(run) + one.time for one in seen]
    capture = tiny.capture(
        packets=len(seen), wire_bytes=sum(map(_wire, seen)),
        first_time=times[-1 if run.stepped else 0], last_time=times[0 if run.stepped else -1],
        dropped_kernel=run.dropped, time_regressions=int(run.stepped),
    )  # fmt: skip
    tiny.table(directory, "captures", name, host, [capture])
    connections: dict[frozenset[tuple[int, int]], int] = {}
    directions: dict[tuple[int, str], list[Packet]] = defaultdict(list)
    for one in seen:
        # both ends use the same port, so that both directions are one connection
        key = frozenset({(one.source, one.port), (one.target, one.port)})
        number = connections.setdefault(key, len(connections))
        first = directions.get((number, "forward"))
        side = "forward" if not first or first[0].source == one.source else "backward"
        directions[number, side].append(one)
    flows, intervals, messages = [], [], []
    for (number, side), sent in sorted(directions.items()):
        key_of = {"connection": number, "direction": side}
        flows.append(_flow(run, sent) | key_of)
        intervals += [gap | key_of for gap in _gaps(sent)]
        messages += [message | key_of for message in _messages(run, sent)]
    tiny.table(directory, "flows", name, host, flows)
    if intervals:
        tiny.table(directory, "intervals", name, host, intervals)
    if messages:
        tiny.table(directory, "messages", name, host, messages)
    tiny.table(directory, "throughput", name, host, _bins(run, seen))


def _wire(packet: Packet) -> int:
    return packet.payload + 66


def _flow(run: Run, sent: list[Packet]) -> Row:
    first, last = _start(run) + sent[0].time, _start(run) + sent[-1].time
    held = (last - first) // 4
    return tiny.flow(
        _address(run, sent[0].source), _address(run, sent[0].target), first_time=first,
        last_time=last, duration_ns=last - first, packets=len(sent),
        wire_bytes=sum(map(_wire, sent)), payload_bytes=sum(one.payload for one in sent),
        src_port=1000 + sent[0].port, dst_port=1000 + sent[0].port, start=run.start,
        app_limited_ns=held, sender_limited_ns=held, receiver_limited_ns=held,
        network_limited_ns=held,
    )  # fmt: skip


def _gaps(sent: list[Packet]) -> list[Row]:
    gaps = Counter(after.time - one.time for one, after in itertools.pairwise(sent))
    return [
        {"bucket_low_ns": gap, "bucket_high_ns": gap + 1, "count": count}
        for gap, count in sorted(gaps.items())
    ]


def _messages(run: Run, sent: list[Packet]) -> list[Row]:
    return [
        tiny.message(one.payload, first_time=_start(run) + one.time,
                     last_time=_start(run) + one.time)
        for one in sent
        if one.payload
    ]  # fmt: skip


def _bins(run: Run, captured: list[Packet]) -> list[Row]:
    width = run.bin_ms * tiny.MS
    sums: dict[tuple[int, int, int], list[Packet]] = defaultdict(list)
    for one in captured:
        sums[(_start(run) + one.time) // width * width, one.source, one.target].append(one)
    return [
        {
            "bin_start": start, "bin_ns": width, "src_ip": _address(run, source),
            "dst_ip": _address(run, target), "packets": len(packets),
            "wire_bytes": sum(map(_wire, packets)),
            "payload_bytes": sum(one.payload for one in packets),
        }
        for (start, source, target), packets in sorted(sums.items())
    ]  # fmt: skip
