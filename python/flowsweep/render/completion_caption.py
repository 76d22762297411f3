"""The caption of the figures `completion_by_<axis>`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from flowsweep import numbers
from flowsweep.analysis.slowdown import MIN_RUNS
from flowsweep.outcome_names import COMPLETION
from flowsweep.render import cuts
from flowsweep.render.figure import Context, sentence

if TYPE_CHECKING:
    from flowsweep.experiment.axis import Axis

#: Single runs of an application are drawn up to this number.
MAX_SINGLE_RUNS = 400
MAX_REASONS = 2


def caption(context: Context, axis: Axis, rows: pl.DataFrame) -> str:
    """Describes the points, what is left out, and the baseline."""
    is_drawn = pl.col("slowdown").is_not_null() & (pl.col(axis.columns[0].shown) > 0)
    has_interval = pl.col("slowdown_low").is_not_null() & ~pl.col("is_baseline")
    return sentence(
        _describe_points(context, axis, rows),
        _describe_left_out(rows),
        _describe_baselines(context, rows),
        f"Fewer than {MIN_RUNS} runs a point, or at the baseline: no intervals."
        if rows.filter(has_interval).is_empty()
        else "Vertical rules on points: 95 % interval.",
        cuts.describe(
            rows.filter(is_drawn).height,
            rows.height,
            f"points are drawn, those without a valid run or without a "
            f"{axis.columns[0].head} are not",
            f"completion_by_{axis.name}",
        ),
        "Dashes: smaller socket buffers." if _are_buffers_varied(rows) else None,
    )


def _describe_left_out(rows: pl.DataFrame) -> str | None:
    """Says how many runs are left out, and why."""
    runs = int(rows["runs_left_out"].sum())
    if not runs:
        return None
    texts = rows["left_out_because"].drop_nulls()
    reasons = sorted({reason for joined in texts for reason in joined.split("; ")})
    if len(reasons) > MAX_REASONS:
        reasons = [*reasons[:MAX_REASONS], f"{len(reasons) - MAX_REASONS} more, see Runs"]
    return (
        f"Left out: {numbers.plural(runs, 'run')} ({'; '.join(reasons)}), "
        "drawn as a cross where it has a time."
    )


def _describe_baselines(context: Context, rows: pl.DataFrame) -> str:
    """States the time of each application at its baseline."""
    baselines = context.model("baselines")
    times = "; ".join(
        f"{application.label}: {numbers.estimate(row['completion_s'])} s at "
        f"{numbers.estimate(row['rtt_ms'])} ms and {numbers.estimate(row['rate_mbit_s'])} Mbit/s"
        for application in context.series_in(rows)
        for row in context.select_series(baselines, application).iter_rows(named=True)
    )
    return f"Baseline: {times}."


def _are_buffers_varied(rows: pl.DataFrame) -> bool:
    sizes = rows.group_by("app", "problem").agg(pl.col("buffer_bytes").n_unique())
    return sizes["buffer_bytes"].max() != 1


def _most_single(context: Context, axis: Axis, rows: pl.DataFrame) -> int:
    """Returns the largest number of valid runs that an application has along the axis."""
    runs = context.model("sweep_runs").filter(
        (pl.col("axis") == axis.name) & (pl.col("outcome") == COMPLETION) & pl.col("is_used")
    )
    return max(context.select_series(runs, one).height for one in context.series_in(rows))


def _describe_points(context: Context, axis: Axis, rows: pl.DataFrame) -> str:
    """Says what a point is the median of."""
    valid = rows["runs_used"].filter(rows["runs_used"] > 0)
    if valid.is_empty():
        return "No run at these points counts."
    used = numbers.plural(int(valid.sum()), "run")
    least, most = valid.min(), valid.max()
    if most == 1:
        return f"Points: one valid run each ({used})."
    per_point = str(least) if least == most else f"{least!s} to {most!s}"
    are_drawn = _most_single(context, axis, rows) <= MAX_SINGLE_RUNS
    single = "" if are_drawn else f", where an application has up to {MAX_SINGLE_RUNS}"
    return (
        f"Points: medians of {per_point} valid runs each ({used}), small dots: single runs{single}."
    )
