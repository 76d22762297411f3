"""Summarises the throughput of an unknown capture, as columns of peaks over time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from flowsweep.analysis import merged_packets

if TYPE_CHECKING:
    import polars as pl

#: The most columns that are shown.
COLUMNS = 60


def summarise(
    tables: dict[str, pl.DataFrame],
    own_addresses: list[str],
    bin_ns: int,
    resolution_ns: int,
    duration_s: float,
) -> dict[str, Any]:
    """Finds the peaks over time and the mean rates, out of the host and in.

    Args:
        tables: The tables of the capture.
        own_addresses: Addresses of the capturing host.
        bin_ns: Width of the bins of the table `throughput`.
        resolution_ns: Resolution of the time stamps.
        duration_s: Time from the first packet to the last.

    Returns:
        Fields of `capture_summary.Summary` by name; empty without bins or an own address.
    """
    import polars as pl

    bins = tables["throughput"]
    if bins.is_empty() or not own_addresses:
        return {}
    merged = merged_packets.find_merged(tables["captures"], tables["flows"], bins, own_addresses)
    least = max((one.shortest_ns for one in merged.values()), default=0)
    start = bins["bin_start"].dt.epoch("ns")
    low, high = int(start.min()), int(start.max()) + bin_ns  # type: ignore[arg-type]
    # Peaks over shorter times are unknown. Coarse stamps need multiples of a longer bin.
    step_ns = _coarse_bin_ns(resolution_ns, bin_ns) if resolution_ns > bin_ns else bin_ns
    shown_ns = step_ns * max(1, -(-least // step_ns))
    count = -(-(high - low) // shown_ns)
    width = -(-count // COLUMNS)
    # A packet with a coarse stamp may have passed at any time until the next stamp.
    length_ns = 1e9 * duration_s + (resolution_ns if resolution_ns > bin_ns else 0)
    found: dict[str, Any] = {
        "bin_ms": shown_ns / 1e6,
        "column_s": width * shown_ns / 1e9,
        "shortest_ms": least / 1e6 if least else None,
    }
    filled: set[int] = set()
    for way, end in (("out", "src_ip"), ("in", "dst_ip")):
        own = bins.filter(pl.col(end).is_in(own_addresses))
        spread = merged_packets.spread_merged(own, merged.get(way))
        per_bin = spread.group_by(number=(pl.col("start_ns") - low) // shown_ns).agg(
            mbit=pl.col("wire_bytes").sum() * 8e3 / shown_ns
        )
        peaks = dict(
            per_bin.group_by(column=pl.col("number") // width).agg(pl.col("mbit").max()).iter_rows()
        )
        columns = range(-(-count // width))
        found[f"{way}_mbit_s"] = [float(peaks.get(number, 0.0)) for number in columns]
        # A capture that is shorter than a bin has no mean rate.
        if duration_s * 1e9 >= bin_ns:
            total = 8e3 * float(own["wire_bytes"].sum())  # Mbit/s times ns
            mean = total / length_ns
            # Packets in n bins may have first and last times that are n - 1 bins apart. Over whole
            # bins no mean exceeds the busiest one.
            is_above = mean > max(found[f"{way}_mbit_s"])
            found[f"mean_{way}_mbit_s"] = total / (high - low) if is_above else mean
        filled |= set(per_bin["number"])
    # A merged packet at the beginning was under way before the capture began.
    filled = {number for number in filled if number >= 0}
    return found | {"empty_bins": 1 - len(filled) / count}


def _coarse_bin_ns(resolution_ns: int, bin_ns: int) -> int:
    """Returns the shortest bin whose rate coarse stamps show, as the SQL macro of that name."""
    about_50 = -(-50 * resolution_ns // bin_ns) * bin_ns
    return min(math.lcm(resolution_ns, bin_ns), about_50)
