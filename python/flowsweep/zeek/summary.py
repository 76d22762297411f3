"""Summarises a log of Zeek in a few lines for the terminal."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from flowsweep import numbers
from flowsweep.addresses import join_port
from flowsweep.analysis import grades
from flowsweep.defaults import SHORTEST_RATE_NS
from flowsweep.lists import shorten_list
from flowsweep.units import counted, duration
from flowsweep.zeek import flows, kinds, quality, tables

TOP = 5
MINUTE_S = 60


@dataclass(frozen=True)
class Summary:
    """The content of `flowsweep show` for a log.

    Attributes:
        kind: Zeek's name of the log.
        first: Time of the earliest row, RFC 3339; None if no row has a time.
        span_s: Seconds from it to the latest row, or end of a connection.
        lost: Lines without a row, values of a wrong type, lines not in UTF-8, damaged files.
        grade: For `conn.log`: as in the report, from it and the `stats.log` in its folder.
        reasons: What lowers the grade.
        counts: For `conn.log`: connections by protocol, state and service, and sums of bytes.
        largest: For `conn.log`: the flow directions with most payload.
    """

    file: str
    kind: str
    rows: int
    first: str | None
    span_s: float | None
    lost: int
    grade: str | None = None
    reasons: str = ""
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    largest: list[dict[str, Any]] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether there are rows and nothing was lost."""
        return self.rows > 0 and self.lost == 0


def summarise(path: Path) -> Summary:
    """Reads and summarises a log.

    Raises:
        FlowsweepError: The file is no log, or cannot be read.
    """
    frame, done, log = tables.rows_of([path])
    lost = sum(faults.lines + faults.values + faults.texts for _, faults in done.faults) + len(
        done.damage
    )
    counts: dict[str, dict[str, int]] = {}
    largest: list[dict[str, Any]] = []
    grade, reasons = None, ""
    times = [frame["ts"]] if frame.schema.get("ts") == kinds.TIME else []
    if log.kind == "conn" and frame.height:
        both = flows.flows(frame, str(path))
        times.append(both["last_time"])
        counts, largest = _counts(frame, both), _find_largest(both)
        dropped = quality.dropped_packets(quality.beside(path))
        graded = grades.grade(quality.facts(both, dropped))
        grade, reasons = graded.letter, graded.reasons
    first, span = _span(times)
    return Summary(
        str(path), log.kind, frame.height, first, span, lost, grade, reasons, counts, largest
    )


def _span(times: list[pl.Series]) -> tuple[str | None, float | None]:
    """Returns the earliest time, RFC 3339, and the seconds to the latest time."""
    known = pl.concat([pl.Series(dtype=pl.Int64), *(one.cast(pl.Int64) for one in times)])
    known = known.drop_nulls()
    if known.is_empty():
        return None, None
    first, last = int(known.min()), int(known.max())  # type: ignore[arg-type]
    text = pl.Series([first]).cast(kinds.TIME).dt.strftime("%Y-%m-%dT%H:%M:%S%.fZ").item()
    return text, (last - first) / 1e9


def _counts(conn: pl.DataFrame, both: pl.DataFrame) -> dict[str, dict[str, int]]:
    found = {
        "sums": {name: int(both[name].sum()) for name in ("packets", "ip_bytes", "payload_bytes")}
        | {"missed_bytes": int(both.unique("uid")["missed_bytes"].sum())}
    }
    for name in ("proto", "conn_state", "service"):
        if name in conn.columns:
            values = conn[name].explode() if conn[name].dtype.is_nested() else conn[name]
            many = values.drop_nulls().value_counts(sort=True)
            found[name] = dict(many.sort(["count", name], descending=[True, False]).rows())
    return found


def _find_largest(both: pl.DataFrame) -> list[dict[str, Any]]:
    top = both.sort("payload_bytes", descending=True, nulls_last=True, maintain_order=True).head(
        TOP
    )
    found = []
    for row in top.iter_rows(named=True):
        seconds = row["duration_ns"] / 1e9
        payload = row["payload_bytes"] or 0
        found.append(
            {
                "uid": row["uid"],
                "protocol": row["protocol"],
                "payload_bytes": payload,
                "duration_ns": row["duration_ns"],
                "mbit_s": payload * 8e-6 / seconds if seconds * 1e9 >= SHORTEST_RATE_NS else None,
                "from": join_port(row["src_ip"], row["src_port"]),
                "to": join_port(row["dst_ip"], row["dst_port"]),
            }
        )
    return found


def tabulate_largest(summary: Summary) -> pl.DataFrame:
    """Returns the largest flows as a table with formatted values."""
    return pl.DataFrame(
        {
            "uid": row["uid"],
            "protocol": row["protocol"],
            "payload": numbers.size(row["payload_bytes"]),
            "time": numbers.seconds(row["duration_ns"] / 1e9),
            "rate": numbers.rate(row["mbit_s"]),
            "from": row["from"],
            "to": row["to"],
        }
        for row in summary.largest
    )


def lines(summary: Summary) -> list[str]:
    """Returns the lines of the summary, without its table of flows."""
    span = f", {summary.first}" if summary.first else ""
    if summary.span_s:
        is_short = summary.span_s < MINUTE_S
        length = numbers.seconds(summary.span_s) if is_short else duration(summary.span_s)
        span = f", {length} from {summary.first}"
    texts = [f"{summary.file}  Zeek's {summary.kind}.log", f"{counted(summary.rows, 'row')}{span}"]
    if summary.lost:
        texts.append(
            f"damaged in {counted(summary.lost, 'place')}: flowsweep zeek-logs names the first"
        )
    if not summary.counts:
        return texts
    sums = summary.counts["sums"]
    texts.append(
        f"{counted(sums['packets'], 'packet')}  {numbers.size(sums['ip_bytes'])} of IP packets"
        f"  {numbers.size(sums['payload_bytes'])} payload"
    )
    texts.append(f"quality {summary.grade}: {summary.reasons or 'nothing to note'}")
    for name, title in (("proto", "protocols"), ("conn_state", "states"), ("service", "services")):
        if counts := summary.counts.get(name):
            listed = shorten_list([f"{key} {times:,}" for key, times in counts.items()], 8)
            texts.append(f"{title}: {', '.join(listed)}")
    return texts
