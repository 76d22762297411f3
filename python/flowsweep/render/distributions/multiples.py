"""Draws CDFs as small multiples: a panel for each point or run, all on one scale."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep.render import charts, cuts, theme
from flowsweep.render.distributions.pools import kept, pools, select_pool
from flowsweep.render.distributions.quantity import (
    LEFT,
    Quantity,
    Span,
    log_ends,
    steps,
    x_axis,
    y_axis,
)
from flowsweep.render.figure import Context, panel_title, sentence, values
from flowsweep.render.panels import TIP, about

if TYPE_CHECKING:
    from flowsweep.render.theme import Series

COLUMNS, GAP, HEIGHT = 4, 8, 96
#: The most panels in a figure, and points of one application.
MAX_PANELS, MAX_POINTS = 32, 8


@dataclass(frozen=True)
class Panel:
    """One point of one application: its rows, and those of the baseline for comparison."""

    one: Series
    part: str
    name: str
    own: pl.DataFrame
    base: pl.DataFrame | None
    is_one_run: bool
    #: The title, if it is not the name.
    title: str = ""

    @property
    def has_band(self) -> bool:
        """Whether it represents several runs, which can differ."""
        return int(self.own["runs"].max()) > 1  # type: ignore[arg-type]


def chart(context: Context, rows: pl.DataFrame, quantity: Quantity) -> tuple[Any, str]:
    """Returns the panels and their caption: what is drawn, and how many points are not.

    Args:
        context: Provides points and applications.
        rows: Steps of the distributions; not empty.
        quantity: The quantity that is distributed.
    """
    found, total = _panels(context, rows, quantity)
    span = log_ends(pl.concat([panel.own for panel in found])[quantity.column] * quantity.scale)
    alone = len({panel.one for panel in found}) == 1 or context.stands_alone
    lines: dict[tuple[Series | None, str], list[Panel]] = {}
    if context.stands_alone:
        # Each run has one panel per direction: runs are side by side, one row per direction.
        found.sort(key=lambda panel: panel.part, reverse=True)
    for panel in found:
        series = None if context.stands_alone else panel.one
        lines.setdefault((series, panel.part), []).append(panel)
    is_one_line = context.stands_alone and all(len(line) == 1 for line in lines.values())
    if is_one_line:
        # The directions of a single run are side by side.
        lines = {(None, ""): [replace(one, title=f"{one.part}: {one.name}") for one in found]}
    columns = min(COLUMNS, max(2, *map(len, lines.values())))
    grids = []
    for number, line in enumerate(lines.values()):
        drawn = [_draw(panel, quantity, span, place, columns) for place, panel in enumerate(line)]
        grid: Any = charts.concat(*drawn, columns=columns, spacing=GAP, align="all")
        names = [] if alone else [line[0].one.label]
        label = ": ".join([*names, *([] if is_one_line else [line[0].part])])
        share = f"share of {quantity.counted} at or below (%)" if number == 0 else ""
        title = ", ".join(filter(None, [label, share]))
        grids.append(grid.properties(title=charts.title(
            title, fontSize=12, fontWeight=500, color=theme.MUTED, offset=6, frame="bounds"
        )))  # fmt: skip
    made: Any = grids[0] if len(grids) == 1 else charts.vconcat(*grids, spacing=GAP)
    shown = len({(panel.one, panel.name) for panel in found})
    return made, sentence(
        _legend(context, found),
        cuts.describe(shown, total, f"{context.terms.point}s are drawn", quantity.query),
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
    """Returns the panels to draw, and how many points have rows, drawn or not."""
    parts = sorted(set(rows[quantity.parts]), reverse=True)
    shown = context.series_in(rows)
    every = [pools(context.select_series(rows, one), quantity.parts) for one in shown]
    room = MAX_PANELS // len(parts)
    given = cuts.share_room([min(len(own_rows), MAX_POINTS) for own_rows in every], room)
    found = []
    for one, own_rows, most in zip(shown, every, given, strict=True):
        own = context.select_series(rows, one)
        chosen = kept(context, list(own_rows), one, most)
        for part in parts:
            part_rows = own.filter(pl.col(quantity.parts) == part)
            base = part_rows.filter("is_baseline")
            for pool in chosen:
                panel = select_pool(part_rows, pool)
                if panel.height:
                    is_beside = pool[1] is None and pool[0] != chosen[0][0]
                    beside = base if is_beside and base.height else None
                    found.append(
                        Panel(one, str(part), own_rows[pool], panel, beside, pool[1] is not None)
                    )
    return found, sum(map(len, every))


def _draw(
    panel: Panel,
    quantity: Quantity,
    span: Span,
    place: int,
    columns: int,
) -> Any:
    is_left = place % columns == 0
    x = x_axis(quantity, span, titled=is_left, most_ticks=3)
    y = y_axis([0, 50, 100], labelled=is_left)
    layers: list[Any] = []
    if panel.base is not None:
        below = [{**step, TIP: "baseline"} for step in steps(panel.base, quantity, span)]
        line = charts.Chart(values(below)).mark(
            "line", interpolate="step-after", strokeWidth=1.25, color=theme.AXIS, clip=True
        )
        layers.append(line.encode(x=x, y=y))
    own = charts.Chart(values(steps(panel.own, quantity, span)))
    if panel.has_band:
        band = own.mark(
            "area", interpolate="step-after", opacity=0.22, color=panel.one.colour, clip=True
        )
        layers.append(band.encode(x=x, y=charts.field("low:Q"), y2="high:Q"))
    line = own.mark(
        "line", interpolate="step-after", strokeWidth=1.75, color=panel.one.colour, clip=True
    )
    layers.append(line.encode(x=x, y=y))
    width = (theme.FULL_WIDTH - (LEFT + GAP) * columns) // columns
    return charts.layer(*layers).properties(
        width=width,
        height=HEIGHT,
        title=panel_title("", panel.title or panel.name, panel.one, width),
        description=about(
            y=f"share of {quantity.counted} at or below (%)",
            application=panel.one.label,
            point=panel.name,
            **{quantity.parts: panel.part},
        ),
    )
