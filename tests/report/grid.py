"""Three sites with four hosts and four ranks, and helpers that query them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tiny

from flowsweep.warehouse import Warehouse

HOSTS = [
    {"name": "pc1", "site": "west", "address": "10.77.1.1"},
    {"name": "pc2", "site": "west", "address": "10.77.1.2"},
    {"name": "pc3", "site": "east", "address": "10.77.2.1"},
    {"name": "pc4", "site": "north", "address": "10.77.3.1"},
]
ADDRESS = {host["name"]: host["address"] for host in HOSTS}
SITE = {host["name"]: host["site"] for host in HOSTS}
PC1, PC2, PC3, PC4 = ADDRESS.values()


def rows(directory: Path, name: str, **wanted: Any) -> list[dict[str, Any]]:
    """Returns the rows of a query that have the values wanted."""
    found = Warehouse(directory).rows(name).rows(named=True)
    return [row for row in found if all(row[key] == value for key, value in wanted.items())]


def one_run(directory: Path, bins: dict[str, list[dict[str, Any]]], **changes: Any) -> Path:
    """Writes one run of 1 s with the throughput that each host captured."""
    tiny.runs(directory, [tiny.run("r", **{"baseline": True, "hosts": HOSTS} | changes)])
    for host, series in bins.items():
        tiny.table(directory, "captures", "r", host, [tiny.capture()])
        tiny.table(directory, "throughput", "r", host, series)
    return directory


def make_record(**application: Any) -> str:
    """Returns run.json as text, with what the application reported."""
    start = {"start": "2026-01-01T00:00:00.000000000Z", "end": "2026-01-01T00:00:10.000000000Z"}
    return json.dumps({"application": start | application})


RANKS = [
    {"rank": 0, "host": "pc1"}, {"rank": 1, "host": "pc1"}, {"rank": 2, "host": "pc3"},
    {"rank": 3, "host": "pc4"},
]  # fmt: skip


SPANS = [
    # ranks of sender and receiver, bytes, start and end in s of a run of 10 s
    (0, 2, 1_000_000, 0.0, 2.0), (1, 2, 2_000_000, 1.0, 3.0), (0, 3, 500_000, 2.95, 7.1),
    (0, 2, 1_500_000, 2.0, 2.5), (1, 3, 700, 9.0, 12.0), (0, 2, 4_000_000, 5.55, 5.55),
]  # fmt: skip


def with_transfers(directory: Path) -> Path:
    """Writes one run whose application reports SPANS."""
    spans = [
        {"name": "job", "from": a, "to": b, "bytes": size, "start_s": start, "end_s": end}
        for a, b, size, start, end in SPANS
    ]
    record = make_record(ranks=RANKS, transfers=spans)
    tiny.runs(directory, [
        tiny.run("r", baseline=True, hosts=HOSTS, json=record, completion_s=10.0)
    ])  # fmt: skip
    return directory
