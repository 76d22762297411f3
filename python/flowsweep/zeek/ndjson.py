"""Logs of one JSON object a line to frames: their values say the types, or a schema that is given.

Zeek writes them with `LogAscii::use_json`; a field that is unset is not in the object.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import polars as pl

from flowsweep.zeek import kinds

if TYPE_CHECKING:
    from flowsweep.zeek.tsv import Faults

#: Zeek's names of the time of a record; other times are told from numbers by a schema alone.
TIMES = ("ts", "_write_ts")


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
    for part in parts:
        like = _like(raw, part)
        raw = _objects(part, faults) if like is None else like
        if raw.height:
            yield _typed(raw, schema or {}, faults)


def _like(before: pl.DataFrame | None, lines: bytes) -> pl.DataFrame | None:
    """The lines as a frame with the columns of the one before; None if they have others.

    To look at all values for their types first takes longer than to read them. Whether all were
    taken is counted: each name that stands in the lines has a value.
    """
    if before is None:
        return None
    try:
        frame = pl.read_ndjson(io.BytesIO(lines), schema=before.schema)
    except pl.exceptions.PolarsError:
        return None
    names = lines.count(b'":') - lines.count(b'\\":')
    values = frame.height * frame.width - sum(series.null_count() for series in frame)
    return frame if names == values else None


def _objects(lines: bytes, faults: Faults) -> pl.DataFrame:
    try:
        return pl.read_ndjson(io.BytesIO(lines), infer_schema_length=None)
    except pl.exceptions.PolarsError:
        return _one_by_one(lines, faults)


def _one_by_one(lines: bytes, faults: Faults) -> pl.DataFrame:
    """The lines that are objects; of the others, how many there are is noted."""
    found = []
    for line in lines.splitlines():
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            found.append(row)
        else:
            faults.line(f"no JSON object in: {line[:60].decode(errors='replace')}")
    names = list(dict.fromkeys(name for row in found for name in row))
    return pl.DataFrame({name: _series([row.get(name) for row in found]) for name in names})


def _series(values: list[object]) -> pl.Series:
    try:
        return pl.Series(values)
    except (pl.exceptions.PolarsError, TypeError, OverflowError):
        # Values of several types: each as it stands in the log.
        return pl.Series([None if value is None else json.dumps(value) for value in values],
                         dtype=pl.String)  # fmt: skip


def _typed(frame: pl.DataFrame, schema: Mapping[str, str], faults: Faults) -> pl.DataFrame:
    changed = []
    for series in frame:
        kind = schema.get(series.name, "time" if series.name in TIMES else None)
        if kind is None:
            continue
        kept = _as(series, kind)
        if lost := kept.null_count() - series.null_count():
            faults.value(series.name, kind, lost)
        changed.append(kept)
    return frame.with_columns(changed)


def _as(series: pl.Series, kind: str) -> pl.Series:
    """A column as `kinds.dtype` has it; times are numbers, or texts by ISO 8601."""
    final = kinds.dtype(kind)
    if kind == "time" and series.dtype == pl.String:
        iso = series.str.to_datetime(time_unit="ns", time_zone="UTC", strict=False)
        return iso.rename(series.name)
    if kind in ("time", "interval"):
        numbers = series.cast(pl.Float64, strict=False).to_frame()
        return numbers.select(kinds.kept(pl.col(series.name), kind)).to_series()
    return series.cast(final, strict=False)
