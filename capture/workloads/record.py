"""Records messages, bytes, and spans of phases and transfers of a rank; writes app.json."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any


class Record:
    """Counts and spans of one rank. Times are seconds since `start_clock`, on this rank's clock."""

    rank: int

    def __init__(self, app: str, problem: dict[str, Any], compute: str) -> None:
        self.app, self.problem, self.compute = app, problem, compute
        self.host = _host()
        self.received_messages = self.received_bytes = 0
        self.phases: list[dict[str, Any]] = []
        self.transfers: list[dict[str, Any]] = []
        self.notes: dict[str, Any] = {}
        self._sent: dict[int, list[int]] = {}
        self.start_clock()

    def start_clock(self) -> None:
        """Starts the clock for the times of phases."""
        self._start = time.monotonic_ns()
        self.started_ns = time.time_ns()  # since the epoch

    def now(self) -> float:
        """Returns seconds since `start_clock` on this rank."""
        return (time.monotonic_ns() - self._start) / 1e9

    def phase(self, name: str, start_s: float, end_s: float, **more: object) -> None:
        """Records a span of this rank; `more` distinguishes spans of the same name."""
        span = {"name": name, "rank": self.rank, "start_s": start_s, "end_s": end_s}
        self.phases.append({**span, **more})

    def transfer(
        self, name: str, source: int, to: int, size: int, span_s: tuple[float, float]
    ) -> None:
        """Records that `size` bytes moved between two ranks in a span, by this rank's clock."""
        start_s, end_s = span_s
        span = {"name": name, "from": source, "to": to, "bytes": size}
        self.transfers.append({**span, "start_s": start_s, "end_s": end_s})

    def count_sent(self, to: int, size: int, messages: int = 1) -> None:
        """Counts messages to a rank."""
        count = self._sent.setdefault(to, [0, 0])
        count[0] += messages
        count[1] += size

    def count_received(self, size: int, messages: int = 1) -> None:
        """Counts messages from a rank."""
        self.received_messages += messages
        self.received_bytes += size

    def report(self) -> dict[str, Any]:
        """Returns this rank's part of app.json."""
        to = {
            str(rank): {"messages": count, "bytes": size}
            for rank, (count, size) in sorted(self._sent.items())
        }
        return {
            "rank": self.rank,
            "host": self.host,
            "sent_messages": sum(counts["messages"] for counts in to.values()),
            "sent_bytes": sum(counts["bytes"] for counts in to.values()),
            "received_messages": self.received_messages,
            "received_bytes": self.received_bytes,
            "to": to,
            "phases": self.phases,
            "transfers": self.transfers,
            **self.notes,
        }

    def write(self, output: Path, result: dict[str, Any], reports: list[dict[str, Any]]) -> None:
        """Writes app.json from the reports of all ranks, with their spans in one list."""
        spans = {
            kind: [span for report in reports for span in report.pop(kind)]
            for kind in ("phases", "transfers")
        }
        record = {
            "app": self.app,
            "problem": self.problem,
            "compute": self.compute,
            **result,
            **spans,
            "ranks": reports,
        }
        partial = output.with_name(f".{output.name}.part")
        partial.write_text(json.dumps(record, indent=1) + "\n")
        partial.replace(output)


def _host() -> str:
    """Returns the machine's name in the experiment if the ranks know it, else its own name."""
    own = os.uname().nodename
    pairs = os.environ.get("FLOWSWEEP_MACHINES", "").split(",")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair).get(own, own)


def add_report(report: dict[str, Any], size: int) -> None:
    """Adds the message of `size` bytes that carried `report` to rank 0 to that report's counts."""
    to_first = report["to"].setdefault("0", {"messages": 0, "bytes": 0})
    for counts, prefix in ((report, "sent_"), (to_first, "")):
        counts[f"{prefix}messages"] += 1
        counts[f"{prefix}bytes"] += size
