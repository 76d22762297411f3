"""Writes the messages of a run as a trace that the Perfetto UI opens.

It is Chrome's JSON trace format: a process for each host, threads for the messages to and from
each other host, a slice for each message at both hosts, and an arrow between the two slices.
A second kind of arrow leads from the last message that a host received to the next one that it
sent, which may have waited for it. One more process contains the critical path, if there is one.
Times are microseconds since the first message, with three decimals: Perfetto reads numbers as
doubles, which can represent the nanoseconds of a run, but not those since 1970.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep.exports.packed import writing
from flowsweep.lists import natural_key
from flowsweep.units import format_size

if TYPE_CHECKING:
    import polars as pl

    from flowsweep.exports.messages import Messages
    from flowsweep.exports.path import Piece

#: The most slices that are in memory as text.
CHUNK = 1 << 14
#: Kinds of slices, in the order of their threads in a host.
SENT, RECEIVED, PASSING = range(3)


def write(
    messages: Messages,
    run: str,
    hosts: Collection[str],
    path: Path,
    progress: Callable[[str], None] | None = None,
    *,
    critical_path: Sequence[Piece] = (),
) -> None:
    """Writes the trace to `path`; see `packed.writing`.

    Args:
        messages: The messages in the order of their times.
        run: The name of the run.
        hosts: All hosts with tables, also without messages, in the order to show.
        path: The file; an existing one is replaced.
        progress: Called now and then with the progress.
        critical_path: The run's critical path; the part before the first message is left out.
    """
    trace = _Trace(messages, hosts, progress, critical_path)
    with writing(path) as stream:
        stream.write(b'{"traceEvents":[\n')
        for place, lines in enumerate(trace.chunks()):
            stream.write(((",\n" if place else "") + ",\n".join(lines)).encode())
        about = {"run": run, "first_message_ns_since_1970": trace.zero}
        stream.write(f'\n],"metadata":{json.dumps(about)}}}\n'.encode())


class _Trace:
    """The events of a trace.

    Attributes:
        zero: The time of the first message in ns since 1970; none without messages.
    """

    def __init__(
        self,
        messages: Messages,
        hosts: Collection[str],
        progress: Callable[[str], None] | None,
        critical_path: Sequence[Piece],
    ) -> None:
        self._messages = messages.rows
        self._hosts = {host: 1 + place for place, host in enumerate(hosts)}
        self._own_clocks = messages.own_clocks
        self._progress = progress
        self._critical_path = critical_path
        rows = messages.rows.with_row_index("number")
        self._slices = _slices(rows).join(_dependencies(rows), on=["number", "kind"], how="left")
        # If a message arrives at the very time it was sent, its sending slice comes first.
        self._slices = self._slices.sort("start", "kind", "number")
        self.zero: int | None = self._slices["start"].min()  # type: ignore[assignment]
        #: The last slice in each lane, by host, kind and peer.
        self._lanes: dict[tuple[str, int, str], list[tuple[int, int]]] = {}
        #: Numbers of threads, by host, kind, peer and lane.
        self._threads: dict[tuple[str, int, str, int], int] = {}

    def chunks(self) -> Iterator[list[str]]:
        """Yields lists of events as JSON: slices and arrows by time, then the names of threads."""
        for place, some in enumerate(self._slices.iter_slices(CHUNK)):
            if self._progress is not None:
                self._progress(f"{place * CHUNK:,} of {self._slices.height:,} slices")
            rows = some.hstack(self._messages[some["number"]])
            yield [event for row in rows.iter_rows(named=True) for event in self._events(row)]
        if path := [*self._path()]:
            yield path
        if names := [*self._names()]:
            yield names

    def _events(self, row: dict[str, Any]) -> Iterator[str]:
        """Yields a slice and the ends of its arrows."""
        start, end, kind = row["start"], row["end"], row["kind"]
        peer = row["sender"] if kind == RECEIVED else row["receiver"]
        track = f"{row['sender']} to {peer}" if kind == PASSING else peer
        where = f'"pid":{self._hosts[row["host_of"]]},"tid":{self._thread(row, track)}'
        where += f',"ts":{_microseconds(start - (self.zero or 0))}'
        args = {
            "bytes": row["bytes"],
            "packets": row["packets"],
            "connection": row["connection"],
            "tables_of": row["host"],
            "peer": peer,
            "source": row["source"],
            "destination": row["destination"],
            "evidence": row["evidence"],
        }
        if row["lack"] is not None:
            args["no_arrow"] = row["lack"]
        elif kind == RECEIVED:
            args |= {"transfer_ns": end - row["sent_first"], "error_ns": row["error_ns"]}
        shown = ",".join(f'"{name}":{_json(value)}' for name, value in args.items())
        yield (
            f'{{"ph":"X",{where},"dur":{_microseconds(end - start)},'
            f'"name":"{format_size(row["bytes"])}","cat":"message","args":{{{shown}}}}}'
        )
        if row["lack"] is None:
            # After its slice: an arrow binds to the slice that began last in its thread.
            phase = '"s"' if kind == SENT else '"f","bp":"e"'
            own = f'"id":{row["number"] + 1},"name":"message","cat":"message"'
            yield f'{{"ph":{phase},{where},{own}}}'
        if row["received"] is not None:
            phase = '"s"' if kind == RECEIVED else '"f","bp":"e"'
            number = self._messages.height + row["received"] + 1
            own = f'"id":{number},"name":"dependency","cat":"dependency"'
            yield f'{{"ph":{phase},{where},{own}}}'

    def _path(self) -> Iterator[str]:
        """Yields the critical path's thread, and a slice for each piece after the first message."""
        zero = self.zero
        if zero is None or not self._critical_path:
            return
        where = '"pid":{},"tid":{}'.format(*self._path_numbers)
        yield _name("process", f'"pid":{self._path_numbers[0]}', "critical path", 0)
        yield _name("thread", where, "critical path", 0)
        for piece in self._critical_path:
            begin = max(piece.begin, zero)
            if begin >= piece.end:
                continue
            args = {"host": piece.host, "receiver": piece.receiver}
            yield (
                f'{{"ph":"X",{where},"ts":{_microseconds(begin - zero)},'
                f'"dur":{_microseconds(piece.end - begin)},"name":{_json(piece.part)},'
                f'"cat":"critical path","args":{json.dumps(args)}}}'
            )

    @property
    def _path_numbers(self) -> tuple[int, int]:
        """The numbers of the critical path's process and thread."""
        return len(self._hosts) + 1, len(self._hosts) + 2

    def _thread(self, row: dict[str, Any], track: str) -> int:
        """Returns the thread of a slice; overlapping slices get different threads, called lanes."""
        start, end = row["start"], row["end"]
        key = (row["host_of"], row["kind"], track)
        lanes = self._lanes.setdefault(key, [])
        for lane, (other_start, other_end) in enumerate(lanes):
            if start >= other_end and start > other_start:
                lanes[lane] = (start, end)
                break
        else:
            lane = len(lanes)
            lanes.append((start, end))
        # Thread numbers are unique across all processes, and differ from process numbers.
        first = self._path_numbers[1] + 1
        return self._threads.setdefault((*key, lane), first + len(self._threads))

    def _names(self) -> Iterator[str]:
        for host, pid in self._hosts.items():
            name = f"{host} (by its own clock)" if host in self._own_clocks else host
            yield _name("process", f'"pid":{pid}', name, pid)
        order = sorted(self._threads, key=lambda key: (key[0], key[1], natural_key(key[2]), key[3]))
        for place, (host, kind, track, lane) in enumerate(order):
            name = f"{('to ', 'from ', '')[kind]}{track}" + (f" ({lane + 1})" if lane else "")
            tid = self._threads[host, kind, track, lane]
            yield _name("thread", f'"pid":{self._hosts[host]},"tid":{tid}', name, place)


