"""Time and peak memory by packets, connections and runs, each with a fitted line.

    python tests/bench/growth.py [--large SIZE] [--folder FOLDER] [--output FILE]

`flowsweep parse` of generated captures (headers alone, 82 bytes a packet, page cache warm), and
`ingest` of every run followed by `runs` and `report`, for the runs of the kept demo under more
names. Each figure is the median of 3 starts, but of one for runs, as the first report of an
experiment computes results that later ones reuse. `off` is the largest distance of a point from
the line, as a share of the largest value. With --large, a capture of that size and one of a tenth
of it are parsed and removed: the memory that both take.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from measure import Cost, median, start
from queries import PROGRAM

HERE = Path(__file__).parent
DEMO = HERE.parents[1] / "workflows" / "experiments" / "captured" / "demo" / "runs"
ROUNDS = 3
#: Bytes per record in the generated captures.
RECORD_BYTES = 82
MILLION = 1_000_000
PACKETS = (1, 2, 4, 8)
CONNECTIONS = (1_000, 50_000, 100_000, 200_000)
RUNS = (16, 32, 64, 96)


@dataclass(frozen=True)
class Point:
    """One size, and its cost: wall-clock and CPU seconds, MB."""

    size: float
    wall_s: float
    cpu_s: float
    peak_mb: float


@dataclass(frozen=True)
class Line:
    """A line through the points of one column."""

    each: float
    fixed: float
    off: float

    @classmethod
    def fit(cls, points: list[Point], column: str) -> Line:
        sizes = [point.size for point in points]
        values = [getattr(point, column) for point in points]
        each, fixed = statistics.linear_regression(sizes, values)
        away = [abs(fixed + each * x - y) for x, y in zip(sizes, values, strict=True)]
        return cls(each, fixed, max(away) / max(values))


def generate(path: Path, packets: int, connections: int, *more: str) -> None:
    words = [sys.executable, HERE / "generated.py", path, packets, connections, *more]
    subprocess.run([*map(str, words)], check=True)


def parsed(capture: Path, scratch: Path, rounds: int = ROUNDS) -> Cost:
    words = [PROGRAM, "parse", capture, "--output", scratch / "tables"]
    start([*map(str, words)], scratch)
    return median([start([*map(str, words)], scratch) for _ in range(rounds)])


def by_packets(scratch: Path) -> Iterator[Point]:
    for millions in PACKETS:
        yield _generated(scratch, millions, millions * MILLION, 1_000)


def by_connections(scratch: Path) -> Iterator[Point]:
    for connections in CONNECTIONS:
        yield _generated(scratch, connections / 1_000, 4 * MILLION, connections)


def _generated(scratch: Path, size: float, packets: int, connections: int) -> Point:
    capture = scratch / "made.pcap"
    generate(capture, packets, connections)
    cost = parsed(capture, scratch)
    capture.unlink()
    return Point(size, cost.wall_s, cost.cpu_s, cost.peak_mb)


def by_runs(scratch: Path) -> Iterator[Point]:
    kept = sorted(path for path in DEMO.iterdir() if path.is_dir())
    for count in RUNS:
        results = scratch / "results"
        for number in range(count):
            own = kept[number % len(kept)]
            target = results / "runs" / f"{own.name}-{number // len(kept)}"
            shutil.copytree(own, target)
        tables = results / "tables"
        steps = [["ingest", run, "-o", tables] for run in sorted((results / "runs").iterdir())]
        steps += [["runs", results / "runs", "-o", tables / "runs.parquet"], ["report", results]]
        costs = [start([*map(str, [PROGRAM, *step])], scratch) for step in steps]
        shutil.rmtree(results)
        yield Point(
            count,
            sum(cost.wall_s for cost in costs),
            sum(cost.cpu_s for cost in costs),
            max(cost.peak_mb for cost in costs),
        )


def large(scratch: Path, size: int) -> list[Point]:
    """Measures a tenth of the size, and the size; removes each before writing the next."""
    found = []
    for capture_bytes in (size // 10, size):
        capture = scratch / "large.pcap"
        try:
            generate(capture, capture_bytes // RECORD_BYTES, 1_000, "--long")
            whole = capture.stat().st_size
            cost = start(
                [*map(str, [PROGRAM, "parse", capture, "-o", scratch / "tables"])], scratch
            )
        finally:
            capture.unlink(missing_ok=True)
        found.append(Point(whole / 1e9, cost.wall_s, cost.cpu_s, cost.peak_mb))
    return found


def show(title: str, unit: str, points: list[Point]) -> None:
    print(f"\n{title}\n{unit:>22} {'wall s':>9} {'CPU s':>9} {'MB':>7}")
    for point in points:
        print(f"{point.size:22g} {point.wall_s:9.3f} {point.cpu_s:9.3f} {point.peak_mb:7.0f}")
    if len(points) > 2:
        lines = [Line.fit(points, column) for column in ("wall_s", "cpu_s", "peak_mb")]
        for name in ("each", "fixed"):
            wall, cpu, peak = (getattr(line, name) for line in lines)
            print(f"{name:>22} {wall:9.4f} {cpu:9.4f} {peak:7.1f}")
        wall, cpu, peak = (line.off for line in lines)
        print(f"{'off':>22} {wall:9.1%} {cpu:9.1%} {peak:7.1%}")


def main() -> None:
    sys.stdout.reconfigure(line_buffering=True)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", metavar="SIZE", help="bytes of a large capture, as 30GB")
    parser.add_argument("--folder", type=Path, help="where captures are made; default: TMPDIR")
    parser.add_argument("--output", type=Path, help="JSON")
    options = parser.parse_args()
    found: dict[str, list[Point]] = {}
    with tempfile.TemporaryDirectory(prefix="flowsweep-growth-", dir=options.folder) as folder:
        scratch = Path(folder)
        if options.large:
            from flowsweep.units import parse_size

            size = parse_size(options.large)
            free = shutil.disk_usage(scratch).free
            if size * 1.2 > free:
                sys.exit(f"{scratch}: {free / 1e9:.0f} GB free; a capture of {options.large} no")
            found["large"] = large(scratch, size)
            show("One capture, 1,000 connections", "GB", found["large"])
        else:
            for name, make, title, unit in (
                ("packets", by_packets, "parse, 1,000 connections", "million packets"),
                ("connections", by_connections, "parse, 4 M packets", "thousand connections"),
                ("runs", by_runs, "ingest of each, runs, report", "runs of four hosts"),
            ):
                found[name] = list(make(scratch))
                show(title, unit, found[name])
    print(f"\n{os.cpu_count()} cores")
    if options.output:
        measured = {name: [asdict(point) for point in points] for name, points in found.items()}
        options.output.write_text(json.dumps(measured, indent=2) + "\n")


if __name__ == "__main__":
    main()
