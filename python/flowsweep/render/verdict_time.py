"""Writes where the time goes, if captures of several hosts were matched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowsweep import numbers
from flowsweep.render.time_parts import PARTS, list_shares

Row = dict[str, Any]
#: The least share that is mentioned.
NOTABLE = 0.05
MAX_SENTENCES = 4
#: Axes on which a point may differ from the baseline: requested column, shown column, unit.
AXES = (("rtt_asked_ms", "rtt_ms", "ms"), ("rate_asked_mbit_s", "rate_mbit_s", "Mbit/s"))


def sentences(rows: Sequence[Row], labels: dict[tuple[str, str], str]) -> list[str]:
    """Writes a sentence for each application and axis, on its slowest point, up to a limit.

    Args:
        rows: Rows of the query `time_shares`.
        labels: Name of each application and problem, in the order of the report.
    """
    found = []
    for key, label in labels.items():
        own = [row for row in rows if (row["app"], row["problem"]) == key]
        base = next((row for row in own if row["is_baseline"]), None)
        if base is None:
            continue
        for where, slowest in _slowest_points(own, base):
            computing = numbers.share(slowest["computing_s"] / slowest["path_s"])
            text = f"{where} **{label}** computes for **{computing}** of its time"
            found.append(f"{text}{_parts(slowest)}.")
    return found[:MAX_SENTENCES]


def _slowest_points(rows: Sequence[Row], base: Row) -> list[tuple[str, Row]]:
    """Finds the slowest point of each axis that alone differs from the baseline, else of all.

    Returns:
        Where it is, such as `At 64.1 ms`, and its row.
    """
    slowest: dict[tuple[str, ...], Row] = {}
    for row in sorted(rows, key=lambda row: -row["path_s"]):
        if row["path_s"] > base["path_s"]:
            differing = [asked for asked, shown, _ in AXES if _differs(row, base, asked, shown)]
            slowest.setdefault(tuple(differing), row)
    alone = [((asked,), slowest[asked,]) for asked, _, _ in AXES if (asked,) in slowest]
    return [(_where(row, differing), row) for differing, row in alone or [*slowest.items()][:1]]


def _differs(row: Row, base: Row, asked: str, shown: str) -> bool:
    return row[asked] != base[asked] and row[shown] is not None


def _where(row: Row, differing: Sequence[str]) -> str:
    values = [
        numbers.quantity(row[shown], unit) for asked, shown, unit in AXES if asked in differing
    ]
    return f"At {' and '.join(values)}" if values else "At its slowest point"


def _parts(row: Row) -> str:
    """Names the parts that take the time in which the application does not compute."""
    shares = {name: share for share, name in list_shares(row)}
    del shares[PARTS["computing_s"]]
    unexplained = shares.pop(PARTS["not_explained_s"])
    named = [f"{name} takes {numbers.share(share)}" for name, share in shares.items()
             if share >= NOTABLE]  # fmt: skip
    found = [", ".join(named)] if named else []
    crossings = numbers.count(row["crossings"] or 0)
    if named and next(iter(shares)) == "propagation" and crossings not in ("0", "1"):
        found.append(f"{crossings} messages between the sites follow one after the other")
    if unexplained >= NOTABLE:
        found.append(f"{numbers.share(unexplained)} is not explained")
    return "".join(f"; {part}" for part in found)
