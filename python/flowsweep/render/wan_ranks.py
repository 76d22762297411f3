"""Figures `peak_by_ranks` and `throughput_per_core`: traffic between sites against the ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep.experiment import axes
from flowsweep.render import cuts, doubts, numbers, points, theme
from flowsweep.render.figure import Context, Figure, sentence, values

if TYPE_CHECKING:
    from flowsweep.render.theme import Series

ROW = 24
PADDING = {"left": 4, "top": 8, "right": 44, "bottom": 4}
#: A point belongs to the line over the ranks if these are as at its baseline.
FIXED = [
    column.asked
    for axis in axes.in_points()
    if axis.applies_to in ("link", "sockets") and axis.name != "queue"
    for column in axis.columns
]


def peaks(context: Context) -> Figure | None:
    """Peak between the sites against the number of ranks."""
    import altair as alt

    rows = context.rows("peak_by_ranks")
    lines = []
    for one in context.series_in(rows):
        line = _over_ranks(context.of(rows, one))
        if line["ranks"].n_unique() > 1:
            lines.append((one, line))
    if not lines:
        return None
    alone = len(lines) == 1
    size = (theme.FULL_WIDTH, 230) if alone else (theme.HALF_WIDTH, 170)
    panels = [_rank_panel(line, one, size, alone=alone) for one, line in lines]
    shares = [
        f"{one.label}: {numbers.estimate(line['peak_mbit_s_per_rank'].min())} to "  # type: ignore[arg-type]
        f"{numbers.estimate(line['peak_mbit_s_per_rank'].max())} Mbit/s per rank"  # type: ignore[arg-type]
        for one, line in lines
    ]
    steps = numbers.plain(rows["step_ms"].max())  # type: ignore[arg-type]
    return Figure(
        name="peak_by_ranks",
        heading="How the traffic between the sites grows with the ranks",
        finding=f"At the peak {'; '.join(shares)}.",
        caption=sentence(
            f"Points: the most in any {steps} ms of all links and directions together, median over "
            "the runs; line: from the run with the least to the one with the most; open: mean over "
            "the run.",
            "Dotted: in proportion to the most ranks. All other axes as at the baseline.",
            doubts.of_traffic(context),
            cuts.told(
                sum(line.height for _, line in lines),
                rows.height,
                "points are drawn",
                "peak_by_ranks",
            ),
        ),
        chart=panels[0] if alone else alt.concat(*panels, columns=2, align="each"),
        rows=rows,
    )


def _over_ranks(rows: pl.DataFrame) -> pl.DataFrame:
    """The points of one application that differ from its baseline in nothing but the ranks."""
    first = rows.row(0, named=True)
    return rows.filter(pl.all_horizontal(pl.col(key).eq_missing(first[key]) for key in FIXED))


def _rank_panel(rows: pl.DataFrame, one: Series, size: tuple[int, int], *, alone: bool) -> Any:
    import altair as alt

    most = rows.sort("ranks").row(-1, named=True)
    top = float(rows["peak_mbit_s_max"].max()) * 1.06  # type: ignore[arg-type]
    x = alt.X(
        "x:Q",
        title="ranks",
        scale=alt.Scale(domain=[0, most["ranks"] * 1.05], nice=False),
        axis=alt.Axis(values=sorted(set(rows["ranks"])), format=",~f"),
    )

    def y(field: str) -> alt.Y:
        return alt.Y(
            field, title="Mbit/s", scale=alt.Scale(domain=[0, top], nice=False),
            axis=alt.Axis(tickCount=5, format=",~f"),
        )  # fmt: skip

    data = values(
        [
            {
                "x": row["ranks"],
                "low": row["peak_mbit_s_min"],
                "peak": row["peak_mbit_s"],
                "high": row["peak_mbit_s_max"],
                "mean": row["mean_mbit_s"],
            }
            for row in rows.iter_rows(named=True)
        ]
    )
    ends = values([{"x": 0, "y": 0}, {"x": most["ranks"], "y": most["peak_mbit_s"]}])
    base = alt.Chart(data)
    panel = alt.layer(
        alt.Chart(ends)
        .mark_line(strokeDash=[2, 3], strokeWidth=1, color=theme.AXIS, clip=True)
        .encode(x=x, y=y("y:Q")),
        base.mark_rule(strokeWidth=2, opacity=0.6, color=one.colour).encode(
            x=x, y=y("low:Q"), y2="high:Q"
        ),
        base.mark_point(shape=one.shape, size=60, color=one.colour, filled=True).encode(
            x=x, y=y("peak:Q")
        ),
        base.mark_point(
            shape=one.shape, size=45, stroke=one.colour, fill=theme.PAGE, strokeWidth=1.5
        ).encode(x=x, y=y("mean:Q")),
    ).properties(width=size[0], height=size[1])
    if not alone:
        panel = panel.properties(title=alt.TitleParams(one.label, color=one.text_colour))
    return panel


def per_core(context: Context) -> Figure | None:
    """What a rank sends to other sites, per point of the sweep."""
    import altair as alt

    everything = context.rows("throughput_per_core")
    rows = everything.filter(~pl.col("is_ranks_guessed"))
    guessed = everything.height - rows.height
    whole = rows.filter(pl.col("site").is_null())
    if whole.is_empty():
        return None
    shown = context.series_in(whole)
    frames = [context.of(whole, one) for one in shown]
    names = [points.labels(frame) for frame in frames]
    left = max(map(points.width, names))
    panels = [
        _core_panel(context.of(rows, one), frame, one, left, alone=len(shown) == 1)
        for frame, one in zip(frames, shown, strict=True)
    ]
    ranks = sorted({int(row) for row in whole["ranks"]})
    count = f"{ranks[0]} ranks" if len(ranks) == 1 else f"{ranks[0]} to {ranks[-1]} ranks"
    widest = int(context.model("wan_steps")["step_ns"].max())  # type: ignore[arg-type]
    steps = numbers.plain(widest / 1e6)
    most = float(whole["sent_peak_mbit_s"].max())  # type: ignore[arg-type]
    chart: Any = panels[0] if len(panels) == 1 else alt.concat(*panels, columns=1, align="each")
    return Figure(
        name="throughput_per_core",
        heading="What a rank sends between the sites, per point of the sweep",
        caption=sentence(
            "Point: mean over the run, all sites together; bar: from the site whose ranks send or "
            f"receive least to the one with most; tick: the most in any {steps} ms, all sites "
            "together.",
            f"Divided by all {count}, idle ones included; medians over the runs.",
            f"The largest peak is {numbers.estimate(most)} Mbit/s, "
            f"{numbers.estimate(most / 8)} MB/s per rank.",
            doubts.of_traffic(context),
            points.left_out(frames, "throughput_per_core"),
            f"Not drawn: {numbers.plural(guessed, 'row')} whose number of ranks is guessed; all: "
            "flowsweep query throughput_per_core DIR."
            if guessed
            else None,
        ),
        chart=chart.properties(padding=PADDING),
        rows=context.rows("throughput_per_core"),
    )


def _core_panel(
    rows: pl.DataFrame, whole: pl.DataFrame, one: Series, left: int, *, alone: bool
) -> Any:
    import altair as alt

    names = dict(zip(map(tuple, whole.rows()), points.labels(whole), strict=True))
    drawn = points.drawn(whole)
    columns = set(points.COLUMNS)
    data = []
    for row, full in zip(drawn.rows(), drawn.iter_rows(named=True), strict=True):
        same = pl.all_horizontal(pl.col(key).eq_missing(full[key]) for key in columns - {"ranks"})
        sites = rows.filter(same & pl.col("site").is_not_null())
        means = [*sites["sent_mbit_s"], *sites["received_mbit_s"], full["sent_mbit_s"]]
        data.append(
            {
                "point": names[row],
                "low": min(means),
                "x": full["sent_mbit_s"],
                "high": max(means),
                "peak": full["sent_peak_mbit_s"],
                "text": f"{numbers.estimate(full['sent_mbit_s'])}, "
                f"peak {numbers.estimate(full['sent_peak_mbit_s'])}",
                "end": max(*means, full["sent_peak_mbit_s"]),
            }
        )
    order = [row["point"] for row in data]
    top = max(row["end"] for row in data) or 1.0

    def x(field: str) -> alt.X:
        return alt.X(
            field,
            title="Mbit/s per rank",
            scale=alt.Scale(domain=[0, top * 1.02], nice=False),
            axis=alt.Axis(tickCount=6, format=",~f", grid=True),
        )

    y = alt.Y(
        "point:N",
        title=None,
        sort=order,
        scale=alt.Scale(domain=order),
        axis=alt.Axis(grid=False, labelLimit=left, minExtent=left),
    )
    base = alt.Chart(values(data))
    panel = alt.layer(
        base.mark_bar(height=6, opacity=0.35, color=one.colour).encode(
            x=x("low:Q"), x2="high:Q", y=y
        ),
        base.mark_tick(thickness=2, height=12, color=one.colour).encode(x=x("peak:Q"), y=y),
        base.mark_point(shape=one.shape, size=45, color=one.colour, filled=True).encode(
            x=x("x:Q"), y=y
        ),
        base.mark_text(align="left", dx=8, fontSize=11, color=theme.MUTED).encode(
            x=x("end:Q"), y=y, text="text:N"
        ),
    ).properties(width=theme.FULL_WIDTH - left - 130, height=ROW * len(order))
    if not alone:
        panel = panel.properties(title=alt.TitleParams(one.label, color=one.text_colour))
    return panel
