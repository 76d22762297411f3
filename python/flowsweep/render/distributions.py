"""Distribution functions (CDF) at points of the sweep: small multiples with one scale for all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.render import axes, cuts, points, theme
from flowsweep.render.figure import Context, panel_title, sentence, values
from flowsweep.render.panels import TIP, about

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowsweep.render.theme import Series

COLUMNS, GAP, HEIGHT = 4, 8, 96
#: At most so many panels in a figure, and so many points of one application.
MAX_PANELS, MAX_POINTS = 32, 8
#: Room for the numbers of the shares.
LEFT = 30
#: A point; and the run, where one without a record stands alone.
Pool = tuple[int, str | None]


@dataclass(frozen=True)
class Quantity:
    """A quantity, and how its distribution is drawn.

    Attributes:
        query: The query that has the steps.
        column: Its column of values.
        title: The axis of the values, with the unit.
        of: What the shares are of, `flows`.
        parts: The column that parts the rows of a point, each with panels of its own.
        labels: Label expression of the ticks.
        scale: The axis counts in so much of the column's unit.
    """

    query: str
    column: str
    title: str
    of: str
    parts: str = "direction"
    labels: Callable[..., str] = axes.prefix_labels
    scale: float = 1.0


@dataclass(frozen=True)
class Panel:
    """One point of one application: its rows, and those of the baseline beside them."""

    one: Series
    part: str
    name: str
    own: pl.DataFrame
    base: pl.DataFrame | None
    is_one_run: bool

    @property
    def has_band(self) -> bool:
        """Whether runs differ."""
        return int(self.own["runs"].max()) > 1  # type: ignore[arg-type]


def chart(context: Context, rows: pl.DataFrame, quantity: Quantity) -> tuple[Any, str]:
    """The panels, and what to say of them: what is drawn, and of the points that have none.

    Args:
        context: Knows points and applications.
        rows: Steps of the distributions; not empty.
        quantity: What they are of.
    """
    import altair as alt

    found, total = _panels(context, rows, quantity)
    span = log_ends(pl.concat([panel.own for panel in found])[quantity.column] * quantity.scale)
    alone = len({panel.one for panel in found}) == 1 or context.stands_alone
    lines: dict[tuple[Series | None, str], list[Panel]] = {}
    if context.stands_alone:
        # They have one panel each: their runs stand side by side, a direction below the other.
        found.sort(key=lambda panel: panel.part, reverse=True)
    for panel in found:
        of_one = None if context.stands_alone else panel.one
        lines.setdefault((of_one, panel.part), []).append(panel)
    columns = min(COLUMNS, max(2, *map(len, lines.values())))
    grids = []
    for number, line in enumerate(lines.values()):
        drawn = [_draw(panel, quantity, span, place, columns) for place, panel in enumerate(line)]
        grid: Any = alt.concat(*drawn, columns=columns, spacing=GAP, align="all")
        names = [] if alone else [line[0].one.label]
        told = f", share of {quantity.of} at or below (%)" if number == 0 else ""
        title = ": ".join([*names, line[0].part]) + told
        grids.append(grid.properties(title=alt.TitleParams(
            title, fontSize=12, fontWeight=500, color=theme.MUTED, offset=6, frame="bounds"
        )))  # fmt: skip
    made: Any = grids[0] if len(grids) == 1 else alt.vconcat(*grids, spacing=GAP)
    shown = len({(panel.one, panel.name) for panel in found})
    return made, sentence(
        _legend(context, found),
        cuts.told(shown, total, f"{context.terms.point}s are drawn", quantity.query),
    )


def _legend(context: Context, panels: list[Panel]) -> str:
    """Names the lines and colours that are drawn."""
    named = {
        "run": any(panel.is_one_run for panel in panels),
        "point": any(not panel.is_one_run for panel in panels),
    }
    own = {
        (True, False): "the run in the title",
        (False, True): context.terms.whole,
        (True, True): "the run in the title, or all runs of the point there together",
    }[named["run"], named["point"]]
    pale = "; pale: from the run with the least share to the one with the greatest"
    return (
        f"Coloured: {own}"
        + (pale if any(panel.has_band for panel in panels) else "")
        + ("; grey: the baseline" if any(panel.base is not None for panel in panels) else "")
        + "."
    )


def _panels(context: Context, rows: pl.DataFrame, quantity: Quantity) -> tuple[list[Panel], int]:
    """The panels to draw, and how many points have rows, drawn or not."""
    parts = sorted(set(rows[quantity.parts]), reverse=True)
    shown = context.series_in(rows)
    every = [pools(context.of(rows, one), quantity.parts) for one in shown]
    room = MAX_PANELS // len(parts)
    given = cuts.fair([min(len(mine), MAX_POINTS) for mine in every], room)
    found = []
    for one, mine, most in zip(shown, every, given, strict=True):
        own = context.of(rows, one)
        chosen = kept(context, list(mine), one, most)
        for part in parts:
            of_part = own.filter(pl.col(quantity.parts) == part)
            base = of_part.filter("is_baseline")
            for pool in chosen:
                panel = of_pool(of_part, pool)
                if panel.height:
                    is_beside = pool[1] is None and pool[0] != chosen[0][0]
                    beside = base if is_beside and base.height else None
                    found.append(
                        Panel(one, str(part), mine[pool], panel, beside, pool[1] is not None)
                    )
    return found, sum(map(len, every))


def pools(rows: pl.DataFrame, parts: str | None) -> dict[Pool, str]:
    """The points of one application with their names; runs that stand alone each for itself."""
    keys = ["app", "run", "point", "is_baseline", *points.COLUMNS]
    every = rows.select(keys).unique(subset="point", maintain_order=True)
    names = dict(zip(every["point"], points.labels(every), strict=True))
    runs = rows.group_by("point", *([parts] if parts else [])).agg(pl.col("run").n_unique())
    apart = set(runs.filter(pl.col("run") > 1)["point"])
    found: dict[Pool, str] = {}
    for point, run in rows.select("point", "run").unique(maintain_order=True).iter_rows():
        name = names[point]
        if point in apart:
            found[point, run] = run if every.height == 1 else f"{run}, {name}"
        else:
            found[point, None] = name
    return found


def kept(context: Context, every: list[Pool], one: Series, most: int) -> list[Pool]:
    """The baseline and the ends of each axis; of runs that stand alone the first ones."""
    chosen = points.extremes(context, one.app, one.problem, most)
    found = [pool for point in chosen for pool in every if pool[0] == point]
    return found[:most] or every[:most]


def of_pool(rows: pl.DataFrame, pool: Pool) -> pl.DataFrame:
    """The rows of one point, or of one run that stands alone there."""
    point, run = pool
    mine = rows.filter(pl.col("point") == point)
    return mine if run is None else mine.filter(pl.col("run") == run)


def log_ends(column: pl.Series) -> tuple[float, float, float | None]:
    """Ends of the log axis, and the place of 0 on it, if there is one."""
    positive = column.filter(column > 0)
    if positive.is_empty():
        return 1.0, 10.0, 1.6
    least, most = float(positive.min()), float(positive.max())  # type: ignore[arg-type]
    low, high = least / 1.15, most * 1.15
    if high / low < 4:
        middle = math.sqrt(low * high)
        low, high = middle / 2, middle * 2
    if column.min() > 0:  # type: ignore[operator]
        return low, high, None
    band = (high / low) ** 0.2
    return low / band, high, low / math.sqrt(band)


def _draw(
    panel: Panel,
    quantity: Quantity,
    span: tuple[float, float, float | None],
    place: int,
    columns: int,
) -> Any:
    import altair as alt

    low, high, zero = span
    # A number beside that of 0 would touch it.
    first = low * (zero / low) ** 2 * (high / low) ** 0.04 if zero else low
    ticks = axes.log_ticks(first, high, 4)
    special = {zero: "0"} if zero else None
    x = alt.X(
        "x:Q",
        title=quantity.title if place % columns == 0 else None,
        scale=axes.scale(type="log", domain=[low, high], nice=False),
        axis=axes.axis(
            values=[*([zero] if zero else []), *ticks],
            labelExpr=quantity.labels(ticks, special),
            labelSeparation=4,
            titleAnchor="start",
        ),
    )
    is_left = place % columns == 0
    y = alt.Y(
        "y:Q",
        title=None,
        scale=axes.scale(domain=[0, 100], nice=False),
        # Labels that are there and not seen leave the titles of all panels at one height.
        axis=axes.axis(
            values=[0, 50, 100], labelOpacity=int(is_left), minExtent=LEFT, maxExtent=LEFT
        ),
    )
    layers: list[Any] = []
    if panel.base is not None:
        steps = [{**step, TIP: "baseline"} for step in _steps(panel.base, quantity, span)]
        line = alt.Chart(values(steps)).mark_line(
            interpolate="step-after", strokeWidth=1.25, color=theme.AXIS, clip=True
        )
        layers.append(line.encode(x=x, y=y))
    own = alt.Chart(values(_steps(panel.own, quantity, span)))
    if panel.has_band:
        band = own.mark_area(
            interpolate="step-after", opacity=0.22, color=panel.one.colour, clip=True
        )
        layers.append(band.encode(x=x, y=alt.Y("low:Q"), y2="high:Q"))
    line = own.mark_line(
        interpolate="step-after", strokeWidth=1.75, color=panel.one.colour, clip=True
    )
    layers.append(line.encode(x=x, y=y))
    width = (theme.FULL_WIDTH - (LEFT + GAP) * columns) // columns
    return alt.layer(*layers).properties(
        width=width,
        height=HEIGHT,
        title=panel_title("", panel.name, panel.one, width),
        description=about(
            y=f"share of {quantity.of} at or below (%)",
            application=panel.one.label,
            point=panel.name,
            **{quantity.parts: panel.part},
        ),
    )


def _steps(
    rows: pl.DataFrame, quantity: Quantity, span: tuple[float, float, float | None]
) -> list[dict[str, float]]:
    """A distribution from beside the left end of the axis to beside its right end."""
    low, high, zero = span
    beside = (high / low) ** 0.02
    found = [{"x": low / beside, "y": 0.0, "low": 0.0, "high": 0.0}]
    for row in rows.sort(quantity.column).iter_rows(named=True):
        x = row[quantity.column] * quantity.scale
        found.append(
            {
                "x": x if x > 0 else zero or low,
                "y": row["share"] * 100,
                "low": row["share_low"] * 100,
                "high": row["share_high"] * 100,
            }
        )
    return [*found, found[-1] | {"x": high * beside}]


def censored(flows: int) -> str | None:
    """What the distribution does not know of flows that the capture does not show whole."""
    if not flows:
        return None
    return (
        f"{numbers.plural(flows, 'flow direction')} without SYN, or without FIN and RST (UDP has "
        "neither): begun before or open at the end of the capture, counted with what was seen."
    )
