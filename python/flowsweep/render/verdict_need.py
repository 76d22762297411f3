"""Writes the verdict's sentences on the absolute limits that the experiment file states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowsweep import numbers
from flowsweep.lists import shorten_list

Row = dict[str, Any]
MAX_NAMED = 4


def sentences(rows: Sequence[Row], labels: dict[tuple[str, str], str]) -> list[str]:
    """Writes a sentence for each limit and application.

    Args:
        rows: Rows of the query `need`.
        labels: Name of each application and problem, in the order of the report.
    """
    found = []
    for key, label in labels.items():
        own = [row for row in rows if (row["app"], row["problem"]) == key]
        found += [
            _sentence(label, [row for row in own if row["outcome"] == outcome])
            for outcome in dict.fromkeys(row["outcome"] for row in own)
        ]
    return found


def _sentence(label: str, rows: Sequence[Row]) -> str:
    first = rows[0]
    if first["limit_value"] is None:
        kept = f"Whether **{label}** keeps its {first['outcome']}"
        return f"{kept} cannot be determined: {first['reason']}."
    value = numbers.tick(first["limit_value"])
    limit = f"{first['outcome']} {first['relation']} {_with_unit(value, first['unit'])}"
    states = {
        state: [row for row in rows if row["state"] == state]
        for state in ("holds", "fails", "cannot tell")
    }
    points = numbers.plural(len(rows), "point")
    parts = [f"**{label}** keeps **{limit}** at {len(states['holds'])} of {points}"]
    if states["holds"] and len(states["holds"]) < len(rows):
        parts[0] += f" ({_list_points(states['holds'])})"
    if states["fails"]:
        parts.append(f"it does not at {_list_points(states['fails'])}")
    if states["cannot tell"]:
        parts.append(f"it cannot be determined at {_list_points(states['cannot tell'])}")
    return f"{'; '.join(parts)}."


def _with_unit(value: str, unit: str) -> str:
    """Returns `10 ms`, `30/s` or `7`."""
    return f"{value}{unit[1:]}" if unit.startswith("1/") else f"{value} {unit}".rstrip()


def _list_points(rows: Sequence[Row]) -> str:
    """Lists the first points with their intervals."""
    return "; ".join(shorten_list([_point(row) for row in rows], MAX_NAMED))


def _point(row: Row) -> str:
    if row["value"] is None:
        return str(row["label"])
    if row["low"] is None:
        return f"{row['label']}: {numbers.estimate(row['value'])}, n = {row['runs_used']}"
    interval = numbers.interval(row["low"], row["high"])
    return f"{row['label']}: {numbers.estimate(row['value'])} [[{interval}]]"
