"""What the verdict says of where the time goes, where captures of several hosts were matched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowsweep import numbers
from flowsweep.render.time_parts import PARTS, list_shares

Row = dict[str, Any]
#: A share that is worth a word.
NOTABLE = 0.05
MAX_APPS = 4


def sentences(rows: Sequence[Row], labels: dict[tuple[str, str], str]) -> list[str]:
    """A sentence for each of the first applications, on its slowest point.

    Args:
        rows: Rows of the query `time_shares`.
        labels: Name of each application and problem, in the order of the report.
    """
    found = []
    for key, label in labels.items():
        own = [row for row in rows if (row["app"], row["problem"]) == key]
        base = next((row for row in own if row["is_baseline"]), None)
        slowest = max(own, key=lambda row: row["path_s"], default=None)
        if base is None or slowest is None or slowest is base:
            continue
        where = _where(slowest, base)
        computing = numbers.share(slowest["computing_s"] / slowest["path_s"])
        text = f"{where} **{label}** computes for **{computing}** of its time"
        found.append(f"{text}{_parts(slowest)}.")
    return found[:MAX_APPS]


def _where(row: Row, base: Row) -> str:
    """`At 64.1 ms`, by what differs from the baseline; else that it is the slowest point."""
    differing = [
        numbers.quantity(row[shown], unit)
        for asked, shown, unit in (
            ("rtt_asked_ms", "rtt_ms", "ms"),
            ("rate_asked_mbit_s", "rate_mbit_s", "Mbit/s"),
        )
        if row[asked] != base[asked] and row[shown] is not None
    ]
    return f"At {' and '.join(differing)}" if differing else "At its slowest point"


def _parts(row: Row) -> str:
    """Names the parts that take the time in which the application does not compute."""
    shares = [share for share in list_shares(row) if share[1] != PARTS["computing_s"]]
    named = [f"{name} takes {numbers.share(share)}" for share, name in shares if share >= NOTABLE]
    if not named:
        return ""
    listed = ", ".join(named).replace("not explained takes", "not explained is")
    first = shares[0][1]
    if first == "propagation" and row["crossings"] and numbers.count(row["crossings"]) != "1":
        count = numbers.count(row["crossings"])
        listed += f"; {count} messages between the sites follow one after the other"
    return f"; {listed}"
