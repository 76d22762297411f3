"""The parts of the completion time: their columns in `time_shares`, and their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PARTS = {
    "computing_s": "computing",
    "stall_s": "sender stall",
    "serialisation_s": "serialisation",
    "queueing_s": "queueing",
    "recovery_s": "loss recovery",
    "propagation_s": "propagation",
    "not_explained_s": "not explained",
}


def list_shares(row: Mapping[str, Any]) -> list[tuple[float, str]]:
    """Lists each part's share of the critical path with its name, the largest first.

    Args:
        row: A row of the query `time_shares`.
    """
    return sorted(((row[column] / row["path_s"], name) for column, name in PARTS.items()))[::-1]
