"""What limited a recorded flow according to its kernel, and how a parser's account compares."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

CLASSES = ("app", "sender", "receiver", "network")
FOUND = (*CLASSES, "unknown")
MS = 1_000_000
#: The kernel counts `rwnd_limited` in steps of 4 ms (CONFIG_HZ=250), so its share at a time is
#: averaged over this time before and after.
STEPS_NS = 12 * MS
#: A longer call of `send` slept; in a shorter one, a poll only sees the copying.
SLEPT_NS = MS // 2
#: A link that carries this share of its rate is the limit, whatever else is full.
BUSY = 0.93
WIRE_SHARE = 1514 / 1448
#: States of `tcpi_ca_state` from this one on are recovery.
RECOVERY = 3


@dataclass(frozen=True)
class Truth:
    """Time of each class up to each border between polls.

    Attributes:
        borders: Times, ns since 1970.
        sums: Shape (4, borders): nanoseconds of each of CLASSES up to each border.
    """

    borders: np.ndarray
    sums: np.ndarray

    def between(self, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Returns nanoseconds of each class in each of the intervals: shape (intervals, 4)."""
        return np.stack(
            [
                np.interp(end, self.borders, s) - np.interp(begin, self.borders, s)
                for s in self.sums
            ],
            axis=1,
        )

    def to_json(self) -> dict[str, Any]:
        """Omits borders where nothing changes."""
        rates = np.diff(self.sums) / np.maximum(np.diff(self.borders), 1)
        changes = np.any(np.abs(np.diff(rates, axis=1)) > 1e-3, axis=0)
        kept = np.r_[True, changes, True]
        return {
            "borders_ns": self.borders[kept].tolist(),
            "sums_ns": np.rint(self.sums[:, kept]).astype(np.int64).tolist(),
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Truth:
        """Reads the output of `to_json`."""
        return cls(np.array(record["borders_ns"]), np.array(record["sums_ns"], float))


def derive_from_polls(recorded: Any, rate_bit_s: float, rtt_ms: float) -> Truth:
    """Returns the truth from the recording of `writers.py`.

    The first match decides. Network: recovery. Receiver: `rwnd_limited` grows, or the advertised
    window is in use and at most half of the congestion window. Network: at least one MSS is not
    sent. Sender: the writer sleeps inside `send`, unless the link is busy, which is the network.
    Application: otherwise.
    """
    polls, begun, done = recorded["polls"], recorded["begun"], recorded["done"]
    time, mss = polls["time"].astype(np.int64), polls["mss"].astype(np.int64)
    backlog = polls["notsent"] >= mss
    counted = polls["receiver_us"].astype(float) * 1e3
    steps = _about(time, counted, STEPS_NS)
    waiting = _about(
        time, np.cumsum(backlog * np.diff(time, prepend=time[0])).astype(float), STEPS_NS
    )
    receiver = np.where(backlog, np.clip(steps / np.maximum(waiting, 1e-3), 0, 1), 0)
    receiver = np.where(receiver < 0.1, 0, np.where(receiver > 0.9, 1, receiver))
    # The kernel does not check the window while it paces: the window limits where it is in use and
    # the congestion window would allow twice as much.
    window, flight = polls["window"].astype(np.int64), polls["unacked"].astype(np.int64) * mss
    smaller = (2 * window <= polls["cwnd"].astype(np.int64) * mss) & (2 * flight >= window)
    receiver = np.where(backlog & smaller, 1, receiver)
    repair = (polls["recovery"] >= RECOVERY) & (polls["unacked"] > 0)
    receiver = np.where(repair, 0, receiver)
    call = np.searchsorted(begun, time, side="right") - 1
    asleep = (call >= 0) & (done[call] >= time) & ((done - begun)[call] > SLEPT_NS)
    span = max(100 * MS, 4 * rtt_ms * MS) / 2
    goodput = _about(time, polls["acked"].astype(float), span) * 8e9 * WIRE_SHARE
    busy = goodput > BUSY * rate_bit_s
    rest = ~backlog & ~repair
    weights = np.stack(
        [
            rest & ~asleep,
            rest & asleep & ~busy,
            receiver,
            np.where(backlog | repair, 1 - receiver, rest & asleep & busy),
        ]
    ).astype(float)
    borders = np.r_[time[0], (time[1:] + time[:-1]) // 2, time[-1]]
    sums = np.zeros((len(CLASSES), len(borders)))
    sums[:, 1:] = np.cumsum(weights * np.diff(borders), axis=1)
    return Truth(borders, sums)


def _about(time: np.ndarray, counter: np.ndarray, half: float) -> np.ndarray:
    """Returns the counter's growth around each time, per nanosecond."""
    low, high = np.maximum(time - half, time[0]), np.minimum(time + half, time[-1])
    grown = np.interp(high, time, counter) - np.interp(low, time, counter)
    return grown / np.maximum(high - low, 1)


def recorded(folder: Path) -> tuple[dict[str, Any], Truth]:
    """Returns the description of a recording of `record_limits.py`, and its truth."""
    flow = json.loads((folder / "flow.json").read_text())
    with np.load(folder / "truth.npz") as polls:
        return flow, derive_from_polls(polls, flow["rate_mbit"] * 1e6, flow["rtt_ms"])


def confusion(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Returns nanoseconds of each class of the truth (rows) by class found (columns).

    Time that both attribute to the same class in a slice is right, and the rest is distributed in
    proportion; so errors that cancel out within a slice are invisible.

    Args:
        found: Shape (slices, 5): nanoseconds of FOUND in each.
        truth: Shape (slices, 4), of CLASSES.
    """
    total = truth.sum(axis=1, keepdims=True)
    # The span of the packets and that of the polls differ by one poll.
    found = found * (total / np.maximum(found.sum(axis=1, keepdims=True), 1))
    same = np.minimum(found[:, :4], truth)
    missing, surplus = truth - same, found.copy()
    surplus[:, :4] -= same
    left = np.maximum(missing.sum(axis=1), 1e-9)
    matrix = np.einsum("si,sj->ij", missing / left[:, None], surplus)
    matrix[np.arange(4), np.arange(4)] += same.sum(axis=0)
    return matrix
