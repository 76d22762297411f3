"""Figure `phase_times`: the application's phases, per point of the sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep.render import numbers, points, theme
from flowsweep.render.figure import Context, Figure, sentence, values

if TYPE_CHECKING:
    from flowsweep.render.theme import Series

#: None of an application's first colours; the last is for what is left.
COLOURS = tuple(f"var(--app-{number})" for number in (10, 6, 7, 8, 5, 9))
OTHERS = "others"
ROW = 24
WORDS = 120
PADDING = {"left": 4, "top": 8, "right": 44, "bottom": 4}
AXES = [*dict.fromkeys(key for pair in points.AXES for key in pair[:2]), "queue_bytes"]


def times(context: Context) -> Figure | None:
    """Seconds in each phase, mean over the ranks, as stacked bars."""
    import altair as alt

    rows = context.rows("phase_times")
    if rows.is_empty():
        return None
    shown = context.series_in(rows)
    frames = [_means(context.of(rows, one)) for one in shown]
    names = [points.labels(frame) for frame, _ in frames]
    left = max(map(points.width, names))
    panels = [
        _panel(frame, phases, one, left, alone=len(shown) == 1)
        for (frame, phases), one in zip(frames, shown, strict=True)
    ]
    chart: Any = panels[0] if len(panels) == 1 else alt.concat(*panels, columns=1, align="each")
    runs, ranks = rows["run"].n_unique(), sorted(set(rows.group_by("run").agg(
        pl.col("rank").n_unique())["rank"]))  # fmt: skip
    count = f"{ranks[0]}" if len(ranks) == 1 else f"{ranks[0]} to {ranks[-1]}"
    return Figure(
        name="phase_times",
        heading="How the application spends its time, per point of the sweep",
        caption=sentence(
            f"Seconds of a rank in each phase, mean over the {count} ranks of a run, median over "
            f"the runs of a point ({numbers.plural(runs, 'run')}), from the application's record.",
            "A bar ends before the completion time where ranks waited outside of phases, or had "
            "nothing to do. Scales differ between applications.",
            points.left_out([frame for frame, _ in frames]),
        ),
        chart=chart.properties(padding=PADDING, resolve=alt.Resolve(
            scale=alt.LegendResolveMap(color="independent")))
        if len(panels) > 1
        else chart.properties(padding=PADDING),
        rows=rows,
    )  # fmt: skip


def _means(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """One row per point with a column for each phase; the phases in order of their begin."""
    ranks = rows.group_by("run").agg(pl.col("rank").n_unique().alias("counted"))
    by_run = (
        rows.group_by(*AXES, "is_baseline", "run", "phase", maintain_order=True)
        .agg(pl.col("phase_s").sum(), pl.col("first_start_s").min(), pl.col("completion_s").first())
        .join(ranks, on="run")
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
    by_run = by_run.group_by(*AXES, "is_baseline", "run", "kind", maintain_order=True).agg(
        pl.col("mean_s").sum(), pl.col("completion_s").first()
    )
    frame = by_run.group_by(*AXES, "is_baseline", maintain_order=True).agg(
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


def _panel(rows: pl.DataFrame, phases: list[str], one: Series, left: int, *, alone: bool) -> Any:
    import altair as alt

    names = dict(zip(map(tuple, rows.rows()), points.labels(rows), strict=True))
    drawn = points.drawn(rows)
    parts: list[dict[str, Any]] = []
    words: list[dict[str, Any]] = []
    for key, row in zip(drawn.rows(), drawn.iter_rows(named=True), strict=True):
        begin = 0.0
        for phase in phases:
            end = begin + row[_key(phase)]
            if end > begin:
                parts.append({"point": names[key], "from": begin, "to": end, "what": phase})
            begin = end
        total = numbers.estimate(row["completion_s"])
        words.append({"point": names[key], "end": begin, "text": f"of {total} s"})
    order = [names[key] for key in drawn.rows()]
    top = max([word["end"] for word in words] + [1e-6])
    x = alt.X(
        "from:Q",
        title="seconds, mean over the ranks",
        scale=alt.Scale(domain=[0, top], nice=False),
        axis=alt.Axis(tickCount=6, format=",~f", grid=True),
    )
    y = alt.Y(
        "point:N",
        title=None,
        sort=order,
        scale=alt.Scale(domain=order),
        axis=alt.Axis(grid=False, labelLimit=left, minExtent=left),
    )
    colour = alt.Color(
        "what:N",
        title=None,
        scale=alt.Scale(domain=phases, range=list(COLOURS[: len(phases)])),
        legend=alt.Legend(
            symbolType="square", symbolSize=120, symbolStrokeWidth=0, columnPadding=26
        ),
    )
    bars = alt.Chart(values(parts)).mark_bar(height=18, stroke=theme.PAGE, strokeWidth=1)
    text = alt.Chart(values(words)).mark_text(align="left", dx=8, fontSize=11, color=theme.MUTED)
    panel = alt.layer(
        bars.encode(x=x, x2="to:Q", y=y, color=colour),
        text.encode(x=alt.X("end:Q"), y=y, text="text:N"),
    ).properties(width=theme.FULL_WIDTH - left - WORDS, height=ROW * len(order))
    if not alone:
        panel = panel.properties(title=alt.TitleParams(one.label, color=one.text_colour))
    return panel
