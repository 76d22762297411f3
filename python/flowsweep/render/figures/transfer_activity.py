"""Figure `transfer_activity`: transfers under way over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.render import axes, charts, cuts, doubts, theme
from flowsweep.render.figure import Context, Figure, sentence, values
from flowsweep.render.figures.wan_throughput import shown_runs
from flowsweep.render.panels import about

if TYPE_CHECKING:
    from flowsweep.render.theme import Series

NAME = "transfer_activity"
#: Fewer transfers in a run are no activity worth a figure.
FEWEST = 10
TOO_LITTLE = f"no run has {FEWEST} transfers that come and go"
MAX_PANELS = 16
#: Measured values that differ by a larger factor are different.
SAME = 1.05
HEIGHT = 66
#: The places of runs with so many transfers, that they come and go, as a figure needs.
#: Connections that stay for the whole run are no transfers.
BUSY = f"""
with

places as (
    select
        app,
        problem,
        is_baseline,
        run,
        rate_mbit_s,
        rtt_ms,
        place,
        any_value(transfers) as transfers,
        max(max_active) as max_active,
        any_value(source) as source,
    from figure_rows
    where role = 'receiving'
    group by all
)

select * from places
window one_run as (partition by run)
qualify
    sum(transfers) over one_run >= {FEWEST}
    and (
        source = 'application'
        or sum(transfers) over one_run >= 2 * sum(max_active) over one_run
    )
