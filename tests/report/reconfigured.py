"""Runs of a second whose links change while they run, and one whose links do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tiny

WEST, EAST = (host["address"] for host in tiny.HOSTS)
LINK = {"between": ["west", "east"], "rate_bit_s": 1e8, "links": 1}
#: By run: its schedule, its completion time, and its changes: ms since its start, Mbit/s, links.
RUNS: dict[str, tuple[str | None, float, list[tuple[int, float, int]]]] = {
    "base": (None, 1.0, []),
    "slow": ("at-start", 1.5, [(300, 10.0, 1)]),
    # changes before the run, within it, and after its end
    "both": ("on-demand", 0.8, [(-50, 100.0, 2), (250, 100.0, 1), (750, 50.0, 3), (2000, 1.0, 1)]),
}
#: Wire bytes by bin of 10 ms, one way; a tenth comes back.
BYTES = {5: 100_000, 40: 50_000, 80: 20_000}


def make(directory: Path) -> Path:
    """Writes the tables and returns the folder."""
    rows = [_run(name, *parts) for name, parts in RUNS.items()]
    rows.append(_run("other", None, 1.0, []) | {"app": "other"})
    tiny.runs(directory, rows)
    back = {number: size // 10 for number, size in BYTES.items()}
    for row in rows:
        for host in ("pc1", "pc3"):
            tiny.table(directory, "captures", row["run"], host, [tiny.capture()])
            tiny.table(directory, "throughput", row["run"], host,
                       tiny.bins(WEST, EAST, BYTES) + tiny.bins(EAST, WEST, back))  # fmt: skip
    return directory


def _run(
    name: str, schedule: str | None, seconds: float, changes: list[tuple[int, float, int]]
) -> dict[str, Any]:
    made = [
        {"time_ns": tiny.T0 + at * tiny.MS, "change": f"schedule[{number}]",
         "between": ["west", "east"], "rate_bit_s": rate * 1e6, "links": links}
        for number, (at, rate, links) in enumerate(changes)
    ]  # fmt: skip
    record = {"links": [LINK], "emulator": {"changes": made}}
    return tiny.run(name, app="farm", baseline=name in ("base", "other"), completion_s=seconds,
                    schedule=schedule, links=1, json=json.dumps(record))  # fmt: skip
