"""Reads logs of one JSON object per line, with types from a given schema or from the values.

Zeek writes them with `LogAscii::use_json`; it leaves unset fields out of the object.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from flowsweep._parsers import count
from flowsweep.zeek import kinds
from flowsweep.zeek.header import MOST_COLUMNS, refuse_columns

if TYPE_CHECKING:
    from flowsweep.zeek.tsv import Faults

#: Zeek's names of a record's time; only a schema distinguishes other times from numbers.
TIMES = ("ts", "_write_ts")
#: A time from this value on is in milliseconds (`JSON::TS_MILLIS`): year 1973; in seconds 5138.
MILLISECONDS = 1e11
#: The escape of a possible surrogate, which no table can store.
HALF = re.compile(rb"\\u[dD]")
#: Roughly the names in a line.
NAME = re.compile(rb'"([^"]*)"\s*:')


def frames(
    parts: Iterator[bytes], place: str, faults: Faults, schema: Mapping[str, str] | None = None
) -> Iterator[pl.DataFrame]:
    """Yields the rows of a log, in frames of some megabytes.

    Columns and their types may differ from one frame to the next.

    Args:
        parts: Blocks of whole lines.
        place: The log, for error messages.
        faults: Counts the damage.
        schema: Zeek's names of the columns' types, as in the header of the same log in TSV.

    Raises:
        FlowsweepError: The lines of a block have too many names.
    """
    raw: pl.DataFrame | None = None
    number = 1
    for part in parts:
        first, number = number, number + count(part, b"\n")
        like = _read_like(raw, part)
        numbers: Sequence[int] | None = None
        if like is None:
            _check_names(part, place)
            raw, numbers = _objects(part, faults, first)
        else:
            raw = like
        if not raw.height:
            continue
        typed = raw.with_columns(_convert_typed(raw, schema or {}))
        if sum(typed.null_count().row(0)) > sum(raw.null_count().row(0)):
            numbers = numbers or _number_filled(part, first)
            for before, after in zip(raw, typed, strict=True):
                column = (after.name, _kind(after.name, schema or {}))
                faults.note_lost(before, after, column, numbers)
        yield typed


def _read_like(before: pl.DataFrame | None, lines: bytes) -> pl.DataFrame | None:
    """Reads the lines with the columns of the previous frame; returns None if they have others.

    Inferring types from all values takes longer than reading them. If the number of names in the
    lines equals the number of values in the frame, no value was lost.
    """
    if before is None:
        return None
    try:
        frame = pl.read_ndjson(io.BytesIO(lines), schema=before.schema)
    except pl.exceptions.PolarsError:
        return None
    names = count(lines, b'":')
    if count(lines, b"\\"):
        names -= lines.count(b'\\":')
    values = frame.height * frame.width - sum(series.null_count() for series in frame)
    return frame if names == values else None


def _check_names(lines: bytes, place: str) -> None:
    """Raises if the lines have too many names: a frame of them takes minutes or all memory."""
    # Names inside of values count here, and a text may look like a name.
    if len(set(NAME.findall(lines))) > MOST_COLUMNS:
        found = map(_read_object, map(bytes.strip, lines.split(b"\n")))
        refuse_columns(place, len({name for row in found if row for name in row}))


def _objects(lines: bytes, faults: Faults, first: int) -> tuple[pl.DataFrame, Sequence[int] | None]:
    """Reads the lines that are objects; also returns their numbers if some lines are none."""
    try:
        return pl.read_ndjson(io.BytesIO(lines), infer_schema_length=None), None
    except pl.exceptions.PolarsError:
        return _one_by_one(lines, faults, first)


def _one_by_one(lines: bytes, faults: Faults, first: int) -> tuple[pl.DataFrame, Sequence[int]]:
    """Reads the lines that are objects, with their numbers; notes the other lines as faults."""
    found, numbers = [], []
    for number, line in enumerate(lines.split(b"\n"), first):
        text = line.strip()
        if not text:
            continue
        row = _read_object(text)
        if row is not None:
            found.append(row)
            numbers.append(number)
        else:
            faults.line(number, f"no JSON object: {line[:60].decode(errors='replace')}")
    names = list(dict.fromkeys(name for row in found for name in row))
    columns = {name: _series([row.get(name) for row in found]) for name in names}
    return pl.DataFrame(columns), numbers


def _read_object(line: bytes) -> dict[str, object] | None:
    """Reads the object of a line; returns None if the line is no object."""
    if not line.startswith(b"{") or not line.endswith(b"}"):
        return None  # cheaper than an exception for each line of a file in another format
    try:
        row: dict[str, object] = json.loads(
            line.decode()
        )  # decoded first: from bytes it would accept encoded surrogates
        if HALF.search(line):
            json.dumps(row, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return row


def _number_filled(lines: bytes, first: int) -> Sequence[int]:
    """Returns the numbers of the lines that are not empty."""
    return [at for at, line in enumerate(lines.split(b"\n"), first) if line.strip()]


def _series(values: list[object]) -> pl.Series:
    try:
        return pl.Series(values)
    except (pl.exceptions.PolarsError, TypeError, OverflowError):
        # Values of several types: keep each as the JSON text of the log.
        return pl.Series([None if value is None else json.dumps(value) for value in values],
                         dtype=pl.String)  # fmt: skip


def _kind(name: str, schema: Mapping[str, str]) -> str | None:
    return schema.get(name, "time" if name in TIMES else None)


def _convert_typed(frame: pl.DataFrame, schema: Mapping[str, str]) -> list[pl.Series]:
    """Casts the columns whose type is known to the types of `kinds.dtype`."""
    known = ((series, _kind(series.name, schema)) for series in frame)
    return [_as(series, kind) for series, kind in known if kind is not None]


def _as(series: pl.Series, kind: str) -> pl.Series:
    """Casts a column to its `kinds.dtype`; times are numbers or ISO 8601 texts."""
    final = kinds.dtype(kind)
    if series.dtype.is_nested() and not isinstance(final, pl.List):
        return pl.Series(series.name, [None] * len(series), final)
    if kind in ("time", "interval"):
        numbers = series.cast(pl.Float64, strict=False).to_frame()
        if kind == "time":
            seconds = pl.col(series.name)
            is_millis = seconds.abs() >= MILLISECONDS
            numbers = numbers.select(pl.when(is_millis).then(seconds / 1000).otherwise(seconds))
        times = numbers.select(kinds.convert(pl.col(series.name), kind)).to_series()
        if kind == "time" and series.dtype == pl.String:
            iso = series.str.to_datetime(time_unit="ns", time_zone="UTC", strict=False)
            return times.zip_with(times.is_not_null(), iso)
        return times
    return series.cast(final, strict=False)
