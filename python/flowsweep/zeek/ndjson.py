"""Reads logs of one JSON object a line, with types from a given schema, or from their values.

Zeek writes them with `LogAscii::use_json`; a field that is unset is not in the object.
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

if TYPE_CHECKING:
    from flowsweep.zeek.tsv import Faults

#: Zeek's names of the time of a record; only a schema tells other times from numbers.
TIMES = ("ts", "_write_ts")
#: From here on a time is one of milliseconds (`JSON::TS_MILLIS`): 1973, or in seconds 5138.
MILLISECONDS = 1e11
#: What may stand for half of a character, which no table can hold.
HALF = re.compile(rb"\\u[dD]")


def frames(
    parts: Iterator[bytes], faults: Faults, schema: Mapping[str, str] | None = None
) -> Iterator[pl.DataFrame]:
    """The rows of a log, in frames of some megabytes.

    Columns may come and go from one frame to the next, and be of another type.

    Args:
        parts: Blocks of whole lines.
        faults: Where damage is counted.
        schema: Zeek's names of the types of columns, as in the header of the same log in TSV.
    """
    raw: pl.DataFrame | None = None
    number = 1
    for part in parts:
        first, number = number, number + count(part, b"\n")
        like = _read_like(raw, part)
        numbers: Sequence[int] | None = None
        if like is None:
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
    """The lines as a frame with the columns of the one before; None if they have others.

    Inferring types from all values takes longer than reading them. Counting shows whether all were
    taken: each name that stands in the lines has a value.
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


def _objects(lines: bytes, faults: Faults, first: int) -> tuple[pl.DataFrame, Sequence[int] | None]:
    """The lines that are objects; their numbers where some are none."""
    try:
        return pl.read_ndjson(io.BytesIO(lines), infer_schema_length=None), None
    except pl.exceptions.PolarsError:
        return _one_by_one(lines, faults, first)


def _one_by_one(lines: bytes, faults: Faults, first: int) -> tuple[pl.DataFrame, Sequence[int]]:
    """The lines that are objects, and their numbers; the other lines are noted."""
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
    """Reads the object of a line; None where there is none."""
    if not line.startswith(b"{") or not line.endswith(b"}"):
        return None  # an exception for each line of a log of something else takes long
    try:
        row: dict[str, object] = json.loads(
            line.decode()
        )  # of bytes it lets halves of characters pass
        if HALF.search(line):
            json.dumps(row, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return row


def _number_filled(lines: bytes, first: int) -> Sequence[int]:
    """The numbers of the lines that are not empty."""
    return [at for at, line in enumerate(lines.split(b"\n"), first) if line.strip()]


def _series(values: list[object]) -> pl.Series:
    try:
        return pl.Series(values)
    except (pl.exceptions.PolarsError, TypeError, OverflowError):
        # Values of several types: each as it stands in the log.
        return pl.Series([None if value is None else json.dumps(value) for value in values],
                         dtype=pl.String)  # fmt: skip


def _kind(name: str, schema: Mapping[str, str]) -> str | None:
    return schema.get(name, "time" if name in TIMES else None)


def _convert_typed(frame: pl.DataFrame, schema: Mapping[str, str]) -> list[pl.Series]:
    """The columns whose type is known, as `kinds.dtype` has them."""
    known = ((series, _kind(series.name, schema)) for series in frame)
    return [_as(series, kind) for series, kind in known if kind is not None]


def _as(series: pl.Series, kind: str) -> pl.Series:
    """A column as `kinds.dtype` has it; times are numbers, or texts by ISO 8601."""
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
