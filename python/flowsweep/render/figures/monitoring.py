"""Figure `monitoring`: what a monitor with wide windows hides, per point of the sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from flowsweep import numbers
from flowsweep.render import axes, charts, cuts, distributions, doubts, merged, theme
from flowsweep.render.figure import Context, Figure, panel_title, sentence, values
from flowsweep.render.panels import TIP, about, tip
from flowsweep.render.throughput import host_names, select_shown_host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowsweep.render.distributions import Pool
    from flowsweep.render.distributions.quantity import Span
    from flowsweep.render.theme import Series

QUERY = "monitoring"
COLUMNS, GAP, HEIGHT, LEFT = 4, 8, 110, 44
#: The most points of one application, and panels of all.
MAX_POINTS, MAX_PANELS = 4, 16
#: One bit per second, in Mbit/s.
LEAST_MBIT_S = 1e-6
#: The most applications with a sentence on how much is hidden.
FINDINGS = 3
#: If the busiest wide window has less than this share of the peak, it hides much.
STEADY = 0.9
#: Columns, labels and dashes. The mean is the same in every window that the runs fill.
LINES = {"peak_mbit_s": ("peak", [1, 0]), "p99_mbit_s": ("exceeded for 1 % of the time", [4, 3])}
MEAN, ENDS = "mean_mbit_s", ("min", "max")


class Cell(NamedTuple):
    """The content of one panel."""

    application: Series
    point: str
    direction: str
    rows: pl.DataFrame


def draw(context: Context) -> Figure | None:
    """Draws peak, 99 % quantile and mean of the shown host's throughput against the window."""
    every = context.rows(QUERY)
    host_rows = select_shown_host(context, every)
    # A window that contains the whole of every run shows no more than the mean.
    is_filled = pl.col("shorter_runs") < pl.col("runs")
    rows = host_rows.filter(is_filled | (pl.col("window_ms") == pl.col("window_ms").min()))
    if rows.is_empty():
        return None
    selection = _select_pools(context, rows)
    return Figure(
        name=QUERY,
        heading=f"Throughput of {host_names(rows)} as a slower monitor sees it, "
        f"{context.terms.per_point}",
        finding=" ".join(_findings(context, rows)),
        caption=_caption(context, rows, selection),
        notes=sentence(
            "The last window of a run holds silence behind it.",
            "Windows that are longer than all runs are not drawn."
            if rows.height < host_rows.height
            else None,
        ),
        chart=_draw_grids(context, rows, selection),
        rows=every,
    )


class Selection(NamedTuple):
    """The points that are drawn.

    Attributes:
        pools: The points of each application, and their names.
        drawn: The points that have a panel.
    """

    pools: dict[Series, dict[Pool, str]]
    drawn: dict[Series, list[Pool]]


