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

_DAY = "(?:19|20)[0-9]{2}-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12][0-9]|3[01])"
_CLOCK = "(?:[01][0-9]|2[0-4])[:_][0-5][0-9]"
#: The part that rotation adds to a name: a time and all after it. It comes after the kind of the
#: log, so a number with a kind behind it is the host's: `vm-20261124.conn.log`.
ROTATED = re.compile(rf"[._-](?:{_DAY}|{_CLOCK})(?:[^.]|\.(?![A-Za-z]))*$")
KIND = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
#: Rows of a row group.
ROWS = 1 << 17
FIRST = 64 << 10
#: Polars' message for a failed write, and the number of the system's error in it.
UNWRITTEN = re.compile(r"parquet: File out of specification")
OS_ERROR = re.compile(r"\(os error ([0-9]+)\)")


@dataclass
class Log:
    """One log file.

    Attributes:
        kind: Zeek's name of the log, such as `conn`.
        schema: Zeek's names of its columns and their types; empty for JSON.
    """

    path: Path
    kind: str
    is_json: bool
    schema: dict[str, str] = field(default_factory=dict)


@dataclass
class Converted:
    """One table, and the faults of the logs that it was made from.

    Attributes:
        widened: For each column with several types: the types, their logs, and the common type.
    """

    kind: str
    rows: int
    logs: int
    faults: list[tuple[Path, tsv.Faults]]
    damage: list[FlowsweepError]
    widened: dict[str, str]


def find(paths: Sequence[Path]) -> list[Path]:
    """Returns the files of `paths`, and the sorted logs in its folders; each file once."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = (one for one in path.rglob("*") if is_log(one))
            found.update(dict.fromkeys(sorted(one for one in inside if one.is_file())))
        else:
            found[path] = None
    return list(found)


def look(path: Path) -> Log | None:
    """Returns kind and format of a log file; None if the file is no log, or empty.

    Raises:
        FlowsweepError: The file cannot be read, or its header describes no log.
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
    """Parses the header lines at the start of a log; they may be longer than one part."""
    header = Header()
    try:
        for part in parts:
            for is_header, lines in tsv.pieces(part):
                if not is_header:
                    return header
                header = parse_lines(lines, header)
    except FlowsweepError as error:
        if error.exit_code != 1:
            raise  # exit code 1: a truncated file, which is reported when its rows are read
    return header


def _kind(path: Path, kind_name: str) -> str:
    """Returns the kind of a log: from its own `path`, or else from the file's name."""
    if KIND.fullmatch(kind_name):
        return kind_name
    match = LOG_NAME.fullmatch(path.name)
    stem = unrotated(match["stem"]) if match else path.name
    last = stem.rsplit(".", 1)[-1]
    return last if KIND.fullmatch(last) else "log"


def unrotated(stem: str) -> str:
    """Returns a log's name before `.log`, without the part that rotation added."""
    return ROTATED.sub("", stem)


def convert(
    logs: Sequence[Log],
    target: Path,
    given: Mapping[str, str] | None = None,
    say: Callable[[int], None] | None = None,
) -> Converted:
    """Writes the logs of one kind to one file, in the given order.

    The table has the columns of all logs; values that a log lacks are null. A column with
    several types gets a common type, and `Converted.widened` lists these columns.

    Args:
        logs: Logs of one kind.
        target: A file that does not exist yet.
        given: Zeek's types of columns of JSON logs.
        say: Called now and then with the number of rows written.

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
            continue  # again, with the united columns
        return done


class _OtherSchemaError(Exception):
    """Rows have columns or types that the known columns do not include."""


class _Columns:
    """The columns of all logs of a kind.

    Attributes:
        types: For each column the common type of all its values.
        widened: For each column with several types: the types, their logs, and the common type.
    """

    def __init__(self) -> None:
        self.types: dict[str, pl.DataType] = {}
        self.widened: dict[str, str] = {}
        self._seen: dict[str, tuple[object, Path]] = {}

    def unite(self, more: Mapping[str, object], path: Path) -> bool:
        """Adds the columns of a log; returns whether a column is new or changed its type."""
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
    """Returns the type that can represent values of both types."""
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
                    continue  # find all further columns before the rows are read again
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
    """Yields the rows of a log in parts; `given` has Zeek's types of JSON columns."""
    parts = blocks(log.path)
    if log.is_json:
        yield from ndjson.frames(parts, str(log.path), faults, given)
    else:
        yield from (frame for _, frame in tsv.frames(parts, str(log.path), faults))


def _align(frame: pl.DataFrame, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Returns all columns of the schema, in its order; missing ones are null."""
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
    """Converts a value for JSON: an interval to seconds, as in Zeek's logs, a time to text."""
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
    """Turns Polars' errors of failed writes into `OSError`."""
    try:
        yield
    except pl.exceptions.ComputeError as error:
        if not UNWRITTEN.match(str(error)):
            raise
        number = OS_ERROR.search(str(error))
        if number is None:  # Polars gives no reason if it cannot write the end of a file
            raise OSError(errno.ENOSPC, "its end could not be written") from error
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from error


def _mark(table: str) -> dict[str, str]:
    return {TABLE_MARK.decode(): table}


def _write(
    source: Iterator[pl.DataFrame], schema: dict[str, pl.DataType], target: Path, kind: str
) -> None:
    from polars.io.plugins import register_io_source

    failures: list[Exception] = []
    first = next(source, None)  # for JSON, the first frame determines the columns
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
