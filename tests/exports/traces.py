"""A reader of traces in Chrome's JSON format that is stricter than Perfetto's own.

The rules ensure that Perfetto shows a trace as intended: slices of a thread follow one
another; the ends of arrows come right after their slices, and an arrow's start before its
end; a thread ID belongs to one process.
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
    """A slice; `process` and `thread` are names, times are in ns since 1970."""

    process: str
    thread: str
    start: int
    end: int
    name: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Trace:
    """The content of a trace file: slices, and the arrows between them.

    Attributes:
        slices: In time order.
        arrows: From a message at its sender to the same message at its receiver.
        dependencies: From an arrived message to the one that was sent next.
    """

    about: dict[str, Any]
    processes: list[str]
    slices: list[Slice]
    arrows: list[tuple[Slice, Slice]]
    dependencies: list[tuple[Slice, Slice]]
    critical_path: list[Slice]

    def slices_of(self, process: str, thread: str) -> list[Slice]:
        return [one for one in self.slices if (one.process, one.thread) == (process, thread)]


def read(path: Path) -> Trace:
    """Reads a trace; fails if it breaks a rule."""
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
    arrows = Arrows()
    before: dict[str, Any] = {"ts": 0}
    path: list[Slice] = []
    for event in events:
        if event["ph"] == "M":
            continue
        assert set(event) == FIELDS[event["ph"]], event
        if event["cat"] == "critical path":
            path.append(_piece(event, names, zero))
            continue
        assert not path
        assert event["ts"] >= before["ts"] >= 0
        tid = event["tid"]
        if event["ph"] == "X":
            start, length = _ns(event["ts"]) + zero, _ns(event["dur"])
            assert length >= 0
            last = latest.get(tid)
            assert last is None or (start >= last.end and start > last.start)
            assert event["cat"] == "message"
            assert set(event["args"]) >= ARGS
            place = names["process", event["pid"]], names["thread", event["pid"], tid]
            latest[tid] = Slice(*place, start, start + length, event["name"], event["args"])
            slices.append(latest[tid])
        else:
            assert all(before[name] == event[name] for name in ("pid", "tid", "ts"))
            assert before["ph"] == "X" or before["cat"] != event["cat"]
            arrows.add(event, latest[tid])
        before = event
    processes = [name for key, name in names.items() if key[0] == "process"]
    both = arrows.pairs("message"), arrows.pairs("dependency")
    return Trace(whole["metadata"], processes, slices, *both, path)


class Arrows:
    """The arrows of a trace: an ID belongs to one arrow, of whatever kind."""

    def __init__(self) -> None:
        self._ends: dict[int, dict[str, Slice]] = {}
        self._kinds: dict[int, str] = {}

    def add(self, event: dict[str, Any], at: Slice) -> None:
        assert event.get("bp", "e") == "e"
        assert event["name"] == event["cat"] == self._kinds.setdefault(event["id"], event["cat"])
        own = self._ends.setdefault(event["id"], {})
        assert event["ph"] not in own
        assert event["ph"] == "s" or "s" in own
        own[event["ph"]] = at

    def pairs(self, kind: str) -> list[tuple[Slice, Slice]]:
        assert all(set(own) == {"s", "f"} for own in self._ends.values())
        assert {*self._kinds.values()} <= {"message", "dependency"}
        found = [own for number, own in self._ends.items() if self._kinds[number] == kind]
        return [(own["s"], own["f"]) for own in found]


def _piece(event: dict[str, Any], names: dict[tuple[Any, ...], str], zero: int) -> Slice:
    """Returns a piece of the critical path, the only slice in its thread."""
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
    """Returns nanoseconds as written and as Perfetto reads them: rounded from a double."""
    exact = microseconds * 1000
    assert exact == int(exact) == round(float(microseconds) * 1000)
    return int(exact)


def _refuse(word: str) -> None:
    raise AssertionError(word)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)