def _select_pools(context: Context, rows: pl.DataFrame) -> Selection:
    """Chooses the points that get panels, as many of each application as there is room for."""
    pools = {
        application: distributions.pools(context.select_series(rows, application), "direction")
        for application in context.series_in(rows)
    }
    room = max(MAX_PANELS // rows["direction"].n_unique(), 1)
    places = cuts.share_room([min(len(names), MAX_POINTS) for names in pools.values()], room)
    drawn = {
        application: distributions.kept(context, list(names), application, most)
        for (application, names), most in zip(pools.items(), places, strict=True)
    }
    return Selection(pools, drawn)


def _draw_grids(context: Context, rows: pl.DataFrame, selection: Selection) -> Any:
    """Draws a grid of panels for each application, all on the same axes."""
    cells = {
        application: _select_cells(context, rows, application, selection)
        for application in selection.drawn
    }
    span = _span([cell for cells_of_one in cells.values() for cell in cells_of_one])
    is_alone = len(cells) == 1
    columns = max(2, *map(len, selection.drawn.values())) if is_alone else COLUMNS
    titles = [""] if is_alone else [application.label for application in cells]
    grids = list(cells.values())
    if context.stands_alone:
        grids, titles = [[cell for grid in grids for cell in grid]], [""]
    unit = "Mbit/s" if span[0] >= numbers.SMALL_MBIT_S else "bit/s"
    titles[0] = f"{titles[0]}, {unit}" if titles[0] else unit
    charts_of_grids = [
        _grid(grid, span, columns, title) for grid, title in zip(grids, titles, strict=True)
    ]
    if len(charts_of_grids) == 1:
        return charts_of_grids[0]
    return charts.vconcat(*charts_of_grids, spacing=GAP)


def _select_cells(
    context: Context, rows: pl.DataFrame, application: Series, selection: Selection
) -> list[Cell]:
    """Returns the content of an application's panels, with a line of panels per direction."""
    return [
        Cell(application, selection.pools[application][pool], direction, cell_rows)
        for direction in sorted(set(rows["direction"]), reverse=True)
        for pool in selection.drawn[application]
        if (cell_rows := _select_rows(context, rows, application, pool, direction)).height
    ]


def _span(cells: list[Cell]) -> Span:
    """Returns the range of rates of all panels."""
    drawn = pl.concat([cell.rows for cell in cells])
    spread = [f"peak_mbit_s_{end}" for end in ENDS]
    rates = pl.concat([drawn[name] for name in (*LINES, MEAN, *spread)])
    # Rates below a bit per second are drawn at 0.
    return distributions.log_ends(rates.set(rates < LEAST_MBIT_S, 0.0))


def _caption(context: Context, rows: pl.DataFrame, selection: Selection) -> str:
    has_several_runs = rows["runs"].max() > 1  # type: ignore[operator]
    spread = ", median of the runs (vertical line: lowest to highest run)"
    return sentence(
        "What a monitor reports that averages over windows of this width.",
        f"Solid: the busiest window{spread if has_several_runs else ''}; dashed: 99th percentile; "
        "grey: mean.",
        "Open points: a run is shorter than the window." if rows["shorter_runs"].max() else None,
        merged.note(context, rows),
        doubts.note_traffic(context),
        cuts.describe(
            sum(map(len, selection.drawn.values())),
            sum(map(len, selection.pools.values())),
            f"{context.terms.point}s are drawn",
            QUERY,
        ),
    )


def _grid(cells: Sequence[Cell], span: Span, columns: int, title: str) -> Any:
    """Draws the panels of one application, or of all for captures alone."""
    width = (theme.FULL_WIDTH - (LEFT + GAP) * columns) // columns
    panels = [
        _panel(cell, span, is_left=place % columns == 0, width=width)
        for place, cell in enumerate(cells)
    ]
    above = charts.title(
        title, fontSize=12, fontWeight=500, color=theme.MUTED, offset=6, frame="bounds"
    )
    grid = charts.concat(*panels, columns=columns, spacing=GAP, align="all")
    return grid.properties(title=above)


def _findings(context: Context, rows: pl.DataFrame) -> list[str]:
    """Describes the applications whose peaks wide windows hide most."""
    found = [
        (share, words)
        for one in doubts.select_reliable(context, context.series_in(rows))
        if (text := finding(one, context.select_series(rows, one))) is not None
        for share, words in [text]
    ]
    if context.stands_alone:
        # Runs of captures alone keep the order of the page, most traffic first.
        return [words for _, words in found[:FINDINGS]]
    return [words for _, words in sorted(found)[:FINDINGS]]


def finding(one: Series, rows: pl.DataFrame) -> tuple[float, str] | None:
    """Returns the share of the peak in the widest window that all runs fill, and a sentence."""
    base = rows.filter("is_baseline") if rows["is_baseline"].any() else rows
    filled = base.filter((pl.col("shorter_runs") == 0) & pl.col("peak_share").is_not_null())
    if filled["window_ms"].n_unique() < 2:
        return None
    busiest = filled.sort("peak_mbit_s", descending=True, maintain_order=True).row(0, named=True)
    same = [pl.col(key).eq_missing(pl.lit(busiest[key])) for key in ("point", "run", "direction")]
    wide = filled.filter(*same).sort("window_ms").row(-1, named=True)
    if wide["window_ms"] == busiest["window_ms"]:
        return None
    peaks = [numbers.rate(row["peak_mbit_s"]) for row in (busiest, wide)]
    only = "only " if wide["peak_share"] < STEADY else ""
    # The figure above shows a single run, whose peak differs.
    pooled = f", median of {busiest['runs']} runs" if busiest["runs"] > 1 else ""
    return wide["peak_share"], (
        f"{one.label}, {busiest['direction']}{pooled}: "
        f"the busiest {_width(busiest)} carry {peaks[0]}, "
        f"the busiest {_width(wide)} {only}{peaks[1]}: {numbers.share(wide['peak_share'])} of it."
    )


def _width(row: dict[str, Any]) -> str:
    """Returns `10 ms` or `60 s`."""
    milliseconds = row["window_ms"]
    if milliseconds < 1000:
        return f"{numbers.plain(milliseconds)} ms"
    return f"{numbers.plain(milliseconds / 1000)} s"


def _select_rows(
    context: Context, rows: pl.DataFrame, one: Series, pool: Pool, direction: str
) -> pl.DataFrame:
    own = distributions.select_pool(context.select_series(rows, one), pool)
    return own.filter(pl.col("direction") == direction).sort("window_ms")


def _panel(cell: Cell, span: Span, *, is_left: bool, width: int) -> Any:
    one, name, direction, rows = cell
    x = charts.field(
        "window:O",
        title="width of a window" if is_left else None,
        sort=[_width(row) for row in rows.iter_rows(named=True)],
        scale=axes.scale(type="point", padding=0.4),
        axis=axes.axis(labelAngle=0, titleAnchor="start", labelOverlap=False, labelFontSize=11),
    )
    y = _rate_axis(span, labelled=is_left)
    marks = _marks(rows, span)
    mean = _line(marks, MEAN, "mean").mark("line", color=theme.MUTED, strokeWidth=1.25)
    layers: list[Any] = [mean.encode(x=x, y=y)]
    for column, (line_name, dash) in LINES.items():
        line = _line(marks, column, line_name)
        line = line.mark("line", color=one.colour, strokeDash=dash, strokeWidth=1.75)
        layers.append(line.encode(x=x, y=y))
    if rows["runs"].max() > 1:  # type: ignore[operator]
        spread = charts.Chart(values([{**row, "y": row["low"]} for row in marks]))
        layers.append(
            spread.mark("rule", strokeWidth=2, opacity=0.6, color=one.colour).encode(
                x=x, y=y, y2="high:Q"
            )
        )
    layers += [points.encode(x=x, y=y) for points in _peaks(marks, one)]
    return charts.layer(*layers).properties(
        width=width,
        height=HEIGHT,
        title=panel_title("", f"{direction}: {name}", one, width),
        description=about(
            y="throughput (Mbit/s)", application=one.label, point=name, direction=direction
        ),
    )


def _rate_axis(span: Span, *, labelled: bool) -> charts.Channel:
    """Returns the log axis of the rates, with a place for 0 if `span` has one."""
    low, high, zero = span
    ticks = axes.log_ticks(low * (zero / low) ** 2 if zero else low, high, 5)
    labels = axes.number_labels(ticks)
    if low < numbers.SMALL_MBIT_S:
        labels = axes.prefix_labels(ticks, scale=1e6)
    if zero:
        labels = f"abs(datum.value / {zero!r} - 1) < 1e-3 ? '0' : {labels}"
    return charts.field(
        "y:Q",
        title=None,
        scale=axes.scale(type="log", domain=[low, high], nice=False),
        axis=axes.axis(
            values=[*([zero] if zero else []), *ticks],
            labelExpr=labels,
            labels=labelled,
            minExtent=LEFT,
            maxExtent=LEFT,
        ),
    )


def _marks(rows: pl.DataFrame, span: Span) -> list[dict[str, Any]]:
    """Returns the marks of each window width; rates below a bit per second are at 0."""
    low, _, zero = span

    def place(value: float) -> float:
        return value if value >= LEAST_MBIT_S else zero or low

    return [
        {
            "window": _width(row),
            "low": place(row["peak_mbit_s_min"]),
            "high": place(row["peak_mbit_s_max"]),
            "is_filled": row["shorter_runs"] == 0,
            TIP: _tooltip(row),
            **{column: place(row[column]) for column in (*LINES, MEAN)},
        }
        for row in rows.iter_rows(named=True)
    ]


def _line(marks: list[dict[str, Any]], column: str, name: str) -> charts.Chart:
    return charts.Chart(
        values([{"window": row["window"], "y": row[column], TIP: name} for row in marks])
    )


def _peaks(marks: list[dict[str, Any]], one: Series) -> list[charts.Chart]:
    """Makes points at the peaks, open if a run is shorter than the window; filled ones first."""
    found = []
    for is_filled in (True, False):
        chosen = [
            {**row, "y": row["peak_mbit_s"]} for row in marks if row["is_filled"] == is_filled
        ]
        if chosen:
            points = charts.Chart(values(chosen)).mark(
                "point",
                size=40, shape=one.shape, stroke=one.colour, strokeWidth=1.5,
                fill=one.colour if is_filled else theme.PAGE,
            )  # fmt: skip
            found.append(points)
    return found


def _tooltip(row: dict[str, Any]) -> str:
    """Describes a row."""
    spread = [numbers.estimate(row[f"peak_mbit_s_{end}"]) for end in ENDS]
    return tip(
        f"windows of {_width(row)}",
        f"peak {numbers.estimate(row['peak_mbit_s'])} Mbit/s"
        + (f" ({spread[0]} to {spread[1]})" if row["runs"] > 1 else ""),
        f"99 % of the time at most {numbers.estimate(row['p99_mbit_s'])} Mbit/s",
        f"mean {numbers.estimate(row['mean_mbit_s'])} Mbit/s",
        f"{numbers.plural(row['shorter_runs'], 'run')} of {row['runs']} shorter than the window"
        if row["shorter_runs"]
        else None,
    )