def _slices(messages: pl.DataFrame) -> pl.DataFrame:
    """Returns start, end, host and kind of each slice by the number of its message."""
    import polars as pl

    is_passing = (pl.col("host") != pl.col("sender")) & pl.col("sent_first").is_not_null()
    sent = messages.filter(pl.col("sent_first").is_not_null()).select(
        "number",
        pl.col("sent_first").alias("start"),
        pl.col("sent_last").alias("end"),
        pl.col("host").alias("host_of"),
        pl.when(is_passing).then(PASSING).otherwise(SENT).alias("kind"),
    )
    received = messages.filter(pl.col("arrived_first").is_not_null()).select(
        "number",
        pl.col("arrived_first").alias("start"),
        pl.col("arrived_last").alias("end"),
        pl.col("receiver").alias("host_of"),
        pl.lit(RECEIVED).alias("kind"),
    )
    return pl.concat([sent, received])


def _dependencies(messages: pl.DataFrame) -> pl.DataFrame:
    """Returns the slices at both ends of each dependency: number, kind, and message `received`.

    A host is modelled as one thread, as in `goal`: before a send it may have waited for the last
    message that it received since its previous send.
    """
    import polars as pl

    number = pl.col("number")
    sent = messages.filter(
        pl.col("sent_first").is_not_null() & (pl.col("host") == pl.col("sender"))
    ).select(pl.col("sender").alias("at"), pl.col("sent_first").alias("time"), number, kind=SENT)
    received = messages.filter(pl.col("arrived_last").is_not_null()).select(
        pl.col("receiver").alias("at"), pl.col("arrived_last").alias("time"), number, kind=RECEIVED
    )
    # A message that arrives at the very time of a send did not cause it.
    events = pl.concat([sent, received]).sort("at", "time", "kind", "number")
    before = events.with_columns(
        pl.col("kind").shift().over("at").alias("kind_before"),
        number.shift().over("at").alias("received"),
    )
    ends = before.filter((pl.col("kind") == SENT) & (pl.col("kind_before") == RECEIVED))
    return pl.concat([
        ends.select("number", "kind", "received"),
        ends.select(number=pl.col("received"), kind=RECEIVED, received=pl.col("received")),
    ])  # fmt: skip


def _name(what: str, where: str, name: str, place: int) -> str:
    """Returns the events with the name of a process or thread, and its place among the others."""
    begin = f'{{"ph":"M",{where},"name":"{what}_'
    return (
        f'{begin}name","args":{{"name":{_json(name)}}}}},\n'
        f'{begin}sort_index","args":{{"sort_index":{place}}}}}'
    )


def _microseconds(nanoseconds: int) -> str:
    return f"{nanoseconds // 1000}.{nanoseconds % 1000:03d}"


@lru_cache(1 << 12)
def _json(value: Any) -> str:
    return json.dumps(value)
