"""Divides continuous captures into runs: each period of the clock is one run, with all hosts.

The run.json of a period lists the captures that were parsed; there is no other state.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep import printing
from flowsweep.errors import FlowsweepError
from flowsweep.experiment import results
from flowsweep.files import capture_names, inputs, outputs
from flowsweep.units import format_time

if TYPE_CHECKING:
    from flowsweep.parsing import Drops
    from flowsweep.runs.arrivals import Arrival

SECOND = 10**9
#: The name of a run: its start, UTC. Not ISO 8601, which readers of Hive folders parse as a time.
NAME = "%Y-%m-%d-%Hh%Mm%Ss"
#: If a period begins more than this ahead of the clock, the clock of its host is wrong.
AHEAD_NS = 24 * 3600 * SECOND
#: The last second since 1970 that 64-bit nanoseconds can represent, less one.
LAST_S = (2**63 - 1) // SECOND - 1
#: The key that the run.json of a period must have.
PERIOD = "period_s"
KIND = "the record of a period"
EXAMPLE = '{"period_s": 3600, "captures": [], "drops": {}}'


class Periods:
    """The periods of one folder of captures that were already parsed.

    Args:
        folder: The folder of captures.
        directory: The folder of their results, results/<experiment>.
        period_s: The length of a period.

    Raises:
        FlowsweepError: The results are of another folder, or of periods of another length.
    """

    def __init__(self, folder: Path, directory: Path, period_s: int) -> None:
        self._period_s = period_s
        self._runs = directory / "runs"
        results.mark_captures(folder, directory)
        self._done = {path.parent.name: self._read(path) for path in self._runs.glob("*/run.json")}
        experiment = directory / "experiment.yaml"
        if not experiment.exists():
            title = json.dumps(f"Captures in {printing.line(str(folder))}")
            outputs.write_file(experiment, f"title: {title}\n")

    def _read(self, path: Path) -> dict[str, Any]:
        record, _ = inputs.read_object(path, KIND, EXAMPLE)
        if record.get(PERIOD) != self._period_s:
            known = record.get(PERIOD)
            length = (
                format_time(known * SECOND)
                if isinstance(known, int)
                else inputs.shorten_value(known)
            )
            raise FlowsweepError(
                f"{path}: was made with periods of another length",
                found=f"--period {length}",
                expected=f"--period {format_time(self._period_s * SECOND)}",
                remedy=f"--period {length}, or another folder for the results: --output",
            )
        return record

    def has_any(self) -> bool:
        """Returns whether any period was parsed."""
        return bool(self._done)

    def ready(self, arrivals: Sequence[Arrival], now_ns: int) -> dict[str, list[Arrival]]:
        """Returns the captures of each period that is over, complete and has unparsed captures.

        A period that begins more than a day ahead is ready at once: the clock of a host is
        wrong, and its captures become a run of their own.

        Args:
            arrivals: All captures in the folder, in the order of their first packets.
            now_ns: The current time, ns since 1970.

        Returns:
            The captures by the name of their run, oldest run first.
        """
        found: dict[int, list[Arrival]] = {}
        for one in arrivals:
            if one.first_ns is not None:
                found.setdefault(one.first_ns // (self._period_s * SECOND), []).append(one)
        return {
            self._name(number): some
            for number, some in sorted(found.items())
            if self._is_over(number, now_ns)
            and all(one.is_whole for one in some)
            and self._is_news(self._name(number), some)
        }

    def _is_over(self, number: int, now_ns: int) -> bool:
        begin_ns = number * self._period_s * SECOND
        return begin_ns + self._period_s * SECOND <= now_ns or begin_ns > now_ns + AHEAD_NS

    def _is_news(self, run: str, arrivals: Sequence[Arrival]) -> bool:
        """Returns whether a period has unparsed captures, and still has all parsed ones.

        When a ring has removed parsed captures, the period is not parsed again: their rows stay.
        """
        parsed, here = self._parsed(run), {(one.host, one.first_ns): one.size for one in arrivals}
        return parsed.keys() <= here.keys() and not here.items() <= parsed.items()

    def _parsed(self, run: str) -> dict[tuple[str, int], int]:
        """Returns the sizes of a period's parsed captures, by host and first packet."""
        captures = self._done.get(run, {}).get("captures", ())
        return {(one["host"], one["first"]): one["bytes"] for one in captures}

    def left_out(self, arrivals: Sequence[Arrival]) -> Iterator[tuple[str, Path]]:
        """Yields captures that came too late: parsed ones of their period are already removed."""
        here = {(one.host, one.first_ns) for one in arrivals}
        for one in arrivals:
            if one.first_ns is None:
                continue
            run = self._name(one.first_ns // (self._period_s * SECOND))
            parsed = self._parsed(run)
            is_parsed = parsed.get((one.host, one.first_ns)) == one.size
            if parsed and not is_parsed and not parsed.keys() <= here:
                yield run, one.path

    def lost(self, arrivals: Sequence[Arrival]) -> Iterator[tuple[str, int, int]]:
        """Yields hosts whose ring removed captures before they were parsed.

        Yields:
            The host, how many of its captures are in no table, and how many were removed in all.
        """
        here = {(one.host, one.first_ns) for one in arrivals}
        rings = {(one.host, one.counters) for one in arrivals if one.counters is not None}
        for host, ring in sorted(rings, key=lambda each: (each[0], each[1].series, each[1].start)):
            begin = _nanoseconds(ring.start)
            later = [
                _nanoseconds(other.start)
                for name, other in rings
                if (name, other.series) == (host, ring.series) and other.start > ring.start
            ]
            if begin is None or None in later:
                continue
            end = min((start for start in later if start is not None), default=2**63)
            read = {
                one["first"]
                for record in self._done.values()
                for one in record["captures"]
                if one["host"] == host
                and begin <= one["first"] < end
                and ring.series in _series(one["file"])
            }
            gone = sum((host, first) not in here for first in read)
            if ring.removed > gone:
                yield host, ring.removed - gone, ring.removed

    def _name(self, number: int) -> str:
        return datetime.fromtimestamp(number * self._period_s, UTC).strftime(NAME)

    def drops(self, run: str, arrivals: Sequence[Arrival]) -> dict[str, Drops]:
        """Returns the packets dropped at each host that no earlier period counted.

        A manifest counts from the start of its capture, so its increase since the last
        parse is attributed to the period that is parsed next.
        """
        drops_by_host: dict[str, Drops] = {}
        for host in sorted({one.host for one in arrivals}):
            before = self._done.get(run, {}).get("drops", {}).get(host)
            added = self._added(host, [one for one in arrivals if one.host == host])
            # Drops that were unknown then are part of the increase now.
            kernel, interface = before["told"] if before else (0, 0)
            drops_by_host[host] = _sum((kernel or 0, interface or 0), added)
        return drops_by_host

    def _added(self, host: str, arrivals: Sequence[Arrival]) -> Drops:
        added: Drops = (0, 0)
        for one in {each.counters for each in arrivals}:
            if one is None:
                return None, None
            counted = [
                record["drops"][host]["until"].get(one.start, (0, 0))
                for record in self._done.values()
                if host in record["drops"]
            ]
            kernel, interface = (
                max(count for count in column if count is not None)
                for column in zip((0, 0), *counted, strict=True)
            )
            added = _sum(added, _sum(one.drops, (-kernel, -interface)))
        return added

    def record(
        self, run: str, arrivals: Sequence[Arrival], drops_by_host: Mapping[str, Drops]
    ) -> None:
        """Writes to run.json that the tables of a period were made from these captures."""
        start = datetime.strptime(run, NAME).replace(tzinfo=UTC)
        end = start + timedelta(seconds=self._period_s)
        captures = [
            {"host": one.host, "file": one.path.name, "first": one.first_ns, "bytes": one.size}
            for one in arrivals
        ]
        until = {
            host: {
                one.counters.start: one.counters.drops
                for one in arrivals
                if one.host == host and one.counters is not None
            }
            for host in drops_by_host
        }
        record = {
            "start": f"{max(start, _at(-LAST_S)):%Y-%m-%dT%H:%M:%SZ}",
            "end": f"{min(end, _at(LAST_S)):%Y-%m-%dT%H:%M:%SZ}",
            PERIOD: self._period_s,
            "captures": captures,
            "drops": {
                host: {"told": drops_by_host[host], "until": until[host]} for host in drops_by_host
            },
        }
        folder = self._runs / run
        text = inputs.object_text(record, folder / "run.json", KIND, EXAMPLE)
        with outputs.explaining(f"cannot write to {folder}"):
            folder.mkdir(parents=True, exist_ok=True)
            outputs.write_file(folder / "run.json", text)
        # Keep what the next start will read, with JSON's types.
        self._done[run] = json.loads(text)


def _at(seconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


def _sum(one: Drops, other: Drops) -> Drops:
    kernel, interface = (
        None if a is None or b is None else a + b for a, b in zip(one, other, strict=True)
    )
    return kernel, interface


def _series(file: str) -> tuple[str, str | None]:
    """Returns the possible names of a capture file's series."""
    stem = capture_names.stem(Path(file))
    return stem, capture_names.first_part(stem)


def _nanoseconds(start: str) -> int | None:
    """Returns the start of a capture, ns since 1970; None if the text is no time with a zone."""
    try:
        moment = datetime.fromisoformat(start)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1_000
