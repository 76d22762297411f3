"""A sweep over the number of ranks, to which the traffic between two sites is proportional."""

from __future__ import annotations

from pathlib import Path

import tiny
from grid import PC1, PC3

HOSTS = [host for host in tiny.HOSTS if host["name"] in ("pc1", "pc3")]
#: Ranks of each run, and its peak one way per rank in Mbit/s; a tenth of that comes back.
RUNS = ((8, 10.0), (8, 10.4), (4, 9.6), (4, 10.2), (2, 11.0))


def make(directory: Path, runs: tuple[tuple[int, float], ...] = RUNS) -> Path:
    """Writes the tables and returns the folder; runs with the most ranks are the baseline."""
    most = max(ranks for ranks, _ in runs)
    names = [f"ranks-{ranks}-r{number}" for number, (ranks, _) in enumerate(runs)]
    tiny.runs(directory, [
        tiny.run(name, app="checker", baseline=ranks == most, ranks=ranks, hosts=HOSTS)
        for name, (ranks, _) in zip(names, runs, strict=True)
    ])  # fmt: skip
    for name, (ranks, each) in zip(names, runs, strict=True):
        # ten bins of 10 ms, as the report gives the peak over 100 ms
        size = round(each * ranks * 1e6 / 8 / 100)
        for host in ("pc1", "pc3"):
            tiny.table(directory, "captures", name, host, [tiny.capture()])
            bins = [
                *tiny.bins(PC1, PC3, dict.fromkeys(range(10, 20), size)),
                *tiny.bins(PC3, PC1, dict.fromkeys(range(10, 20), size // 10)),
            ]
            tiny.table(directory, "throughput", name, host, bins)
    return directory
