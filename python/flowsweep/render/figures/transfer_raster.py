"""Figure `transfer_raster`: transfers under way to each rank over time, a row for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.render import axes, charts, cuts, theme
from flowsweep.render.figure import Context, Figure, sentence, values
from flowsweep.render.figures.transfer_activity import (
    FEWEST,
    hardest_run,
    note_omitted,
    what_differs,
)
from flowsweep.render.figures.wan_throughput import shown_runs
from flowsweep.render.panels import about

if TYPE_CHECKING:
    from flowsweep.render.theme import Series

NAME = "transfer_raster"
TOO_LITTLE = f"no run records {FEWEST} transfers to ranks"
MOST_ROWS = 96
#: Up to this many rows have names and this height; with more ranks they are lower, unnamed.
NAMED_ROWS, ROW, LOW_ROW = 24, 13, 5


def draw(context: Context) -> Figure | None:
    """Draws who receives when, at the baseline and the hardest point: a row for each rank."""
    rows = rows_with_transfers(context)
    if rows.is_empty():
        return None
    shown = context.series_in(rows)
    first = shown_runs(context, rows)
    lines: list[Any] = []
    drawn = total = 0
    mains: list[str] = []
    beside: list[str] = []
    for one in shown:
        own = context.select_series(rows, one)
        main = first[one.app, one.problem]
        runs = list(dict.fromkeys([main, hardest_run(own)]))
        mains.append(main)
        beside += runs[1:]
        chosen = own.filter(pl.col("run").is_in(runs))
        apart = what_differs(chosen)
        kept = chosen.select("site", "rank").unique().sort("site", "rank")
        total += kept.height
        kept = kept[cuts.choose_evenly(kept.height, max(MOST_ROWS // len(shown), 1))]
        drawn += kept.height
        drawable = chosen.join(kept, on=["site", "rank"], how="semi")
        lines.append(
            charts.hconcat(
                *(
                    _raster(
                        drawable.filter(pl.col("run") == run),
                        one,
                        kept,
                        apart,
                        named=len(shown) > 1,
                    )
                    for run in runs
                )
            )
        )
    return Figure(
        name=NAME,
        caption=sentence(
            context.drawn_runs(mains),
            f"Beside it the run at the lowest rate, of these with the longest RTT: "
            f"{', '.join(beside)}."
            if beside
            else None,
            "A row is a rank, dark where a transfer to it is under way; pale: for a part of a "
            "hundredth of the run. Spans from the application's record.",
            cuts.describe(drawn, total, "ranks are drawn", NAME),
            note_omitted(context, rows, NAME),
        ),
        chart=charts.vconcat(*lines, spacing=16),
        rows=context.rows(NAME),
    )


def rows_with_transfers(context: Context) -> pl.DataFrame:
    """Selects the rows of runs whose applications report enough transfers to ranks."""
    rows = context.rows(NAME)
    each = rows.group_by("run", "rank").agg(pl.col("transfers").first())
    runs = each.group_by("run").agg(pl.col("transfers").sum())
    kept = runs.filter(pl.col("transfers") >= FEWEST)["run"]
    return rows.filter(pl.col("run").is_in(kept.to_list()))


def _raster(
    rows: pl.DataFrame,
    one: Series,
    ranks: pl.DataFrame,
    apart: list[tuple[str, str]],
    *,
    named: bool,
) -> Any:
    names = [f"{site} {rank}" for site, rank in ranks.iter_rows()]
    end = float(rows["end_s"].max())  # type: ignore[arg-type]
    unit, options = axes.since_start(end)
    cells = rows.filter(pl.col("mean_active") > 0).select(
        "start_s",
        "end_s",
        pl.format("{} {}", "site", "rank").alias("row"),
        pl.col("mean_active").clip(upper_bound=1).alias("busy"),
    )
    first = rows.row(0, named=True)
    where = [f"{numbers.estimate(first[key])} {unit}" for key, unit in apart]
    title = " · ".join([*([one.app] if named else []), *(where or [first["run"]])])
    height = ROW if len(names) <= NAMED_ROWS else LOW_ROW
    return (
        charts.Chart(values(cells.to_dicts()))
        .mark("rect", color=one.colour, clip=True)
        .encode(
            x=charts.field(
                "start_s:Q",
                title=f"time since its start ({unit})",
                scale=axes.scale(domain=[0, end], nice=False),
                axis=axes.axis(**options),
            ),
            x2="end_s:Q",
            y=charts.field(
                "row:N",
                title="site and rank",
                sort=names,
                scale=axes.scale(domain=names),
                axis=axes.axis(labels=len(names) <= NAMED_ROWS, ticks=False),
            ),
            opacity=charts.field(
                "busy:Q", legend=None, scale=axes.scale(domain=[0, 1], range=[0.1, 1])
            ),
        )
        .properties(
            width=theme.HALF_WIDTH - 40,
            height=height * len(names),
            title=charts.title(
                title,
                fontSize=12,
                fontWeight=600,
                color=one.text_colour,
                frame="group",
                limit=theme.HALF_WIDTH - 20,
            ),
            description=about(y="rank", application=one.label, place=" · ".join(where)),
        )
    )
