"""Checks that a log has the columns that a flowsweep table needs, with the right types.

A header can declare any type for a column, and in JSON a value can have any type.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from flowsweep.errors import FlowsweepError
from flowsweep.files import inputs
from flowsweep.zeek import kinds

Type = pl.DataType | type[pl.DataType]


def select_typed(
    frame: pl.DataFrame,
    needed: Mapping[str, Type],
    place: str,
    optional: Mapping[str, Type] | None = None,
) -> pl.DataFrame:
    """Casts these columns to these types; missing optional columns are null.

    Args:
        frame: Rows of a log, as `convert` writes them.
        needed: Columns that the log must have.
        place: The name of the log in errors.
        optional: Columns that it may have.

    Raises:
        FlowsweepError: A column is missing, or contains a value of another type.
    """
    lacking = [name for name in needed if name not in frame.columns]
    if lacking:
        raise FlowsweepError(
            f"{place}: a log without columns that its table needs",
            found=f"no {', '.join(lacking)}",
            expected=f"the columns {', '.join(needed)}",
            remedy="let Zeek write them: they are among those of its own log",
        )
    optional = optional or {}
    made = [
        _as(frame[name], kind, place)
        for name, kind in {**needed, **optional}.items()
        if name in frame.columns
    ]
    absent = [pl.lit(None, kind).alias(n) for n, kind in optional.items() if n not in frame.columns]
    return frame.with_columns(*made, *absent)


def _as(series: pl.Series, kind: Type, place: str) -> pl.Series:
    if series.dtype == kind:
        return series
    try:
        if series.dtype.is_nested() and not isinstance(kind, pl.List):
            made = pl.Series(series.name, [None] * len(series), kind)
        elif kind in (kinds.TIME, pl.Duration("ns")):  # from JSON without a schema
            name = "time" if kind == kinds.TIME else "interval"
            seconds = series.cast(pl.Float64, strict=False).to_frame()
            made = seconds.select(kinds.convert(pl.col(series.name), name)).to_series()
        else:
            made = series.cast(kind, strict=False)
    except pl.exceptions.PolarsError:
        made = pl.Series(series.name, [None] * len(series), kind)
    lost = (made.is_null() & series.is_not_null()).arg_true()
    if not lost.len():
        return made
    value = series[lost[0]]
    raise FlowsweepError(
        f"{place}: column {series.name}: not a value that its table can hold",
        found=inputs.shorten_value(value.to_list() if isinstance(value, pl.Series) else value),
        expected=f"values of {kind}, as in Zeek's own log",
        remedy="correct the log, or let Zeek write it again",
    )
