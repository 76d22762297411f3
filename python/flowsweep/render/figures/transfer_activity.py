"""Figure `transfer_activity`: transfers under way over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from flowsweep import numbers
from flowsweep.render import axes, charts, cuts, doubts, theme
from flowsweep.render.figure import Context, Figure, sentence, values
from flowsweep.render.figures.wan_throughput import shown_runs
from flowsweep.render.panels import about

if TYPE_CHECKING:
    from flowsweep.render.theme import Series

NAME = "transfer_activity"
#: Fewer transfers in a run are not worth a figure.
FEWEST = 10
TOO_LITTLE = f"no run has {FEWEST} transfers that come and go"
MAX_PANELS = 16
#: Measured values that differ by a larger factor are different.
SAME = 1.05
HEIGHT = 66
#: Selects the places of runs with at least `FEWEST` transfers that come and go. Connections that
#: stay for the whole run are not transfers.
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


class Drawn(NamedTuple):
    """The panels of the figure.

    Attributes:
        panels: The panels, two per line if there are several.
        runs: The runs that they show.
        places: How many places they show.
    """

    panels: list[Any]
    runs: list[str]
    places: int


def draw(context: Context) -> Figure | None:
    """Draws how many transfers to each site are under way, at the baseline and hardest point."""
    rows = context.query_figure(NAME, BUSY)
    if rows.is_empty():
        return None
    main_runs = shown_runs(context, rows)
    runs = _choose_runs(context, rows, main_runs)
    places = _list_places(context, rows, runs)
    drawn = _draw_panels(context, rows, runs, places)
    first_rows, count = context.first_rows(NAME)
    sources = set(rows.filter(pl.col("run").is_in(drawn.runs))["source"])
    return Figure(
        name=NAME,
        caption=sentence(
            *_describe_runs(context, drawn.runs, set(main_runs.values())),
            "Line: mean of a hundredth of the run; pale: most at once.",
            _describe_sources(sources),
            cuts.describe(drawn.places, sum(map(len, places.values())), "sites are drawn", NAME),
            doubts.note_traffic(context, pl.DataFrame({"run": drawn.runs}))
            if "connections" in sources
            else None,
            note_omitted(context, rows, NAME),
        ),
        chart=charts.concat(
            *drawn.panels, columns=min(len(drawn.panels), 2), align="each", spacing=16
        ),
        rows=first_rows,
        all_rows=count,
    )


def _choose_runs(
    context: Context, rows: pl.DataFrame, main_runs: dict[tuple[str, str], str]
) -> dict[Series, list[str]]:
    """Chooses the main run of each application, and the hardest if that is another."""
    chosen = {}
    for one in context.series_in(rows):
        hardest = hardest_run(context.select_series(rows, one))
        chosen[one] = list(dict.fromkeys([main_runs[one.app, one.problem], hardest]))
    return chosen


def _list_places(
    context: Context, rows: pl.DataFrame, runs: dict[Series, list[str]]
) -> dict[Series, list[str]]:
    """Lists the places to which the chosen runs of each application transfer."""
    return {one: sorted(set(_select_chosen(context, rows, one, runs)["place"])) for one in runs}


def _select_chosen(
    context: Context, rows: pl.DataFrame, one: Series, runs: dict[Series, list[str]]
) -> pl.DataFrame:
    return context.select_series(rows, one).filter(pl.col("run").is_in(runs[one]))


def _draw_panels(
    context: Context,
    rows: pl.DataFrame,
    runs: dict[Series, list[str]],
    places: dict[Series, list[str]],
) -> Drawn:
    """Draws a line of panels for each place, as far as there is room: a panel for each run."""
    most_runs = max(map(len, runs.values()))
    room = cuts.share_room([len(names) for names in places.values()], MAX_PANELS // most_runs)
    steps = context.select_runs(NAME, [run for chosen in runs.values() for run in chosen])
    drawn = Drawn([], [], sum(room))
    for one, number in zip(runs, room, strict=True):
        differing = what_differs(_select_chosen(context, rows, one, runs))
        for place in places[one][:number]:
            frames = [_at(steps, run, place) for run in runs[one]]
            frames = [frame for frame in frames if not frame.is_empty()]
            top = max(float(frame["max_active"].max()) for frame in frames)  # type: ignore[arg-type]
            drawn.panels.extend(
                _activity_panel(frame, one, top, differing, named=len(runs) > 1) for frame in frames
            )
            drawn.panels.extend([_blank_panel()] * (len(runs[one]) - len(frames)))
            drawn.runs.extend(frame["run"][0] for frame in frames)
        # The next application begins in the left column.
        if len(runs) > 1 and len(drawn.panels) % 2:
            drawn.panels.append(_blank_panel())
    return drawn


def _describe_runs(
    context: Context, runs: list[str], main_runs: set[str]
) -> tuple[str | None, str | None]:
    """States which runs are drawn, and why."""
    main = [run for run in dict.fromkeys(runs) if run in main_runs]
    hardest = ", ".join(run for run in dict.fromkeys(runs) if run not in main_runs)
    beside = f"Beside it the run at the lowest rate, of these with the longest RTT: {hardest}."
    return context.drawn_runs(main), beside if hardest else None


def _describe_sources(sources: set[str]) -> str:
    if sources == {"application"}:
        return "Spans from the application's record."
    if sources == {"connections"}:
        return "A transfer is a connection with payload, from first to last packet."
    return "Spans from the application's record; without one, connections with payload."


def note_omitted(context: Context, drawn: pl.DataFrame, query: str) -> str | None:
    """Names the applications of a query that a figure does not draw, because they transfer little.

    Args:
        context: Provides the applications.
        drawn: The rows that are drawn.
        query: The query that returns the others.
    """
    drawn_applications = context.series_in(drawn)
    every = context.query_figure(query, "select distinct app, problem from figure_rows")
    others = [one.label for one in context.series_in(every) if one not in drawn_applications]
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
    """Returns the run at the lowest rate; of several the one with the longest RTT."""
    order = rows.sort(
        ["rate_mbit_s", "rtt_ms", "run"], descending=[False, True, False], nulls_last=True
    )
    return str(order["run"][0])


def what_differs(rows: pl.DataFrame) -> list[tuple[str, str]]:
    """Returns the axes, with units, in which runs differ by more than measurement error."""
    differing = []
    for key, unit in (("rate_mbit_s", "Mbit/s"), ("rtt_ms", "ms")):
        measured = rows[key].drop_nulls()
        least, most = (float(value or 0) for value in (measured.min(), measured.max()))  # type: ignore[arg-type]
        if most > least * SAME and rows[key].null_count() == 0:
            differing.append((key, unit))
    return differing


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
