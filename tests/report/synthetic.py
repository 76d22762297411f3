"""A made-up experiment's Parquet tables, for the tests of the report.

Completion time is `base + per_ms * RTT + per_inverse / rate` with 2 % noise, so that the
thresholds are known. Traffic is a task farm between pc1 and the other hosts. The same
arguments always give the same bytes.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

START_NS = 1_767_225_600_000_000_000
BIN_NS = 10_000_000
TIME = pl.Datetime("ns", "UTC")
HOSTS = (
    {"name": "pc1", "site": "west", "address": "10.77.1.1"},
    {"name": "pc2", "site": "west", "address": "10.77.1.2"},
    {"name": "pc3", "site": "east", "address": "10.77.2.1"},
    {"name": "pc4", "site": "east", "address": "10.77.2.2"},
)
YAML = """\
title: A made-up experiment
sites: {west: [pc1, pc2], east: [pc3, pc4]}
link: {rtt: 1ms, rate: 100Mbit/s}
workload: {app: nqueens, problem: {n: 14}}
axes: {rtt: [4ms, 16ms, 32ms, 64ms], rate: [50Mbit/s, 20Mbit/s, 10Mbit/s, 5Mbit/s]}
"""


@dataclass(frozen=True)
class App:
    """Completion time in seconds is `base + per_ms * RTT (ms) + per_inverse / rate (Mbit/s)`."""

    name: str
    problem: dict[str, Any]
    base: float
    per_ms: float
    per_inverse: float
    burst_mbit_s: float
    duty: float
    flows: int = 2


NQUEENS = App("nqueens", {"n": 14}, 2.0, 0.012, 4.0, 60.0, 0.08)
TASKGRAPH = App("taskgraph", {"tasks": 300}, 1.5, 0.03, 12.0, 35.0, 0.45, 10)


@dataclass(frozen=True)
class Plan:
    """The sweep to make up."""

    apps: Sequence[App] = (NQUEENS,)
    rtts_ms: Sequence[float] = (1, 4, 16, 32, 64)
    rates_mbit_s: Sequence[float] = (100, 50, 20, 10, 5)
    repetitions: int = 3
    warmup: int = 1
    noise: float = 0.02
    invalid: Sequence[str] = field(default_factory=tuple)
    failed: Sequence[str] = field(default_factory=tuple)
    damaged: Sequence[tuple[str, str]] = field(default_factory=tuple)
    hosts: bool = True


def make(directory: Path, plan: Plan | None = None) -> Path:
    """Writes experiment.yaml and tables/ into `directory` and returns it."""
    plan = plan or Plan()
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "experiment.yaml").write_text(YAML, encoding="utf-8")
    rows = []
    clock = START_NS
    for app in plan.apps:
        for point, rtt, rate, baseline in _points(plan):
            first = 1 - plan.warmup if baseline else 1
            count = 2 * plan.repetitions if baseline else plan.repetitions
            for repetition in range(first, count + 1):
                warmup = repetition < 1
                suffix = f"w{1 - repetition}" if warmup else f"r{repetition}"
                run = f"{app.name}-{point}-{suffix}"
                row = _run(plan, app, run, rtt, rate, clock)
                row |= {"repetition": repetition, "baseline": baseline, "warmup": warmup}
                rows.append(row)
                _tables(directory / "tables", plan, app, row)
                clock = row["end"] + 1_000_000_000
    frame = pl.DataFrame(
        rows, infer_schema_length=None, schema_overrides={"start": TIME, "end": TIME}
    )
    (directory / "tables").mkdir(exist_ok=True)
    frame.sort("run").write_parquet(directory / "tables" / "runs.parquet")
    return directory


def _points(plan: Plan) -> list[tuple[str, float, float, bool]]:
    rtt, rate = plan.rtts_ms[0], plan.rates_mbit_s[0]
    return [
        ("baseline", rtt, rate, True),
        *((f"rtt_{value:g}ms", value, rate, False) for value in plan.rtts_ms[1:]),
        *((f"rate_{value:g}Mbit", rtt, value, False) for value in plan.rates_mbit_s[1:]),
    ]


def _run(plan: Plan, app: App, run: str, rtt: float, rate: float, start: int) -> dict[str, Any]:
    random = np.random.default_rng(zlib.crc32(run.encode()))
    ideal = app.base + app.per_ms * rtt + app.per_inverse / rate
    completion = round(float(ideal * np.exp(plan.noise * random.standard_normal())), 6)
    invalid, failed = run in plan.invalid, run in plan.failed
    end = start + round((completion + 0.2) * 1e9)
    dropped = 0
    links = [
        {
            "from": a,
            "to": b,
            "received": 1000 + dropped,
            "delivered": 1000,
            "dropped_queue": dropped,
            "dropped_send": 0,
            "in_flight": 0,
        }
        for a, b in (("west", "east"), ("east", "west"))
    ]
    return {
        "run": run,
        "experiment": "synthetic",
        "app": app.name,
        "problem": json.dumps(app.problem),
        "compute": "paced",
        "block": 1,
        "rtt_asked_ns": round(rtt * 1e6),
        "rtt_measured_ns": round(rtt * 1e6 + 60_000),
        "rate_asked_bit_s": rate * 1e6,
        "rate_measured_bit_s": rate * 1e6 * 0.998,
        "queue_bytes": 131072 + round(rate * rtt * 125),
        "buffer_bytes": None,
        "loss": None,
        "jitter_ns": None,
        "start": start,
        "end": end,
        "completion_s": None if failed else completion,
        "status": "failed" if failed else "invalid" if invalid else "valid",
        "reason": "timed out after 120 s"
        if failed
        else "emulator late 3.1 ms (limit 1 ms)"
        if invalid
        else None,
        "hosts": list(HOSTS) if plan.hosts else None,
        "spec_hash": f"{zlib.crc32(run.encode()):016x}",
        "emulator_late_p99_ns": 38_000 if not invalid else 3_100_000,
        "emulator_dropped": 2 * dropped,
        "json": json.dumps(
            {"emulator": {"links": links}, "seed": 1, "versions": {"flowsweep": "0.1.0"}}
        ),
    }


def _tables(tables: Path, plan: Plan, app: App, row: dict[str, Any]) -> None:
    """Writes the tables of every host of one run; both ends of a flow see the same packets."""
    run, rtt_ns, rate = row["run"], row["rtt_asked_ns"], row["rate_asked_bit_s"]
    random = np.random.default_rng(zlib.crc32(run.encode()) + 1)
    seconds = row["completion_s"] or 1.0
    t0 = row["start"] + 100_000_000
    pairs = [(HOSTS[0], other) for other in HOSTS[1:]]
    flows, intervals, bins, messages = [], [], [], []
    number = 0
    for a, b in pairs:
        for index in range(app.flows):
            whole = index < 2
            begin = 0.0 if whole else float(random.uniform(0, seconds * 0.9))
            length = seconds if whole else float(random.uniform(0.004, seconds - begin))
            ports = (40_000 + number, 5_000)
            for direction, src, dst, share in (("forward", a, b, 0.03), ("backward", b, a, 1.0)):
                flow, gaps, series = _direction(app, random, t0, begin, length, share, rtt_ns, rate)
                end_points = {
                    "src_ip": src["address"],
                    "src_port": ports[direction == "backward"],
                    "dst_ip": dst["address"],
                    "dst_port": ports[direction == "forward"],
                }
                key = {"connection": number, "direction": direction}
                names = {src["name"], dst["name"]}
                flows.append((names, key | {"protocol": "tcp"} | end_points | flow))
                intervals += [(names, key | gap) for gap in gaps]
                messages += [(names, key | message) for message in _messages(series)]
                bins += [
                    (names, item | {"src_ip": src["address"], "dst_ip": dst["address"]})
                    for item in series
                ]
            number += 1
    for host in HOSTS:
        name = host["name"]
        own = [item for names, item in flows if name in names]
        folder = f"run={run}/host={name}"
        _write(tables / folder / "flows.parquet", own, first_time=TIME, last_time=TIME)
        if row["baseline"] and name == HOSTS[0]["name"]:
            zeek = [item | {"uid": f"C{item['connection']}"} for item in own]
            path = tables / folder / "zeek_flows.parquet"
            _write(path, zeek, first_time=TIME, last_time=TIME)
        gaps = [item for names, item in intervals if name in names]
        _write(tables / folder / "intervals.parquet", gaps)
        sent = [item for names, item in messages if name in names]
        path = tables / folder / "messages.parquet"
        _write(path, sent, first_time=TIME, last_time=TIME)
        series = [item for names, item in bins if name in names]
        merged = (
            pl.DataFrame(series)
            .group_by("bin_start", "bin_ns", "src_ip", "dst_ip")
            .agg(pl.col("packets", "wire_bytes", "payload_bytes").sum())
            .sort("bin_start", "src_ip", "dst_ip")
            .with_columns(pl.col("bin_start").cast(TIME))
        )
        path = tables / folder / "throughput.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        merged.write_parquet(path)
        bad = (run, name) in plan.damaged
        packets = sum(item["packets"] for item in own)
        capture = {
            "file": f"{name}.pcap.zst",
            "interface": "eth0",
            "link_type": "ethernet",
            "ts_resolution_ns": 1,
            "snaplen": 262144,
            "packets": packets,
            "wire_bytes": sum(item["wire_bytes"] for item in own),
            "captured_bytes": sum(item["wire_bytes"] for item in own),
            "first_time": t0,
            "last_time": t0 + round(seconds * 1e9),
            "truncated_tail": False,
            "undecoded_packets": 0,
            "fragments": 0,
            "super_packets": 0,
            "time_regressions": 0,
            "dropped_kernel": packets // 50 if bad else 0,
            "dropped_interface": 0,
        }
        path = tables / folder / "captures.parquet"
        _write(path, [capture], first_time=TIME, last_time=TIME)


def _direction(
    app: App,
    random: np.random.Generator,
    t0: int,
    begin: float,
    length: float,
    share: float,
    rtt_ns: int,
    rate: float,
) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    count = max(int(length * 100), 1)
    active = random.random(count) < app.duty
    if count > 50:
        active[-8:] = True
    active[0] = True
    peak = min(app.burst_mbit_s, rate / 1e6) / 3
    size = active * random.gamma(6.0, 1 / 6.0, count) * peak * share * 1e6 / 800
    packets = np.where(active, np.maximum(np.ceil(size / 1400), 1), 0).astype(int)
    wire = np.where(active, np.maximum(size, 66), 0).astype(int)
    payload = np.maximum(wire - 66 * packets, 0)
    first = (t0 + round(begin * 1e9)) // BIN_NS
    series = [
        {
            "bin_start": int(first + k) * BIN_NS,
            "bin_ns": BIN_NS,
            "packets": int(packets[k]),
            "wire_bytes": int(wire[k]),
            "payload_bytes": int(payload[k]),
        }
        for k in np.flatnonzero(active)
    ]
    total = int(packets.sum())
    flow = {
        "vlan": None,
        "first_time": t0 + round(begin * 1e9),
        "last_time": t0 + round((begin + length) * 1e9),
        "duration_ns": round(length * 1e9),
        "packets": total,
        "wire_bytes": int(wire.sum()),
        "ip_bytes": int(wire.sum()) - 14 * total,
        "payload_bytes": int(payload.sum()),
        "start": "syn",
        "end": "fin",
        **_limits(round(length * 1e9), rtt_ns, rate),
    }
    return flow, _gaps(random, total - 1, rtt_ns, rate), series


def _limits(duration_ns: int, rtt_ns: int, rate: float) -> dict[str, int]:
    """Limits a flow: by the window in proportion to the RTT, by the network at low rates."""
    window = duration_ns * min(rtt_ns, 100_000_000) // 1_000_000_000
    network = duration_ns // max(round(rate / 2e6), 3)
    return {
        "app_limited_ns": duration_ns - window - network,
        "sender_limited_ns": 0,
        "receiver_limited_ns": window,
        "network_limited_ns": network,
        "unknown_limited_ns": 0,
    }


def _messages(series: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Makes a message per busy bin; the only evidence for the end of every fourth is a pause."""
    return [
        {
            "first_time": item["bin_start"],
            "last_time": item["bin_start"] + BIN_NS // 2,
            "bytes": max(item["payload_bytes"], 1),
            "packets": item["packets"],
            "gap_before_ns": BIN_NS // 2 if number else None,
            "evidence": "pause" if number % 4 == 3 else "turn+short",
            "at_sender": True,
            "merged_possible": number % 5 == 4,
        }
        for number, item in enumerate(series)
    ]


