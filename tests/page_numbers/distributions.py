"""Turns values into the steps of their distribution, by counting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

#: Steps per octave; the value 0 has a step of its own.
PER_OCTAVE = 64


def steps(
    values: pl.DataFrame,
    keys: Sequence[str],
    column: str,
    *,
    unit: float = 1,
    has_zero: bool = False,
) -> pl.DataFrame:
    """Returns the distribution at the largest value of each step.

    Args:
        values: `run`, the keys, and `column`: one row per value.
        keys: Columns that identify a distribution.
        column: Name of the value's column.
        unit: Factor for the values before they are put into steps.
        has_zero: Whether 0 has a step even where no value is 0.

    Returns:
        The keys, `column`, `share` of the values at or below it, `share_low` and `share_high` (the
        least and the greatest of one run), `runs`, `in_step` and `of_all` (counts), and `run`,
        where only one run has values.
    """
    step = ((pl.col(column) * unit).log(2) * PER_OCTAVE - 1e-9).ceil()
    step = pl.when(pl.col(column) > 0).then(step).otherwise(-1e5)
    found = []
    for key, group in values.with_columns(step=step).group_by(keys, maintain_order=True):
        everything = np.sort(group[column].to_numpy())
        runs = [np.sort(own[column].to_numpy()) for _, own in group.group_by("run")]
        tops = group.group_by("step").agg(pl.col(column).max(), in_step=pl.len()).sort("step")
        listed = tops.select(column, "in_step").rows()
        if has_zero and listed[0][0] > 0:
            listed.insert(0, (0.0, 0))
        for top, count in listed:
            own = [_below(run, top) for run in runs]
            found.append(
                dict(zip(keys, key, strict=True))
                | {
                    column: top,
                    "share": _below(everything, top),
                    "share_low": min(own),
                    "share_high": max(own),
                    "runs": len(runs),
                    "in_step": count,
                    "of_all": len(everything),
                    "run": group["run"][0] if len(runs) == 1 else None,
                }
            )
    return pl.DataFrame(found, infer_schema_length=None)


def quantile(values: pl.Series, share: float) -> float:
    """Returns the least value at or below which this share of all values lies."""
    ordered = np.sort(values.to_numpy())
    return float(ordered[int(np.ceil(len(ordered) * share - 1e-9)) - 1])


def _below(ordered: np.ndarray, value: float) -> float:
    # the same quotient may differ in its last bit
    return float(np.searchsorted(ordered, value * (1 + 1e-12), "right")) / len(ordered)
