"""Converts Zeek's logs to one Parquet file for each kind of log."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl

from flowsweep.errors import FlowsweepError
from flowsweep.files.owned import TABLE_MARK
from flowsweep.zeek import LOG_NAME, is_log, kinds, ndjson, tsv
from flowsweep.zeek.blocks import blocks
from flowsweep.zeek.header import MARK, Header, parse_lines, refuse_columns

#: What rotation adds to a name: from a time on.
ROTATED = re.compile(r"[._-](?:[0-9]{4}-?[0-9]{2}-?[0-9]{2}|[0-9]{2}[:_][0-9]{2}).*")
KIND = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
#: Rows of a row group.
ROWS = 1 << 17
FIRST = 64 << 10
#: Polars' messages on failed writes, and the system's error behind each.
UNWRITTEN = re.compile(r"parquet: File out of specification")
OS_ERROR = re.compile(r"\(os error ([0-9]+)\)")


@dataclass
class Log:
    """One log file.

    Attributes:
        kind: Zeek's name of the log, such as `conn`.
        schema: Types of its columns by Zeek's names; of JSON, what was given.
    """

    path: Path
    kind: str
    is_json: bool
    schema: dict[str, str] = field(default_factory=dict)


@dataclass
class Converted:
    """One table, and what was wrong with the logs behind it.

    Attributes:
        widened: For each column that was of several types: which, in which logs, and kept as what.
    """

    kind: str
    rows: int
    logs: int
    faults: list[tuple[Path, tsv.Faults]]
    damage: list[FlowsweepError]
    widened: dict[str, str]


def find(paths: Sequence[Path]) -> list[Path]:
    """The logs among `paths`, and in the folders that are among them; sorted, each once."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = (one for one in path.rglob("*") if is_log(one))
            found.update(dict.fromkeys(sorted(one for one in inside if one.is_file())))
        else:
            found[path] = None
    return list(found)


def look(path: Path) -> Log | None:
    """What log a file is; None if it is none, or empty.

    Raises:
        FlowsweepError: It cannot be read, or its header describes no log.
    """
    first = next(blocks(path, FIRST), b"")
    if first.startswith(MARK):
        header = _header(blocks(path, FIRST))
        if not header.fields and header.has_separator:
            return None
        header = header.check(str(path))
        return Log(path, _kind(path, header.path), is_json=False, schema=header.columns)
    line = first.partition(b"\n")[0].strip()
    try:
        row = json.loads(line) if line.startswith(b"{") else None
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        return None
    kind_name = row.get("_path")
    return Log(path, _kind(path, kind_name if isinstance(kind_name, str) else ""), is_json=True)


def _header(parts: Iterator[bytes]) -> Header:
    """What the lines say with which a log begins; they may be longer than a part."""
    header = Header()
    try:
        for part in parts:
            for is_header, lines in tsv.pieces(part):
                if not is_header:
                    return header
                header = parse_lines(lines, header)
    except FlowsweepError as error:
        if error.exit_code != 1:
            raise  # else it was cut here, which is reported when its rows are read
    return header


def _kind(path: Path, kind_name: str) -> str:
    """The kind of a log: as it says itself, else as its file is called."""
    if KIND.fullmatch(kind_name):
        return kind_name
    match = LOG_NAME.fullmatch(path.name)
    stem = unrotated(match["stem"]) if match else path.name
    last = stem.rsplit(".", 1)[-1]
    return last if KIND.fullmatch(last) else "log"


def unrotated(stem: str) -> str:
    """A log's name before `.log` without what rotation added."""
    return ROTATED.sub("", stem)


def convert(
    logs: Sequence[Log],
    target: Path,
    given: Mapping[str, str] | None = None,
    say: Callable[[int], None] | None = None,
) -> Converted:
    """Writes the logs of one kind to one file, in the order given.

    Columns are those of all logs; where one has no such column, it is null. A column that is of
    several types gets the type that holds all of them, and `Converted.widened` lists where.

    Args:
        logs: Of one kind.
        target: A file that is not there.
        given: Zeek's types of columns of JSON logs.
        say: Told now and then how many rows were written.

    Raises:
        OSError: The folder or the disk refuses.
    """
    columns = _Columns()
    for log in logs:
        columns.unite({name: kinds.dtype(kind) for name, kind in log.schema.items()}, log.path)
    while True:
        done = Converted(logs[0].kind, 0, len(logs), [], [], columns.widened)
        source = _rows(logs, columns, given or {}, done, say)
        try:
            _write(source, columns.types, target, done.kind)
        except _OtherSchemaError:
            target.unlink(missing_ok=True)
            continue  # with the columns of both
        return done


class _OtherSchemaError(Exception):
    """Rows have columns that are not among those known so far."""


