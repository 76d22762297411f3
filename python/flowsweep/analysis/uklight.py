"""Runs of `pingpong` to the two things that the UKLight paper does not tell.

    python -m flowsweep.analysis.uklight results/choice

The paper gives neither the round-trip time without added latency nor TCP's effective window. Both
follow from one row of its table 1, 4 MB without loss: `choose` takes runs at several socket buffers
and round-trip times, and finds the pair whose times are nearest to it. No other cell is looked at.
How far off those are then: `flowsweep query transfer_errors results/uklight`, and the report.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flowsweep import units

MB = 1 << 20
MESSAGE_MB = 4
LATENCIES_MS = (0.0, 2.0, 4.0, 8.0, 16.0)
#: Table 1, 4 MB without loss: seconds for a message at each latency.
ROW_S = (0.703, 0.860, 0.971, 1.242, 1.789)


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
    target = np.array(ROW_S)
    choices = []
    for buffer in sorted({row[0] for row in rows}):
        rtts = [rtt for size, rtt, _ in rows if size == buffer]
        times = [seconds for size, _, seconds in rows if size == buffer]
        slope, offset = (float(value) for value in np.polyfit(rtts, times, 1))
        # offset + slope * (base + latency) against the row, by relative error.
        rest = target - offset - slope * np.array(LATENCIES_MS)
        base = float((slope * rest / target**2).sum() / (slope**2 / target**2).sum())
        off = (rest - slope * base) / target
        window = MESSAGE_MB * MB / (slope * 1e3)
        choices.append(Choice(buffer, base, window, float(np.sqrt((off**2).mean()))))
    return min(choices, key=lambda choice: choice.error)


def records(folder: Path) -> Iterator[dict[str, Any]]:
    """The run.json of every run that counts below a folder."""
    for path in sorted(folder.rglob("run.json")):
        record = json.loads(path.read_text())
        counts = record["status"] == "valid" and not record.get("warmup")
        if counts and record["program"] == "pingpong":
            yield record


def rows_of(runs: Iterable[dict[str, Any]]) -> list[tuple[int, float, float]]:
    """Buffer (bytes), round-trip time (ms) and seconds one way of each run of 4 MB without loss."""
    return [
        (units.parse_size(axes["buffer"]["asked"]), rtt_ns / 1e6, row["mean_s"])
        for record in runs
        for axes in [record["axes"]]
        for rtt_ns in [units.parse_time(axes["rtt"]["asked"])]
        for row in record["application"]["answer"]["sizes"]
        if row["message_bytes"] == MESSAGE_MB * MB and axes["loss"]["asked"] == "0%"
    ]


def main(arguments: Sequence[str]) -> None:
    """Prints the two unknowns."""
    print(choose(rows_of(records(Path(arguments[0])))))


if __name__ == "__main__":
    main(sys.argv[1:])