def _gaps(
    random: np.random.Generator, count: int, rtt_ns: int, rate: float
) -> list[dict[str, Any]]:
    """Draws gaps that are back to back, one RTT, random or 0, in the parser's buckets."""
    if count < 1:
        return []
    kind = random.choice(4, count, p=[0.6, 0.2, 0.19, 0.01])
    back = 1514 * 8 / rate * 1e9 * random.lognormal(0, 0.03, count)
    turn = rtt_ns * random.lognormal(0.02, 0.05, count)
    other = random.lognormal(np.log(3e5), 1.2, count)
    values = np.select([kind == 0, kind == 1, kind == 2], [back, turn, other], 0).astype(int)
    found: dict[tuple[int, int], int] = {}
    for value in values.tolist():
        shift = max(value.bit_length() - 7, 0)
        low = (value >> shift) << shift
        found[low, low + (1 << shift)] = found.get((low, low + (1 << shift)), 0) + 1
    return [
        {"bucket_low_ns": low, "bucket_high_ns": high, "count": number}
        for (low, high), number in sorted(found.items())
    ]


def _write(path: Path, rows: list[dict[str, Any]], **overrides: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    present = [pl.col(name).cast(kind) for name, kind in overrides.items() if name in frame.columns]
    frame.with_columns(present).write_parquet(path)