class _Columns:
    """The columns of all logs of a kind.

    Attributes:
        types: For each column the type that holds all its values.
        widened: For each column that was of several types: which, and in which logs.
    """

    def __init__(self) -> None:
        self.types: dict[str, pl.DataType] = {}
        self.widened: dict[str, str] = {}
        self._seen: dict[str, tuple[object, Path]] = {}

    def unite(self, more: Mapping[str, object], path: Path) -> bool:
        """Adds the columns of a log; whether any is new or became another than it was."""
        is_new = False
        refuse_columns(str(path), len(self.types.keys() | more.keys()))
        for name, dtype in more.items():
            known = self.types.get(name)
            wanted = dtype if known is None else _common(known, dtype)
            if wanted == known:
                continue
            self.types[name] = wanted  # type: ignore[assignment]
            is_new = True
            if known in (None, pl.Null):
                self._seen[name] = (dtype, path)
            else:
                first, place = self._seen[name]
                self.widened[name] = f"{first} in {place}, {dtype} in {path}, kept as {wanted}"
        return is_new


def _common(one: object, other: object) -> object:
    """The type that holds both."""
    if other in (one, pl.Null):
        return one
    if one == pl.Null:
        return other
    numbers = (pl.Int64, pl.UInt64, pl.Float64, pl.UInt16)
    if one in numbers and other in numbers:
        return pl.Float64
    return pl.String


def _rows(
    logs: Sequence[Log],
    columns: _Columns,
    given: Mapping[str, str],
    done: Converted,
    say: Callable[[int], None] | None,
) -> Iterator[pl.DataFrame]:
    is_new = has_given = False
    for log in logs:
        faults = tsv.Faults()
        try:
            for frame in frames(log, given, faults):
                is_new |= columns.unite(frame.schema, log.path)
                if is_new and not has_given:
                    raise _OtherSchemaError
                if is_new:
                    continue  # all further columns are found before the rows are read again
                yield _align(frame, columns.types)
                has_given = True
                done.rows += frame.height
                if say is not None:
                    say(done.rows)
        except FlowsweepError as error:
            if error.exit_code != 1:
                raise
            done.damage.append(error)
        if faults:
            done.faults.append((log.path, faults))
    if is_new:
        raise _OtherSchemaError


def frames(log: Log, given: Mapping[str, str], faults: tsv.Faults) -> Iterator[pl.DataFrame]:
    """The rows of a log in parts; `given` are Zeek's types of columns of JSON."""
    parts = blocks(log.path)
    if log.is_json:
        yield from ndjson.frames(parts, faults, given)
    else:
        yield from (frame for _, frame in tsv.frames(parts, str(log.path), faults))


def _align(frame: pl.DataFrame, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """All columns, in the order of the schema."""
    return frame.select(
        _as(frame[name], dtype) if name in frame.columns else pl.lit(None, dtype).alias(name)
        for name, dtype in schema.items()
    )


def _as(series: pl.Series, dtype: pl.DataType) -> pl.Series:
    if series.dtype == dtype:
        return series
    if dtype == pl.String and (series.dtype.is_nested() or series.dtype == pl.Duration):
        rows = series.to_list()
        texts = [None if row is None else json.dumps(row, default=_to_json) for row in rows]
        return pl.Series(series.name, texts, pl.String)
    return series.cast(dtype)


def _to_json(value: datetime | timedelta) -> str | float:
    """A time or an interval, which in Zeek's logs is a number of seconds, for JSON."""
    return value.total_seconds() if isinstance(value, timedelta) else str(value)


def write_marked(frame: pl.DataFrame, target: Path, table: str) -> None:
    """Writes a frame as one of flowsweep's tables.

    Raises:
        OSError: The folder or the disk refuses.
    """
    with _system_errors():
        frame.write_parquet(target, compression="zstd", compression_level=1, metadata=_mark(table))


@contextmanager
def _system_errors() -> Iterator[None]:
    """Turns Polars' errors on refused writes into the system's."""
    try:
        yield
    except pl.exceptions.ComputeError as error:
        if not UNWRITTEN.match(str(error)):
            raise
        number = OS_ERROR.search(str(error))
        if number is None:  # Polars gives no reason for the last bytes of a file
            raise OSError(errno.ENOSPC, "its end could not be written") from error
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from error


def _mark(table: str) -> dict[str, str]:
    return {TABLE_MARK.decode(): table}


def _write(
    source: Iterator[pl.DataFrame], schema: dict[str, pl.DataType], target: Path, kind: str
) -> None:
    from polars.io.plugins import register_io_source

    failures: list[Exception] = []
    first = next(source, None)  # in JSON it gives the columns
    if first is None:
        write_marked(pl.DataFrame(schema=schema), target, f"zeek_{kind}")
        return

    def frames(*_: object) -> Iterator[pl.DataFrame]:
        yield first
        try:
            yield from source
        except Exception as error:
            failures.append(error)
            raise

    plan = register_io_source(frames, schema=pl.Schema(schema))
    try:
        with _system_errors():
            plan.sink_parquet(
                target,
                compression="zstd",
                compression_level=1,
                row_group_size=ROWS,
                metadata=_mark(f"zeek_{kind}"),
            )
    except (pl.exceptions.PolarsError, OSError):
        if failures:
            raise failures[0] from None
        raise
