"""The rate of the slowest link on each path between hosts, from the fates of packets."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl

#: Packets after the first of a train, and the duration in ns that half of the trains must have.
TRAINS = {1: 20_000, 8: 400_000, 64: 400_000, 512: 400_000}
#: Pairs of at least this duration need no longer trains to confirm them.
SLOW_NS = 1_000_000
ETHERNET_HEADER = 14
FEWEST = 30


def find_rate(packets: pl.DataFrame) -> float | None:
    """Finds the most frequent rate of the trains of a path, in Mbit/s.

    Args:
        packets: Fates of the packets from one host to another, in the order of its capture.
    """
    is_delivered = (packets["fate"] == "delivered").to_numpy()
    lost = np.cumsum(~is_delivered)[is_delivered]
    arrived = packets.filter(is_delivered)
    sent = arrived["time_sent"].dt.epoch("ns").to_numpy()
    received = arrived["time_received"].dt.epoch("ns").to_numpy()
    sizes = np.cumsum(arrived["ip_bytes"].to_numpy() + ETHERNET_HEADER)
    passed: dict[int, int] = {}
    for time, size in zip(received.tolist(), sizes.tolist(), strict=True):
        passed[time] = max(size, passed.get(time, 0))
    sizes = np.array([passed[time] for time in received.tolist()])
    found = []
    for length, shortest in TRAINS.items():
        took = received[length:] - received[:-length]
        size = sizes[length:] - sizes[:-length]
        counted = (
            (took > 0)
            & (2 * (sent[length:] - sent[:-length]) < took)
            & (size >= 1000 * length)
            & (lost[length:] == lost[:-length])
        )
        is_long = counted & (took >= shortest)
        if is_long.sum() >= max(FEWEST, counted.sum() / 2):
            rates = size[is_long] * 8e3 / took[is_long]
            found += [(length, *one) for one in _most_frequent(rates, took[is_long])]
    for (length, rate, duration), longer in zip(found, [*found[1:], None], strict=False):
        if length == 1 and duration >= SLOW_NS:
            return rate
        if longer is not None and abs(longer[1] / rate - 1) <= 0.02:
            return longer[1]
    return None


def _most_frequent(rates: np.ndarray, took: np.ndarray) -> list[tuple[float, float]]:
    """Returns medians of rate and duration in the fullest two adjacent 1/16 octaves, if any."""
    places = np.array([math.floor(math.log2(rate) * 16) for rate in rates])
    counts = Counter(places.tolist())
    both = {place: counts[place] + counts[place + 1] for place in counts}
    best = min(place for place in both if both[place] == max(both.values()))
    if both[best] < 0.2 * len(places):
        return []
    is_there = (places == best) | (places == best + 1)
    return [(float(np.median(rates[is_there])), float(np.median(took[is_there])))]
