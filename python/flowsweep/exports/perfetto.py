"""Messages of a run as a trace that the Perfetto UI opens.

It is Chrome's JSON trace format: a process for each host, threads for what it sends to each other
host and what comes from there, a slice for each message at both, and an arrow between the two.
A second kind of arrow leads from the message that a host received last to the one that it sent
next: it may have waited for it. One more process has the critical path, where there is one.
Times are microseconds from the first message on, with three decimals: Perfetto reads numbers as
doubles, which keep nanoseconds of a run, and not those since 1970.
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

#: Slices that are in memory as text at once.
CHUNK = 1 << 14
#: Threads that go before the others of their host.
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
        messages: In the order of their times.
        run: Its name.
        hosts: Those that have tables, also without messages, in their order.
        path: What is there is replaced.
        progress: Given how far it is, now and then.
        critical_path: Of the run; what is before the first message is left out.
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
        # Of a message that arrives at the very time it was sent, the sending slice comes first.
        self._slices = self._slices.sort("start", "kind", "number")
        self.zero: int | None = self._slices["start"].min()  # type: ignore[assignment]
        #: By host, order among its threads, and peer: the slice that each lane of it holds.
        self._lanes: dict[tuple[str, int, str], list[tuple[int, int]]] = {}
        #: Numbers of threads by the same and the lane.
        self._threads: dict[tuple[str, int, str, int], int] = {}

    def chunks(self) -> Iterator[list[str]]:
        """Lists of events as JSON: slices and arrows by time, then the names of threads."""
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
        """A slice, and the ends of its arrows."""
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
            # Behind its slice: it binds to the one that began last in its thread.
            phase = '"s"' if kind == SENT else '"f","bp":"e"'
            own = f'"id":{row["number"] + 1},"name":"message","cat":"message"'
            yield f'{{"ph":{phase},{where},{own}}}'
        if row["received"] is not None:
            phase = '"s"' if kind == RECEIVED else '"f","bp":"e"'
            number = self._messages.height + row["received"] + 1
            own = f'"id":{number},"name":"dependency","cat":"dependency"'
            yield f'{{"ph":{phase},{where},{own}}}'

    def _path(self) -> Iterator[str]:
        """The thread of the critical path, and a slice for each piece after the first message."""
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
        """Numbers of the process and the thread of the critical path."""
        return len(self._hosts) + 1, len(self._hosts) + 2

    def _thread(self, row: dict[str, Any], track: str) -> int:
        """The thread of a slice: slices of one thread may not overlap, so others are beside it."""
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
        # Numbers of threads are one series for all processes, and none is a process's.
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
    """Start, end, host and kind of each slice by the number of its message."""
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
    """The slices between which a dependency leads: number, kind, and the message `received`.

    A host is taken for one thread, as in `goal`: what it received last, since it last sent
    something, may be what it waited for before it sends again.
    """
    import polars as pl

    number = pl.col("number")
    sent = messages.filter(
        pl.col("sent_first").is_not_null() & (pl.col("host") == pl.col("sender"))
    ).select(pl.col("sender").alias("at"), pl.col("sent_first").alias("time"), number, kind=SENT)
    received = messages.filter(pl.col("arrived_last").is_not_null()).select(
        pl.col("receiver").alias("at"), pl.col("arrived_last").alias("time"), number, kind=RECEIVED
    )
    # What arrives at the moment in which something is sent is not its cause.
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
    """A process's or thread's name, and its place among the others."""
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
