"""Figure `frontier`: a heat map of slowdown in the plane of RTT and rate, with iso-lines.

Each tried point has a cell, which reaches half-way (on the log scales) to its neighbours.

A line crosses between two tried points that are neighbours in RTT, or in rate, where a straight
line in RTT, or in 1/rate, through their medians reaches its level, as for the thresholds. Inside a
cell of four tried points it is drawn straight from one crossing to the other.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.analysis.estimates import LEVELS
from flowsweep.render import axes, charts, outcome_words, theme
from flowsweep.render.figure import Context, Figure, empty, panel_title, sentence, values
from flowsweep.render.panels import TIP, about, tip

if TYPE_CHECKING:
    from flowsweep.render.theme import Series

HEIGHT = 260
#: Slowdowns at which the colour of a cell changes: the two levels, and steps on both sides of them.
STEPS = (1.03, 1.1, 1.5, 2.0, 4.0)
COLOURS = [f"var(--seq-{number})" for number in range(1, len(STEPS) + 2)]
Place = tuple[float, float]


def draw(context: Context) -> Figure | None:
    """Draws a panel for each application whose RTT and rate were varied together."""
    rows = context.rows("frontier")
    if rows.is_empty():
        return None
    drawn = rows.filter((pl.col("rtt_ms") > 0) & (pl.col("rate_mbit_s") > 0))
    shown = context.series_in(drawn)
    entries = [
        (one, outcome)
        for one in shown
        for outcome in context.select_series(drawn, one)["outcome"].unique(maintain_order=True)
    ]
    width = theme.FULL_WIDTH if len(entries) < 2 else theme.HALF_WIDTH
    is_mixed = outcome_words.has_others(drawn["outcome"])
    panels = [
        _panel(
            context.select_series(drawn, one).filter(pl.col("outcome") == outcome),
            one,
            drawn,
            width,
            name=one.label if len(shown) > 1 else "",
            outcome=outcome_words.noun(outcome) if is_mixed else "",
        )
        for one, outcome in entries
    ]
    chart: Any = (
        charts.concat(*panels, columns=2, align="all")
        if panels
        else empty("no pair of RTT and rate to draw", width, HEIGHT)
    )
    outcomes = context.model("outcome_baselines").filter(
        pl.col("outcome").is_in(drawn["outcome"].implode())
    )
    hidden = rows.filter(pl.col("kind") == "tried").height
    hidden -= drawn.filter(pl.col("kind") == "tried").height
    return Figure(
        name="frontier",
        caption=sentence(
            "Circles: pairs that were tried, with their median slowdown; the colour of the cell "
            f"around a pair changes at {', '.join(map(numbers.plain, STEPS[:-1]))} and "
            f"{numbers.plain(STEPS[-1])}.",
            f"Lines: 10 % (solid) and 50 % (dashed) {'worse' if is_mixed else 'slower'} than the "
            "baseline; between two tried points straight in RTT or in 1/rate, inside a cell "
            "straight as drawn."
            + (
                f" {outcome_words.MORE_IS_BETTER}"
                if outcome_words.grows_better(outcomes.rows(named=True))
                else ""
            )
            if drawn.filter(pl.col("kind") == "line").height
            else "No line of 10 % or 50 % lies between them.",
            f"{numbers.plural(hidden, 'tried point')} without an RTT or a limit of the rate "
            f"{'is' if hidden == 1 else 'are'} in the rows alone."
            if hidden
            else None,
        ),
        chart=chart,
        rows=rows,
    )


def _panel(
    own: pl.DataFrame, one: Series, every: pl.DataFrame, width: int, *, name: str, outcome: str
) -> Any:
    x = _scale("rtt_ms", "round-trip time (ms)", every)
    y = _scale("rate_mbit_s", "rate of the link (Mbit/s)", every)
    tried = own.filter(pl.col("kind") == "tried")
    points = [
        {
            "rtt_ms": row["rtt_ms"],
            "rate_mbit_s": row["rate_mbit_s"],
            "text": numbers.estimate(row["slowdown"]),
            TIP: tip(
                f"{numbers.estimate(row['rtt_ms'])} ms, "
                f"{numbers.estimate(row['rate_mbit_s'])} Mbit/s",
                f"{numbers.estimate(row['slowdown'])}{numbers.TIMES} "
                f"{'worse than ' if outcome else ''}the baseline",
            ),
        }
        for row in tried.iter_rows(named=True)
    ]
    cells = charts.Chart(values(_cells(tried, x, y))).mark("rect", opacity=0.75, clip=True)
    layers: list[Any] = [
        cells.encode(
            x=x,
            x2="x2:Q",
            y=y,
            y2="y2:Q",
            color=charts.field(
                "slowdown:Q",
                scale=axes.scale(type="threshold", domain=list(STEPS), range=COLOURS),
                legend=None,
            ),
        )
    ]
    for level in LEVELS:
        pairs = segments(own, level)
        data = [{"rtt_ms": a[0], "rate_mbit_s": a[1], "x2": b[0], "y2": b[1]} for a, b in pairs]
        if data:
            layers.append(
                charts.Chart(values(data))
                .mark(
                    "rule",
                    color=theme.TEXT,
                    strokeWidth=2,
                    strokeDash=[1, 0] if level < 1.3 else [5, 3],
                )
                .encode(x=x, y=y, x2="x2:Q", y2="y2:Q")
            )
    marks = charts.Chart(values(points))
    layers.append(
        marks.mark("point", size=36, fill=theme.PAGE, stroke=theme.TEXT, strokeWidth=1.5).encode(
            x=x, y=y
        )
    )
    # The words have a background of their own: a line may run behind them.
    for stroke, width_of in ((theme.PAGE, 3), (None, 0)):
        words = marks.mark("text",
            align="left", dx=6, dy=-6, fontSize=11, color=theme.TEXT,
            stroke=stroke, strokeWidth=width_of,
        )  # fmt: skip
        layers.append(words.encode(x=x, y=y, text="text:N"))
    title = panel_title(name, outcome, one, width)
    return charts.layer(*layers).properties(
        width=width, height=HEIGHT, title=title, description=about(application=one.label)
    )


def _scale(column: str, title: str, every: pl.DataFrame) -> charts.Channel:
    low, high = (float(getattr(every[column], end)()) for end in ("min", "max"))
    if low == high:
        low, high = low / 2, high * 2
    ticks = axes.log_ticks(low, high)
    return charts.field(
        f"{column}:Q",
        title=title,
        scale=axes.scale(type="log", domain=[low * 0.9, high * 1.2], nice=False),
        axis=axes.axis(values=ticks, labelExpr=axes.number_labels(ticks)),
    )


def _cells(tried: pl.DataFrame, x: charts.Channel, y: charts.Channel) -> list[dict[str, float]]:
    """Returns the cell of each point, which ends half-way to its neighbours."""
    edges = {}
    for column, measured, channel in (
        ("rtt_asked_ms", "rtt_ms", x),
        ("rate_asked_mbit_s", "rate_mbit_s", y),
    ):
        # The measured values of one column differ a little; its cells share their edges.
        columns = tried.group_by(column).agg(pl.col(measured).median()).sort(measured)
        low, high = channel["scale"]["domain"]
        between = [math.sqrt(a * b) for a, b in itertools.pairwise(columns[measured])]
        ends = itertools.pairwise([low, *between, high])
        edges[column] = dict(zip(columns[column], ends, strict=True))
    found = []
    for row in tried.iter_rows(named=True):
        left, right = edges["rtt_asked_ms"][row["rtt_asked_ms"]]
        bottom, top = edges["rate_asked_mbit_s"][row["rate_asked_mbit_s"]]
        found.append(
            {
                "rtt_ms": left,
                "x2": right,
                "rate_mbit_s": bottom,
                "y2": top,
                "slowdown": row["slowdown"],
            }
        )
    return found


def segments(own: pl.DataFrame, level: float) -> list[tuple[Place, Place]]:
    """Returns a line's parts, from crossing to crossing in each cell of four tried points."""
    tried = {
        row["point"]: row for row in own.filter(pl.col("kind") == "tried").iter_rows(named=True)
    }
    at = {(row["rtt_asked_ms"], row["rate_asked_mbit_s"]): point for point, row in tried.items()}
    crossings = {
        frozenset((row["from_point"], row["to_point"])): (row["rtt_ms"], row["rate_mbit_s"])
        for row in own.filter((pl.col("kind") == "line") & (pl.col("level") == level)).iter_rows(
            named=True
        )
    }
    rtts, rates = (sorted({place[index] for place in at}) for index in (0, 1))
    found: list[tuple[Place, Place]] = []
    for (short, long), (low, high) in itertools.product(
        itertools.pairwise(rtts), itertools.pairwise(rates)
    ):
        corners = [
            at.get(place) for place in ((short, high), (long, high), (long, low), (short, low))
        ]
        edges = itertools.pairwise([*corners, corners[0]])
        # In the order of the edges: if four are crossed, the first two belong together.
        crossed = [crossings[edge] for edge in map(frozenset, edges) if edge in crossings]
        found += list(zip(crossed[::2], crossed[1::2], strict=False))
    return found
