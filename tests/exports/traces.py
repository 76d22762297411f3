"""A reader of traces in Chrome's JSON format that is stricter than Perfetto's own.

The rules are those by which Perfetto shows a trace as it was meant: slices of a thread lie one
behind the other; the end of an arrow comes right behind the slice that it belongs to, and the
arrow's start before its end; a number of a thread is one process's.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

FIELDS = {
    "X": {"ph", "pid", "tid", "ts", "dur", "name", "cat", "args"},
    "s": {"ph", "pid", "tid", "ts", "id", "name", "cat"},
    "f": {"ph", "pid", "tid", "ts", "id", "name", "cat", "bp"},
}
ARGS = {"bytes", "packets", "connection", "tables_of", "peer", "source", "destination", "evidence"}


@dataclass(frozen=True)
class Slice:
    """A slice; `process` and `thread` by their names, times in ns since 1970."""

    process: str
    thread: str
    start: int
    end: int
    name: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Trace:
    """What a trace shows: slices in order of time, and which arrows lead from one to another."""

    about: dict[str, Any]
    processes: list[str]
    slices: list[Slice]
    arrows: list[tuple[Slice, Slice]]
    critical_path: list[Slice]

    def slices_of(self, process: str, thread: str) -> list[Slice]:
        return [one for one in self.slices if (one.process, one.thread) == (process, thread)]


def read(path: Path) -> Trace:
    """Reads a trace; fails where it breaks a rule."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    whole = json.loads(
        content, parse_float=Decimal, parse_constant=_refuse, object_pairs_hook=_unique
    )
    assert set(whole) == {"traceEvents", "metadata"}
    events = whole["traceEvents"]
    names = _names([event for event in events if event["ph"] == "M"])
    zero = whole["metadata"]["first_message_ns_since_1970"] or 0
    slices: list[Slice] = []
    latest: dict[int, Slice] = {}
    ends: dict[int, dict[str, Slice]] = {}
    before: dict[str, Any] = {"ts": 0}
    path: list[Slice] = []
    for event in events:
        if event["ph"] == "M":
            continue
        assert set(event) == FIELDS[event["ph"]], event
        if event["cat"] == "critical path":
            path.append(_piece(event, names, zero))
            continue
        assert event["cat"] == "message"
        assert not path
        assert event["ts"] >= before["ts"] >= 0
        tid = event["tid"]
        if event["ph"] == "X":
            start, length = _ns(event["ts"]) + zero, _ns(event["dur"])
            assert length >= 0
            last = latest.get(tid)
            assert last is None or (start >= last.end and start > last.start)
            assert set(event["args"]) >= ARGS
            place = names["process", event["pid"]], names["thread", event["pid"], tid]
            latest[tid] = Slice(*place, start, start + length, event["name"], event["args"])
            slices.append(latest[tid])
        else:
            assert before["ph"] == "X"
            assert all(before[name] == event[name] for name in ("pid", "tid", "ts"))
            assert event.get("bp", "e") == "e"
            assert event["name"] == "message"
            own = ends.setdefault(event["id"], {})
            assert event["ph"] not in own
            assert event["ph"] == "s" or "s" in own
            own[event["ph"]] = latest[tid]
        before = event
    assert all(set(own) == {"s", "f"} for own in ends.values())
    processes = [name for key, name in names.items() if key[0] == "process"]
    arrows = [(own["s"], own["f"]) for own in ends.values()]
    return Trace(whole["metadata"], processes, slices, arrows, path)


def _piece(event: dict[str, Any], names: dict[tuple[Any, ...], str], zero: int) -> Slice:
    """A piece of the critical path, which is the only slice in a thread of its own."""
    assert event["ph"] == "X"
    assert set(event["args"]) == {"host", "receiver"}
    place = names["process", event["pid"]], names["thread", event["pid"], event["tid"]]
    assert place == ("critical path", "critical path")
    start, length = _ns(event["ts"]) + zero, _ns(event["dur"])
    assert start >= zero
    assert length > 0
    return Slice(*place, start, start + length, event["name"], event["args"])


def _names(events: list[dict[str, Any]]) -> dict[tuple[Any, ...], str]:
    found: dict[tuple[Any, ...], str] = {}
    order: dict[tuple[Any, ...], int] = {}
    for event in events:
        what, _, field = event["name"].partition("_")
        key = (what, *(event[name] for name in ("pid", "tid") if name in event))
        assert len(key) == (2 if what == "process" else 3)
        ((_, value),) = event["args"].items()
        into: dict[tuple[Any, ...], Any] = {"name": found, "sort_index": order}[field]
        assert key not in into
        into[key] = value
    assert set(found) == set(order)
    threads = [key for key in found if key[0] == "thread"]
    processes = {key[1] for key in found if key[0] == "process"}
    assert len({key[2] for key in threads}) == len(threads)
    assert processes.isdisjoint(key[2] for key in threads)
    assert {key[1] for key in threads} <= processes
    assert len({(key[1], found[key]) for key in threads}) == len(threads)
    return found


def _ns(microseconds: Decimal) -> int:
    """Nanoseconds, as they are written and as Perfetto reads them: rounded from a double."""
    exact = microseconds * 1000
    assert exact == int(exact) == round(float(microseconds) * 1000)
    return int(exact)


def _refuse(word: str) -> None:
    raise AssertionError(word)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)
