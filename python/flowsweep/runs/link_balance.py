"""Accounts for the frames of each link direction with the emulator's counters.

Only this module knows which counters explain a frame that did not arrive. The run's validity, the
column `emulator_dropped` of `runs` and the report's model `conservation` all use it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Balance:
    """Frames of one direction of a link, by fate.

    flowsweep-wan and the netem backend both write counters that obey
    `received + duplicated = delivered + dropped + in_flight` (capture/emulator/README.md).

    Attributes:
        from_site: The site that the frames left.
        to_site: The site that they were sent to.
        received: Frames that entered this direction.
        duplicated: Frames that the emulator duplicated.
        delivered: Frames that left at the far end.
        dropped: Frames that the emulator dropped for any reason: queue, CoDel, emulated loss,
            uplink, downlink, refused by the far interface, oversize, and future reasons.
        in_flight: Frames in the emulator when the counters were read.
        dropped_before: Frames that the kernel dropped at the port before the emulator read them.
            The port counts for all its links: this is an upper bound for this direction.
    """

    from_site: str
    to_site: str
    received: int
    duplicated: int
    delivered: int
    dropped: int
    in_flight: int
    dropped_before: int

    @property
    def unexplained(self) -> int:
        """Frames that were received or duplicated, and that no other counter explains."""
        return self.received + self.duplicated - self.delivered - self.dropped - self.in_flight


def _dropped(link: Mapping[str, Any]) -> int:
    """Returns the frames dropped on a link direction: all counters `dropped_*` except of bytes."""
    return sum(
        int(value or 0)
        for key, value in link.items()
        if key.startswith("dropped_") and not key.endswith("_bytes")
    )


def balances(emulator: Any) -> list[Balance]:
    """Returns the balance of every link direction of an emulator's record, in its order.

    A missing counter is 0. A malformed record has no balances: a report must not fail
    because one run.json was edited by hand.
    """
    ports = _entries(emulator, "ports")
    before = {port.get("name"): int(port.get("kernel_dropped") or 0) for port in ports}
    return [
        Balance(
            from_site=str(link["from"]),
            to_site=str(link["to"]),
            received=int(link.get("received") or 0),
            duplicated=int(link.get("duplicated") or 0),
            delivered=int(link.get("delivered") or 0),
            dropped=_dropped(link),
            in_flight=int(link.get("in_flight") or 0),
            dropped_before=before.get(link["from"], 0),
        )
        for link in _entries(emulator, "links")
        if "from" in link and "to" in link
    ]


def _entries(record: Any, key: str) -> list[dict[str, Any]]:
    found = record.get(key) if isinstance(record, dict) else None
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


#: The table in the report's SQL: see `flowsweep.warehouse.computed`.
NOTE = "fates of the emulator's frames, from run.json (flowsweep.runs.link_balance)"
COLUMNS = {
    "run": "varchar",
    "from_site": "varchar",
    "to_site": "varchar",
    "received": "bigint",
    "duplicated": "bigint",
    "delivered": "bigint",
    "dropped": "bigint",
    "in_flight": "bigint",
    "dropped_before": "bigint",
    "unexplained": "bigint",
}


def rows(records: Iterable[tuple[str, str | None]]) -> list[tuple[Any, ...]]:
    """Returns rows of `COLUMNS` from pairs of a run's name and its run.json, which may be None."""
    return [
        (
            run, one.from_site, one.to_site, one.received, one.duplicated, one.delivered,
            one.dropped, one.in_flight, one.dropped_before, one.unexplained,
        )
        for run, text in records
        for one in balances(_emulator(text))
    ]  # fmt: skip


def _emulator(text: str | None) -> Any:
    record = json.loads(text) if text else None
    return record.get("emulator") if isinstance(record, dict) else None
