"""The UKLight paper's window and round-trip time, and those that fit its table 1.

    python -m flowsweep.analysis.uklight                   what fits, by a model of the window
    python -m flowsweep.analysis.uklight results/choice    the pair chosen on runs of `pingpong`

What the paper says (section 2.2): "The parameter MPICH_GLOBUS2_TCP_BUFFER_SIZE was set, based on
instructions from Brian Toonen (MPICH-G2 developer), to 524288 in the RSL used to launch each run.
This was based on a measured RTT of 5ms." And: "all OS level TCP-stack parameters were left as
standard." The link was "provisioned at 300Mbps".

What we fitted: these two values do not give the times of table 1. A window of 524288 bytes fills
300 Mbit/s up to a round-trip time of 14 ms, so 4 MB take 0.11 s at an added latency of 0 to 8 ms.
The paper has 0.70 to 1.24 s, which grow with the latency from the first millisecond on, as with a
window of 62 kB (4 MB) to 68 kB (16 MB). Its round-trip time without latency is then 10.5 ms, or the
measured 5 ms and a further 5.5 ms for every window, as from a stage that passes 90 Mbit/s: the
table cannot tell which. `models` has the numbers. The paper does not say why the window in effect
was an eighth of the requested one; with the system's limits left as standard it may never have been
granted.

The experiment needs a socket buffer of today's kernel and a round-trip time: `choose` takes runs at
several values of both and finds the pair whose times are nearest to one row of table 1, 4 MB
without loss. It uses no other cell. `flowsweep query transfer_errors results/uklight` and the
report show how far off the other cells are.
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


#: The same for 16 MB.
ROW_16_S = (2.618, 3.182, 3.590, 4.630, 6.576)
#: The paper's values: bytes, ms, bit/s.
STATED_WINDOW_BYTES, STATED_RTT_MS, RATE_BIT_S = 524_288, 5.0, 300e6


def window_s(message_bytes: int, window_bytes: float, rtt_ms: float) -> float:
    """Returns the seconds of a message if each window takes a round trip, or the link is full.

    Args:
        message_bytes: Size of the message.
        window_bytes: Bytes that may be in flight.
        rtt_ms: Round-trip time, added latency included.
    """
    windows = message_bytes / window_bytes
    return max(windows * rtt_ms / 1e3, message_bytes * 8 / RATE_BIT_S)


@dataclass(frozen=True)
class Model:
    """A window, a round-trip time without latency, and the errors of the resulting times.

    Attributes:
        says: Where window and round-trip time come from.
        message_mb: The row of table 1 without loss.
        window_bytes: Bytes per round-trip time.
        rtt_ms: Round-trip time without added latency.
        errors: Time of the model divided by that of the paper, less 1, at each latency.
    """

    says: str
    message_mb: int
    window_bytes: float
    rtt_ms: float
    errors: tuple[float, ...]


def models() -> list[Model]:
    """Returns the paper's values, its RTT with the best-fitting window, and the best fit of both.

    Best: least mean square of the relative errors.
    """
    found = []
    for message_mb, row in ((MESSAGE_MB, ROW_S), (16, ROW_16_S)):
        times, latencies = np.array(row), np.array(LATENCIES_MS)
        slope, offset = (float(one) for one in np.polyfit(latencies, times, 1, w=1 / times))
        # One factor for all times at 5 ms: seconds for each ms of round-trip time.
        shape = (STATED_RTT_MS + latencies) / times
        kept = float(shape.sum() / (shape**2).sum())
        for says, window, rtt in (
            ("both as the paper says", STATED_WINDOW_BYTES, STATED_RTT_MS),
            ("its RTT, a window that fits", message_mb * MB / (kept * 1e3), STATED_RTT_MS),
            ("both as they fit", message_mb * MB / (slope * 1e3), offset / slope),
        ):
            errors = tuple(
                window_s(message_mb * MB, window, rtt + latency) / seconds - 1
                for latency, seconds in zip(LATENCIES_MS, row, strict=True)
            )
            found.append(Model(says, message_mb, window, rtt, errors))
    return found


@dataclass(frozen=True)
class Choice:
    """A socket buffer (bytes), the round-trip time without latency (ms), and their error.

    Attributes:
        window_bytes: Bytes per round-trip time, from the slope.
        error: Root of the mean square of the relative errors over the row.
    """

    buffer_bytes: int
    base_ms: float
    window_bytes: float
    error: float


def choose(rows: Sequence[tuple[int, float, float]]) -> Choice:
    """Chooses the best pair from rows of buffer (bytes), round-trip time (ms) and s for 4 MB.

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
    """Yields the run.json of every valid run of `pingpong` below a folder."""
    for path in sorted(folder.rglob("run.json")):
        record = json.loads(path.read_text())
        counts = record["status"] == "valid" and not record.get("warmup")
        if counts and record["program"] == "pingpong":
            yield record


def rows_of(runs: Iterable[dict[str, Any]]) -> list[tuple[int, float, float]]:
    """Returns buffer (bytes), RTT (ms) and seconds one way of each run of 4 MB without loss."""
    return [
        (units.parse_size(axes["buffer"]["asked"]), rtt_ns / 1e6, row["mean_s"])
        for record in runs
        for axes in [record["axes"]]
        for rtt_ns in [units.parse_time(axes["rtt"]["asked"])]
        for row in record["application"]["answer"]["sizes"]
        if row["message_bytes"] == MESSAGE_MB * MB and axes["loss"]["asked"] == "0%"
    ]


def main(arguments: Sequence[str]) -> None:
    """Prints the models, and the chosen pair of each folder of runs."""
    heads = "  ".join(f"{latency:>4g} ms" for latency in LATENCIES_MS)
    print(f"{'window and RTT':<28}  MB  window (B)  RTT (ms)  error at an added latency of")
    print(f"{'':<28}  {'':<2}  {'':>10}  {'':>8}  {heads}")
    for model in models():
        errors = "  ".join(f"{100 * error:>+5.0f} %" for error in model.errors)
        print(
            f"{model.says:<28}  {model.message_mb:>2}  {model.window_bytes:>10.0f}"
            f"  {model.rtt_ms:>8.1f}  {errors}"
        )
    for folder in arguments:
        print(choose(rows_of(records(Path(folder)))))


if __name__ == "__main__":
    main(sys.argv[1:])
