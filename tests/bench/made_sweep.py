"""Tables of experiments with thousands of runs, generated within seconds, to measure queries.

Each point of the sweep has one template, written once; its repetitions are hard links to it, as
only a file's folders name run and host. 10,000 runs contain 200 million bins.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

TIME = pl.Datetime("ns", "UTC")
T0 = 1_767_225_600_000_000_000
MS = 1_000_000
BIN_NS = 10 * MS
RTTS_MS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
RATES_MBIT_S = (1000, 500, 200, 100, 50, 20, 10, 5, 2, 1)
REPETITIONS = 3
HOSTS = (("pc1", "west", "10.77.1.1"), ("pc3", "east", "10.77.2.1"))


@dataclass(frozen=True)
class Size:
    """The contents of a run.

    Attributes:
        bins: Length of the run in bins of 10 ms; each of two hosts has a row per direction.
        connections: Connections between the two hosts.
        messages: Messages in each direction, over all connections.
    """

    bins: int = 5_000
    connections: int = 20
    messages: int = 400


def make(directory: Path, runs: int, size: Size | None = None) -> Path:
    """Writes `directory`/tables with `runs` runs, replacing earlier contents.

    Args:
        directory: Takes the place of results/<experiment>.
        runs: Number of runs: three at each point, more where there are 100 points.
        size: The contents of each run.
    """
    size = size or Size()
    shutil.rmtree(directory, ignore_errors=True)
    tables = directory / "tables"
    grid = [(rtt, rate) for rtt in RTTS_MS for rate in RATES_MBIT_S]
    points = min(len(grid), max(1, runs // REPETITIONS))
    # The nearest points come first, so that even a few lie on both lines through the baseline.
    grid = sorted(grid, key=_distance)[:points]
    rows = []
    for number in range(runs):
        point, repetition = number % points, number // points + 1
        run = f"made-rtt_{grid[point][0]}ms-rate_{grid[point][1]}Mbit-r{repetition}"
        rows.append(_record(run, repetition, *grid[point], size))
        if repetition == 1:
            template = directory / "templates" / str(point)
            _template(template, np.random.default_rng(point), *grid[point], size)
        _link(directory / "templates" / str(point), tables, run)
    shutil.rmtree(directory / "templates")
    frame = pl.DataFrame(rows, infer_schema_length=None)
    frame = frame.with_columns(pl.col("start", "end").cast(TIME))
    frame.write_parquet(tables / "runs.parquet")
    return directory


def _distance(point: tuple[int, int]) -> tuple[int, int]:
    """Returns the number of axes that differ from the baseline, and the steps to it."""
    steps = RTTS_MS.index(point[0]), RATES_MBIT_S.index(point[1])
    return sum(map(bool, steps)), sum(steps)


def add(directory: Path, size: Size | None = None) -> str:
    """Adds one run to a generated experiment and returns its name."""
    size = size or Size()
    tables = directory / "tables"
    known = pl.read_parquet(tables / "runs.parquet")
    run = f"made-added-r{known.height + 1}"
    template = directory / "templates" / "added"
    _template(template, np.random.default_rng(known.height), 1, 1000, size)
    _link(template, tables, run)
    shutil.rmtree(directory / "templates")
    row = pl.DataFrame([_record(run, known.height + 1, 1, 1000, size)], infer_schema_length=None)
    row = row.with_columns(pl.col("start", "end").cast(TIME))
    new = tables / "runs.parquet.new"
    pl.concat([known, row.cast(dict(known.schema))]).write_parquet(new)
    new.rename(tables / "runs.parquet")
    return run


def _record(run: str, repetition: int, rtt: int, rate: int, size: Size) -> dict[str, object]:
    length_s = size.bins * BIN_NS / 1e9
    noise = np.random.default_rng([repetition, rtt, rate]).normal(0, 0.01)
    completion_s = length_s * (1 + rtt / 400 + 5 / rate) * float(np.exp(noise)) / 3
    ranks = [{"rank": rank, "host": HOSTS[rank % 2][0]} for rank in range(4)]
    link = {"between": ["west", "east"], "rate_bit_s": rate * 1e6, "links": 1}
    start, end = "2026-01-01T00:00:00.000000000Z", f"2026-01-01T00:00:{length_s:012.9f}Z"
    record = {
        "application": {"start": start, "end": end, "ranks": ranks},
        "links": [link],
        "versions": {"flowsweep": "made"},
    }
    return {
        "run": run, "experiment": "made", "app": "farm", "problem": '{"n": 14}',
        "repetition": repetition, "baseline": (rtt, rate) == (1, 1000), "warmup": False,
        "rtt_asked_ns": rtt * MS, "rtt_measured_ns": rtt * MS + 10_000,
        "rate_asked_bit_s": rate * 1e6, "rate_measured_bit_s": rate * 1e6,
        "start": T0, "end": T0 + size.bins * BIN_NS, "completion_s": completion_s,
        "status": "valid", "reason": None,
        "hosts": [{"name": name, "site": site, "address": at} for name, site, at in HOSTS],
        "json": json.dumps(record),
    }  # fmt: skip


def _link(template: Path, tables: Path, run: str) -> None:
    for table in sorted(path.name for path in template.iterdir()):
        for host, _, _ in HOSTS:
            folder = tables / f"run={run}" / f"host={host}"
            folder.mkdir(parents=True, exist_ok=True)
            os.link(template / table / f"{host}.parquet", folder / f"{table}.parquet")


def _template(folder: Path, random: np.random.Generator, rtt: int, rate: int, size: Size) -> None:
    flows = _flows(random, rtt, size)
    made = {
        "throughput": _bins(random, rate, size),
        "flows": flows,
        "intervals": _intervals(random, flows, rtt, rate),
        "messages": _messages(random, size),
    }
    for host, _, _ in HOSTS:
        captures = _captures(flows, size)
        for table, frame in {**made, "captures": captures}.items():
            (folder / table).mkdir(parents=True, exist_ok=True)
            frame.write_parquet(folder / table / f"{host}.parquet")


def _bins(random: np.random.Generator, rate: int, size: Size) -> pl.DataFrame:
    full = rate * 1e6 * BIN_NS / 8e9
    frames = []
    for source, target in ((0, 1), (1, 0)):
        sizes = np.minimum(full, random.lognormal(np.log(full / 4), 1.2, size.bins)).astype(int)
        busy = np.flatnonzero(random.random(size.bins) < 0.9999)
        frames.append(
            pl.DataFrame({
                "bin_start": T0 + busy * BIN_NS,
                "bin_ns": np.full(len(busy), BIN_NS),
                "src_ip": [HOSTS[source][2]] * len(busy),
                "dst_ip": [HOSTS[target][2]] * len(busy),
                "packets": sizes[busy] // 1000 + 1,
                "wire_bytes": sizes[busy] + 66,
                "payload_bytes": sizes[busy],
            })
        )  # fmt: skip
    return pl.concat(frames).sort("bin_start").with_columns(pl.col("bin_start").cast(TIME))


def _flows(random: np.random.Generator, rtt: int, size: Size) -> pl.DataFrame:
    length = size.bins * BIN_NS
    rows = []
    for connection in range(size.connections):
        first = int(random.integers(0, length // 2))
        last = first + int(random.integers(MS, length // 2))
        for direction in ("forward", "backward"):
            source, target = HOSTS if direction == "forward" else HOSTS[::-1]
            ports = (40_000 + connection, 5_000)
            payload = int(random.lognormal(12, 2))
            held = (last - first) // 4
            rows.append({
                "connection": connection, "direction": direction, "protocol": "tcp",
                "src_ip": source[2], "src_port": ports[direction == "backward"],
                "dst_ip": target[2], "dst_port": ports[direction == "forward"],
                "first_time": T0 + first, "last_time": T0 + last, "duration_ns": last - first,
                "packets": payload // 1448 + 200, "wire_bytes": payload + 66 * 200,
                "ip_bytes": payload + 52 * 200, "payload_bytes": payload,
                "start": "syn", "end": ("fin", "open")[int(random.random() < 0.1)],
                "syn_packets": 1, "fin_packets": 1, "rst_packets": 0,
                "retransmitted_packets": 0, "retransmitted_bytes": 0, "out_of_order_packets": 0,
                "rtt_min_ns": rtt * MS, "app_limited_ns": held, "sender_limited_ns": held,
                "receiver_limited_ns": held, "network_limited_ns": held,
            })  # fmt: skip
    frame = pl.DataFrame(rows)
    return frame.with_columns(pl.col("first_time", "last_time").cast(TIME))


def _intervals(
    random: np.random.Generator, flows: pl.DataFrame, rtt: int, rate: int
) -> pl.DataFrame:
    frames = []
    for row in flows.iter_rows(named=True):
        gaps = row["packets"] - 1
        near = random.choice([12_112 / rate * 1e3, rtt * 1e6], gaps)
        found = np.maximum(near * random.lognormal(0, 0.3, gaps), 1)
        exponent = np.floor(np.log2(found))
        # 64 buckets per factor of 2: at most 1.6 % wide.
        step = np.floor((found / 2**exponent - 1) * 64)
        low = np.floor(2**exponent * (1 + step / 64))
        high = np.maximum(np.floor(2**exponent * (1 + (step + 1) / 64)), low + 1)
        frame = pl.DataFrame({"bucket_low_ns": low, "bucket_high_ns": high}).cast(pl.Int64)
        frame = frame.group_by("bucket_low_ns").agg(
            pl.col("bucket_high_ns").max(), pl.len().cast(pl.Int64).alias("count")
        )
        frames.append(
            frame.sort("bucket_low_ns").select(
                pl.lit(row["connection"]).alias("connection"),
                pl.lit(row["direction"]).alias("direction"),
                pl.all(),
            )
        )
    return pl.concat(frames)


def _messages(random: np.random.Generator, size: Size) -> pl.DataFrame:
    rows = []
    for direction in ("forward", "backward"):
        times = np.sort(random.integers(0, size.bins * BIN_NS, size.messages))
        connections = random.integers(0, size.connections, size.messages)
        sizes = random.lognormal(7, 1.5, size.messages).astype(int) + 1
        for time, connection, length in zip(times, connections, sizes, strict=True):
            rows.append({
                "connection": int(connection), "direction": direction,
                "first_time": T0 + int(time), "last_time": T0 + int(time) + MS,
                "bytes": int(length), "packets": int(length) // 1448 + 1, "gap_before_ns": MS,
                "evidence": "turn+short", "at_sender": True, "merged_possible": False,
            })  # fmt: skip
    frame = pl.DataFrame(rows).sort("connection", "direction", "first_time")
    return frame.with_columns(pl.col("first_time", "last_time").cast(TIME))


def _captures(flows: pl.DataFrame, size: Size) -> pl.DataFrame:
    row = {
        "file": "made.pcap", "interface": "eth0", "snaplen": 96,
        "packets": int(flows["packets"].sum()), "wire_bytes": int(flows["wire_bytes"].sum()),
        "first_time": T0, "last_time": T0 + size.bins * BIN_NS, "truncated_tail": False,
        "undecoded_packets": 0, "fragments": 0, "super_packets": 0, "time_regressions": 0,
        "dropped_kernel": 0, "dropped_interface": 0,
    }  # fmt: skip
    frame = pl.DataFrame([row])
    return frame.with_columns(pl.col("first_time", "last_time").cast(TIME))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("runs", type=int)
    options = parser.parse_args()
    print(make(options.directory, options.runs))


if __name__ == "__main__":
    main()
