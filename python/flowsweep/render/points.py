"""Points of the sweep as rows of a figure: their names, and which are drawn."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from flowsweep.render import cuts, numbers

if TYPE_CHECKING:
    import polars as pl

MAX_ROWS = 24
#: Width of a letter in an axis label, pixels; a little more than Arial's mean at 12 px.
LETTER = 6.4

# What was asked tells whether an axis varies, what was measured is printed.
AXES = (
    ("rtt_asked_ms", "rtt_ms", lambda value: f"{numbers.estimate(value)} ms"),
    ("rate_asked_mbit_s", "rate_mbit_s", lambda value: f"{numbers.estimate(value)} Mbit/s"),
    ("buffer_bytes", "buffer_bytes", lambda value: f"{numbers.size(value)} buffers"),
    ("loss", "loss", lambda value: f"{numbers.share(value)} loss"),
    ("jitter_ms", "jitter_ms", lambda value: f"jitter {numbers.plain(value)} ms"),
    ("jitter_share", "jitter_share", lambda value: f"jitter {numbers.share(value)}"),
    ("links", "links", lambda value: numbers.plural(int(value), "link")),
    ("congestion", "congestion", str),
    (
        "hosts_per_site",
        "hosts_per_site",
        lambda value: f"{numbers.plural(int(value), 'host')} a site",
    ),
    ("ranks", "ranks", lambda value: numbers.plural(int(value), "rank")),
    (
        "ranks_per_host",
        "ranks_per_host",
        lambda value: f"{numbers.plural(int(value), 'rank')} a host",
    ),
)
UNSET = {
    "rtt_asked_ms": "RTT unset",
    "rate_asked_mbit_s": "no limit",
    "buffer_bytes": "default buffers",
    "loss": "no loss",
    "jitter_ms": "no jitter",
    "jitter_share": "no jitter",
}


def labels(rows: pl.DataFrame) -> list[str]:
    """A name for each point of one application: the axes that vary, as measured.

    The queue is named only where nothing else tells two points apart.
    """
    varied = [axis for axis in AXES if rows[axis[0]].n_unique() > 1]
    # The number of ranks says more than how many a host has, if that changes with it.
    fewer = [axis for axis in varied if axis[0] != "ranks_per_host"]
    if any(axis[0] == "ranks" for axis in varied):
        pairs = rows.select("ranks", "ranks_per_host").n_unique()
        varied = fewer if pairs == rows["ranks"].n_unique() else varied
    names = [_name(row, varied) for row in rows.iter_rows(named=True)]
    queues = list(zip(names, rows["queue_bytes"], strict=True))
    several = Counter(name for name, _ in set(queues))
    names = [
        f"{name} · {numbers.size(queue)} queue" if several[name] > 1 else name
        for name, queue in queues
    ]
    # Two points that were measured alike stay two rows.
    return [
        f"{name} ({names[:place].count(name) + 1})" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]


def _name(row: dict[str, Any], varied: list[Any]) -> str:
    parts = []
    for asked, measured, words in varied:
        value = row[measured]
        parts.append(
            UNSET.get(asked, f"{asked.replace('_', ' ')} unset") if value is None else words(value)
        )
    return " · ".join(parts) or "all runs"


def drawn(rows: pl.DataFrame) -> pl.DataFrame:
    """At most `MAX_ROWS` points, evenly taken; the first, the baseline, is one of them."""
    return rows[cuts.evenly(rows.height, MAX_ROWS)]


def width(names: list[str]) -> int:
    """Pixels that these names take beside an axis."""
    return round(max(map(len, names)) * LETTER) + 8


def left_out(frames: list[pl.DataFrame], query: str) -> str | None:
    """Says how many points are drawn, if not all are."""
    total = sum(frame.height for frame in frames)
    shown = sum(min(frame.height, MAX_ROWS) for frame in frames)
    return cuts.told(shown, total, "points are drawn", query)
