"""Figure `phase_times`: the application's phases, per point of the sweep."""

from __future__ import annotations

from typing import Any

import polars as pl
from polars import selectors as cs

from flowsweep import numbers
from flowsweep.render import axes, charts, points, stacked
from flowsweep.render.figure import Context, Figure, sentence

#: Colours that the first applications do not use; the last is for the other phases.
COLOURS = tuple(f"var(--app-{number})" for number in (10, 6, 7, 8, 5, 9))
OTHERS = "others"
#: Pixels for the words after a bar.
WORDS = 120


def draw(context: Context) -> Figure | None:
    """Draws seconds in each phase, mean over the ranks, as stacked bars."""
    rows = context.rows("phase_times")
    if rows.is_empty():
        return None
    shown = context.series_in(rows)
    frames = [_means(context.select_series(rows, one)) for one in shown]
    counted = rows.group_by("run").agg(pl.col("rank").n_unique())
    runs, ranks = counted.height, sorted(set(counted["rank"]))
    count = f"{ranks[0]}" if len(ranks) == 1 else f"{ranks[0]} to {ranks[-1]}"
    return Figure(
        name="phase_times",
        caption=sentence(
            f"Seconds of a rank in each phase, mean over the {count} ranks of a run, median over "
            f"the runs of a point ({numbers.plural(runs, 'run')}), from the application's record.",
            _overlap(rows),
            "A bar ends before the completion time where ranks waited outside of phases, or had "
            "nothing to do.",
            "Scales differ between applications." if len(shown) > 1 else None,
            points.note_left_out([frame for frame, _ in frames], "phase_times"),
        ),
        chart=stacked.draw(
            [
                (one, frame, _list_parts(phases))
                for one, (frame, phases) in zip(shown, frames, strict=True)
            ],
            stacked.Bars(_make_axis, _label_bar, WORDS, numbers.seconds),
            are_named=len(shown) > 1,
        ),
        rows=rows,
    )


def _overlap(rows: pl.DataFrame) -> str | None:
    """Describes ranks whose phases overlap, so that time counts twice; None if there are none."""
    ranks = rows.unique(["run", "rank"])
    several = ranks.filter(pl.col("overlap_s") > 0).height
    if not several:
        return None
    return (
        f"In {several} of {numbers.plural(ranks.height, 'record')} of a rank, phases overlap: such "
        "time counts for each of them."
    )


def _means(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Returns a row per point with a column for each phase, and the phases by start time."""
    ranks = rows.group_by("run").agg(pl.col("rank").n_unique().alias("counted"))
    by_run = (
        rows.group_by(*points.COLUMNS, "is_baseline", "run", "phase", maintain_order=True)
        .agg(pl.col("phase_s").sum(), pl.col("first_start_s").min(), pl.col("completion_s").first())
        .join(ranks, on="run", maintain_order="left")
        .with_columns(mean_s=pl.col("phase_s") / pl.col("counted"))
    )
    weight = by_run.group_by("phase").agg(
        pl.col("mean_s").sum(), pl.col("first_start_s").median().alias("begin")
    )
    kept = weight.sort("mean_s", "phase", descending=[True, False]).head(len(COLOURS) - 1)
    phases = kept.sort("begin", "phase")["phase"].to_list()
    by_run = by_run.with_columns(
        kind=pl.when(pl.col("phase").is_in(phases)).then("phase").otherwise(pl.lit(OTHERS))
    )
    if weight.height > len(phases):
        phases.append(OTHERS)
    keys = [*points.COLUMNS, "is_baseline"]
    by_run = by_run.group_by(*keys, "run", "kind", maintain_order=True).agg(
        pl.col("mean_s").sum(), pl.col("completion_s").first()
    )
    frame = by_run.group_by(*keys, maintain_order=True).agg(
        pl.col("completion_s").median(),
        *(
            pl.col("mean_s")
            .filter(pl.col("kind") == phase)
            .median()
            .fill_null(0)
            .alias(_key(phase))
            for phase in phases
        ),
    )
    return frame, phases


def _key(phase: str) -> str:
    return f"phase {phase}"


def _list_parts(phases: list[str]) -> list[stacked.Part]:
    coloured = zip(phases, COLOURS, strict=False)
    return [(_key(phase), phase, colour) for phase, colour in coloured]


def _make_axis(drawn: pl.DataFrame) -> charts.Channel:
    longest = drawn.select(pl.sum_horizontal(cs.starts_with(_key(""))).max()).item()
    return charts.field(
        "from:Q",
        title="seconds, mean over the ranks",
        scale=axes.scale(domain=[0, max(longest, 1e-6)], nice=False),
        axis=axes.axis(tickCount=6, format=",~f", grid=True),
    )


def _label_bar(row: dict[str, Any]) -> str:
    return f"of {numbers.estimate(row['completion_s'])} s"
