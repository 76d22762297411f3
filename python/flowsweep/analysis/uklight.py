"""Runs of `pingpong` to the tables of the UKLight paper, and the error of each cell.

    python -m flowsweep.analysis.uklight results/uklight            the comparison
    python -m flowsweep.analysis.uklight --choose results/choice    the two unknowns

The paper gives neither the round-trip time without added latency nor TCP's window. Both follow
from one row, 4 MB without loss: `choose` takes runs at several socket buffers and round-trip
times, and finds the pair whose times are nearest to it. No other cell is looked at for that.

Where cells are off: the chosen window is 63 kB if the added latency counts once per round trip,
which is the 64 KB of a window without scaling; were it added both ways, the window would be
126 kB. So NIST Net seems to have shaped one direction only. The testbed loses and delays by
chance in both, so that every message meets them, not every other one. The column `one way`
corrects for that by calculation: the mean of the cell and of the same without loss and jitter.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

from flowsweep import units

MB = 1 << 20
LATENCIES_MS = (0.0, 2.0, 4.0, 8.0, 16.0)
# Table 1: seconds for each latency, by size (MB) and loss (%).
LOSS = {
    (4, 0.0): (0.703, 0.860, 0.971, 1.242, 1.789),
    (4, 0.01): (0.743, 0.889, 1.043, 1.318, 1.863),
    (4, 0.1): (0.927, 1.106, 1.279, 1.592, 2.288),
    (4, 1.0): (1.997, 2.415, 2.799, 3.489, 4.956),
    (16, 0.0): (2.618, 3.182, 3.590, 4.630, 6.576),
    (16, 0.01): (2.777, 3.260, 3.777, 4.760, 6.682),
    (16, 0.1): (3.449, 4.002, 4.691, 5.774, 8.229),
    (16, 1.0): (7.760, 9.248, 10.592, 13.694, 19.42),
}
# Table 2: seconds for each latency but 0, by size (MB) and jitter (share of the latency).
JITTER = {
    (4, 0.2): (0.910, 1.027, 1.372, 1.881),
    (4, 0.4): (0.922, 1.071, 1.379, 1.928),
    (4, 0.8): (0.940, 1.117, 1.416, 1.872),
    (16, 0.2): (3.266, 3.810, 4.577, 6.329),
    (16, 0.4): (3.464, 3.940, 4.879, 6.977),
    (16, 0.8): (3.649, 4.029, 4.947, 7.165),
}
CHOSEN_ON = (4, 0.0)


@dataclass(frozen=True, order=True)
class Cell:
    """Where a time stands.

    Message size in MB of 2^20 bytes, loss in %, jitter as a share of the added latency, added
    latency in ms.
    """

    message_mb: int
    loss_percent: float
    jitter_fraction: float
    latency_ms: float


def published() -> dict[Cell, float]:
    """Both tables: seconds for one message, one way."""
    found = {
        Cell(size, loss, 0.0, latency): seconds
        for (size, loss), row in LOSS.items()
        for latency, seconds in zip(LATENCIES_MS, row, strict=True)
    }
    for (size, jitter), row in JITTER.items():
        for latency, seconds in zip(LATENCIES_MS[1:], row, strict=True):
            found[Cell(size, 0.0, jitter, latency)] = seconds
    return found


def records(folder: Path) -> Iterator[dict[str, Any]]:
    """The run.json of every run that counts below a folder."""
    for path in sorted(folder.rglob("run.json")):
        record = json.loads(path.read_text())
        counts = record["status"] == "valid" and not record.get("warmup")
        if counts and record["program"] == "pingpong":
            yield record


def _times(record: dict[str, Any]) -> Iterator[tuple[int, float]]:
    """Size in MB and mean seconds one way, for each size of a run."""
    for row in record["application"]["answer"]["sizes"]:
        if row["message_bytes"] % MB == 0:
            yield row["message_bytes"] // MB, row["mean_s"]


def _asked_ns(record: dict[str, Any], axis: str) -> int:
    asked = record["axes"].get(axis, {}).get("asked", "0ns")
    return units.parse_time(asked)


def measured(runs: Iterable[dict[str, Any]]) -> dict[Cell, list[float]]:
    """Seconds one way of every run; latency is the round-trip time beyond the shortest asked."""
    runs = list(runs)
    base_ns = min((_asked_ns(record, "rtt") for record in runs), default=0)
    found: dict[Cell, list[float]] = {}
    for record in runs:
        latency_ms = (_asked_ns(record, "rtt") - base_ns) / 1e6
        jitter_ms = _asked_ns(record, "jitter") / 1e6
        loss = 100 * units.parse_fraction(record["axes"]["loss"]["asked"])
        if jitter_ms and not latency_ms:
            continue  # a share of nothing
        share = round(jitter_ms / latency_ms, 6) if latency_ms else 0.0
        for size, seconds in _times(record):
            cell = Cell(size, round(loss, 6), share, round(latency_ms, 6))
            found.setdefault(cell, []).append(seconds)
    return found


def errors(found: dict[Cell, list[float]]) -> dict[Cell, float]:
    """Mean measured over published, less 1, for each cell of the tables that was measured."""
    return {
        cell: mean(found[cell]) / seconds - 1
        for cell, seconds in sorted(published().items())
        if cell in found
    }


def one_way(found: dict[Cell, list[float]]) -> dict[Cell, list[float]]:
    """An estimate of what loss and jitter in one direction alone would give."""
    estimates = {}
    for cell, times in found.items():
        plain = found.get(Cell(cell.message_mb, 0.0, 0.0, cell.latency_ms))
        if plain is not None:
            estimates[cell] = [(mean(times) + mean(plain)) / 2]
    return estimates


def is_chosen_on(cell: Cell) -> bool:
    """Whether the two unknowns were chosen on this cell."""
    return cell.jitter_fraction == 0 and (cell.message_mb, cell.loss_percent) == CHOSEN_ON


@dataclass(frozen=True)
class Choice:
    """A socket buffer (bytes), the round-trip time without latency (ms), and how near it comes.

    Attributes:
        window_bytes: Bytes per round-trip time, from the slope.
        error: Root of the mean square of the relative errors over the row.
    """

    buffer_bytes: int
    base_ms: float
    window_bytes: float
    error: float


def choose(rows: Sequence[tuple[int, float, float]]) -> Choice:
    """The best pair from rows of buffer (bytes), round-trip time (ms) and seconds for 4 MB.

    Times are linear in the round-trip time where the window is the limit.
    """
    target = np.array(LOSS[CHOSEN_ON])
    choices = []
    for buffer in sorted({row[0] for row in rows}):
        rtts = [rtt for size, rtt, _ in rows if size == buffer]
        times = [seconds for size, _, seconds in rows if size == buffer]
        slope, offset = (float(value) for value in np.polyfit(rtts, times, 1))
        # offset + slope * (base + latency) against the row, by relative error.
        rest = target - offset - slope * np.array(LATENCIES_MS)
        base = float((slope * rest / target**2).sum() / (slope**2 / target**2).sum())
        off = (rest - slope * base) / target
        window = CHOSEN_ON[0] * MB / (slope * 1e3)
        choices.append(Choice(buffer, base, window, float(np.sqrt((off**2).mean()))))
    return min(choices, key=lambda choice: choice.error)


def _show(found: dict[Cell, list[float]]) -> None:
    off, off_one_way = errors(found), errors(one_way(found))
    known = published()
    print("message  loss   jitter  latency  published  measured  runs   error  one way")
    for cell, error in off.items():
        note = f"{off_one_way[cell]:+7.1%}" if cell in off_one_way else ""
        print(
            f"{cell.message_mb:4d} MB {cell.loss_percent:5g} % {cell.jitter_fraction:6g} "
            f"{cell.latency_ms:6g} ms {known[cell]:8.3f} s {mean(found[cell]):7.3f} s "
            f"{len(found[cell]):5d} {error:+7.1%}  " + ("chosen on" if is_chosen_on(cell) else note)
        )
    for name, table in (("measured", off), ("one way", off_one_way)):
        others = [abs(error) for cell, error in table.items() if not is_chosen_on(cell)]
        if others:
            print(
                f"{name}: {len(others)} of {len(known) - len(LATENCIES_MS)} other cells, ", end=""
            )
            print(f"median error {median(others):.1%}, largest {max(others):.1%}")


def main(arguments: Sequence[str]) -> None:
    """Prints the comparison, or with --choose the two unknowns."""
    runs = list(records(Path(arguments[-1])))
    if arguments[0] != "--choose":
        _show(measured(runs))
        return
    rows = [
        (units.parse_size(record["axes"]["buffer"]["asked"]), _asked_ns(record, "rtt") / 1e6, time)
        for record in runs
        for size, time in _times(record)
        if size == CHOSEN_ON[0] and record["axes"]["loss"]["asked"] == "0%"
    ]
    print(choose(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
