"""Figure `peak_by_ranks`: peak throughput between the sites against the number of ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.experiment.axes import in_points
from flowsweep.render import axes, charts, cuts, doubts, merged, theme
from flowsweep.render.figure import Context, Figure, sentence, values
from flowsweep.render.panels import TIP, tip

if TYPE_CHECKING:
    from flowsweep.render.theme import Series
#: A point belongs to the line over the ranks if these columns are as at its baseline.
FIXED = [
    column.asked
    for axis in in_points()
    if (axis.applies_to in ("link", "sockets") and axis.name != "queue") or axis.name == "placement"
    for column in axis.columns
]


def draw(context: Context) -> Figure | None:
    """Draws the peak between the sites against the number of ranks."""
    rows = context.rows("peak_by_ranks")
    lines = []
    for one in context.series_in(rows):
        line = _over_ranks(context.select_series(rows, one)).filter("is_peak_known")
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
        finding=f"At the peak {'; '.join(shares)}.",
        caption=sentence(
            f"Points: the most in any {steps} ms of all links and directions together, median over "
            "the runs; line: from the run with the least to the one with the most; open: mean over "
            "the run.",
            "Dotted: in proportion to the most ranks. All other axes as at the baseline.",
            merged.note(context, rows),
            doubts.note_traffic(context),
            cuts.describe(
                sum(line.height for _, line in lines),
                rows.height,
                "points are drawn",
                "peak_by_ranks",
            ),
        ),
        chart=panels[0] if alone else charts.concat(*panels, columns=2, align="each"),
        rows=rows,
    )


def _over_ranks(rows: pl.DataFrame) -> pl.DataFrame:
    """Selects an application's points that differ from its first in the ranks alone."""
    first = rows.row(0, named=True)
    return rows.filter(pl.all_horizontal(pl.col(key).eq_missing(first[key]) for key in FIXED))


def _rank_panel(rows: pl.DataFrame, one: Series, size: tuple[int, int], *, alone: bool) -> Any:
    most = rows.sort("ranks").row(-1, named=True)
    top = float(rows["peak_mbit_s_max"].max()) * 1.06  # type: ignore[arg-type]
    x = charts.field(
        "x:Q",
        title="ranks",
        scale=axes.scale(domain=[0, most["ranks"] * 1.05], nice=False),
        axis=axes.axis(values=sorted(set(rows["ranks"])), format=",~f"),
    )

    def y(field: str) -> charts.Channel:
        return charts.field(
            field, title="Mbit/s", scale=axes.scale(domain=[0, top], nice=False),
            axis=axes.axis(tickCount=5, format=",~f"),
        )  # fmt: skip

    data = values(
        [
            {
                "x": row["ranks"],
                "low": row["peak_mbit_s_min"],
                "peak": row["peak_mbit_s"],
                "high": row["peak_mbit_s_max"],
                "mean": row["mean_mbit_s"],
                TIP: tip(
                    numbers.plural(row["ranks"], "rank"),
                    f"peak {numbers.estimate(row['peak_mbit_s'])} Mbit/s "
                    f"({numbers.estimate(row['peak_mbit_s_min'])} to "
                    f"{numbers.estimate(row['peak_mbit_s_max'])})",
                    f"mean {numbers.estimate(row['mean_mbit_s'])} Mbit/s",
                ),
            }
            for row in rows.iter_rows(named=True)
        ]
    )
    ends = values([{"x": 0, "y": 0}, {"x": most["ranks"], "y": most["peak_mbit_s"]}])
    base = charts.Chart(data)
    panel = charts.layer(
        charts.Chart(ends)
        .mark("line", strokeDash=[2, 3], strokeWidth=1, color=theme.AXIS, clip=True)
        .encode(x=x, y=y("y:Q")),
        base.mark("rule", strokeWidth=2, opacity=0.6, color=one.colour).encode(
            x=x, y=y("low:Q"), y2="high:Q"
        ),
        base.mark("point", shape=one.shape, size=60, color=one.colour, filled=True).encode(
            x=x, y=y("peak:Q")
        ),
        base.mark(
            "point", shape=one.shape, size=45, stroke=one.colour, fill=theme.PAGE, strokeWidth=1.5
        ).encode(x=x, y=y("mean:Q")),
    ).properties(width=size[0], height=size[1])
    if not alone:
        panel = panel.properties(title=charts.title(one.label, color=one.text_colour))
    return panel