order by app, problem, is_baseline desc, run, place
"""  # noqa: S608 - a number of this file


def draw(context: Context) -> Figure | None:
    """How many transfers are under way to each site, at the baseline and at the hardest point."""
    rows = context.query_figure(NAME, BUSY)
    if rows.is_empty():
        return None
    shown = context.series_in(rows)
    first = shown_runs(context, rows)
    runs = {
        one: list(
            dict.fromkeys(
                [first[one.app, one.problem], hardest_run(context.select_series(rows, one))]
            )
        )
        for one in shown
    }
    places = {
        one: sorted(set(own["place"]))
        for one in shown
        for own in [context.select_series(rows, one).filter(pl.col("run").is_in(runs[one]))]
    }
    widest = max(len(own) for own in runs.values())
    room = cuts.share_room([len(own) for own in places.values()], MAX_PANELS // widest)
    steps = context.select_runs(NAME, [run for own in runs.values() for run in own])
    panels: list[Any] = []
    names: list[str] = []
    for one, number in zip(shown, room, strict=True):
        own = context.select_series(rows, one)
        differing = what_differs(own.filter(pl.col("run").is_in(runs[one])))
        for place in places[one][:number]:
            frames = [
                frame for run in runs[one] if not (frame := _at(steps, run, place)).is_empty()
            ]
            top = max(float(frame["max_active"].max()) for frame in frames)  # type: ignore[arg-type]
            panels += [
                _activity_panel(frame, one, top, differing, named=len(shown) > 1)
                for frame in frames
            ]
            panels += [_blank_panel()] * (len(runs[one]) - len(frames))
            names += [frame["run"][0] for frame in frames]
        # the next application begins in the left column
        if len(shown) > 1 and len(panels) % 2:
            panels.append(_blank_panel())
    columns = 2 if len(panels) > 1 else 1
    sources = set(rows.filter(pl.col("run").is_in(names))["source"])
    first_rows, count = context.first_rows(NAME)
    main = [run for run in dict.fromkeys(names) if run in first.values()]
    hardest = [run for run in dict.fromkeys(names) if run not in first.values()]
    return Figure(
        name=NAME,
        caption=sentence(
            context.drawn_runs(main),
            f"Beside it the run at the lowest rate, of these with the longest RTT: "
            f"{', '.join(hardest)}."
            if hardest
            else None,
            "Line: mean of a hundredth of the run; pale: most at once.",
            "Spans from the application's record."
            if sources == {"application"}
            else "A transfer is a connection with payload, from first to last packet."
            if sources == {"connections"}
            else "Spans from the application's record; without one, connections with payload.",
            cuts.describe(sum(room), sum(map(len, places.values())), "sites are drawn", NAME),
            doubts.note_traffic(context, pl.DataFrame({"run": names}))
            if "connections" in sources
            else None,
            note_omitted(context, rows, NAME),
        ),
        chart=charts.concat(*panels, columns=columns, align="each", spacing=16),
        rows=first_rows,
        all_rows=count,
    )


def note_omitted(context: Context, drawn: pl.DataFrame, query: str) -> str | None:
    """Names the applications of a query that a figure does not draw, because they transfer little.

    Args:
        context: Knows the applications.
        drawn: The rows that are drawn.
        query: The query that has the others.
    """
    kept = context.series_in(drawn)
    every = context.query_figure(query, "select distinct app, problem from figure_rows")
    others = [one.label for one in context.series_in(every) if one not in kept]
    if not others:
        return None
    return (
        f"Not drawn: {', '.join(others)} (no run has {FEWEST} transfers that come and go); "
        f"all: flowsweep query {query} DIR."
    )


def _at(rows: pl.DataFrame, run: str, place: str) -> pl.DataFrame:
    own = (pl.col("run") == run) & (pl.col("role") == "receiving") & (pl.col("place") == place)
    return rows.filter(own).sort("start_s")


def hardest_run(rows: pl.DataFrame) -> str:
    """The run at the lowest rate; of these the one with the longest RTT."""
    order = rows.sort(
        ["rate_mbit_s", "rtt_ms", "run"], descending=[False, True, False], nulls_last=True
    )
    return str(order["run"][0])


def what_differs(rows: pl.DataFrame) -> list[tuple[str, str]]:
    """What sets two runs apart, with its unit: by more than a measurement may differ."""
    found = []
    for key, unit in (("rate_mbit_s", "Mbit/s"), ("rtt_ms", "ms")):
        known = rows[key].drop_nulls()
        values = (float(known.min() or 0), float(known.max() or 0))  # type: ignore[arg-type]
        if values[1] > values[0] * SAME and rows[key].null_count() == 0:
            found.append((key, unit))
    return found


def _activity_panel(
    rows: pl.DataFrame, one: Series, top: float, differing: list[tuple[str, str]], *, named: bool
) -> Any:
    first = rows.row(0, named=True)
    steps = rows.select("start_s", "mean_active", "max_active").to_dicts()
    steps.append({**steps[-1], "start_s": rows["end_s"][-1]})
    end = float(rows["end_s"].max())  # type: ignore[arg-type]
    unit, options = axes.since_start(end)
    x = charts.field(
        "start_s:Q",
        title=f"time since its start ({unit})",
        scale=axes.scale(domain=[0, end], nice=False),
        axis=axes.axis(**options),
    )

    def y(field: str) -> charts.Channel:
        return charts.field(
            field,
            title=None,
            scale=axes.scale(domain=[0, max(top, 1) * 1.05], nice=False),
            axis=axes.axis(tickCount=min(max(int(top), 1), 4), format=",~f"),
        )

    data = values(steps)
    area = charts.Chart(data).mark(
        "area", interpolate="step-after", opacity=0.28, color=one.colour, clip=True
    )
    line = charts.Chart(data).mark(
        "line", interpolate="step-after", strokeWidth=1.25, color=one.colour, clip=True
    )
    where = [first["place"], *(f"{numbers.estimate(first[key])} {unit}" for key, unit in differing)]
    title = f"{f'{one.app}, ' if named else ''}{' · '.join(where)}"
    return charts.layer(
        area.encode(x=x, y=y("mean_active:Q"), y2="max_active:Q"),
        line.encode(x=x, y=y("mean_active:Q")),
    ).properties(
        width=theme.HALF_WIDTH,
        height=HEIGHT,
        title=charts.title(
            f"{title}: {numbers.plural(first['transfers'], 'transfer')}",
            fontSize=12,
            fontWeight=600,
            color=one.text_colour,
            frame="group",
            limit=theme.HALF_WIDTH - 20,
        ),
        description=about(y="transfers at once", application=one.label, place=" · ".join(where)),
    )


def _blank_panel() -> Any:
    return (
        charts.Chart(values([{"x": 0}]))
        .mark("point", opacity=0)
        .properties(width=theme.HALF_WIDTH, height=HEIGHT)
    )
