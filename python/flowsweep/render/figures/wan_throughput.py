"""Figure `wan_throughput`: what crosses between two sites over time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from flowsweep import numbers
from flowsweep.render import charts, cuts, doubts, link_changes, merged, silences, theme
from flowsweep.render.figure import Context, Figure, sentence
from flowsweep.render.site_pair_panel import Pair, draw_panel, peaks_near_capacity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowsweep.render.theme import Series

NAME = "wan_throughput"
#: Selects the runs: per application and problem, the baseline first.
RUNS = """
select
    app,
    problem,
    run,
from figure_rows
group by app, problem, is_baseline, run
order by app, problem, is_baseline desc, run
"""
MAX_PANELS = 12
#: A pair of sites with a smaller share of the traffic of its run is not drawn.
NOTABLE = 0.01
#: The most pairs of sites drawn of a run whose links change.
CHANGED_PANELS = 2
#: The most applications with a sentence on how busy the link is.
FINDINGS = 3
#: The most runs with changing links that are drawn, one of each point.
CHANGED_RUNS = 6


@dataclass(frozen=True)
class Selection:
    """The applications, runs and rows of the figure.

    Attributes:
        applications: The applications of which a run is drawn.
        runs: The run of each application and problem.
        changing_runs: Runs whose links change, with the labels of their points.
        changing_points: The number of all points whose links change.
        rows: The rows of all these runs, within the time that is drawn.
        outside_bytes: Bytes that crossed before or after that time.
    """

    applications: list[Series]
    runs: dict[tuple[str, str], str]
    changing_runs: dict[str, str]
    changing_points: int
    rows: pl.DataFrame
    outside_bytes: int

    @cached_property
    def rows_by_run(self) -> dict[str, pl.DataFrame]:
        """The rows of each run."""
        runs = (*self.runs.values(), *self.changing_runs)
        return {run: self.rows.filter(pl.col("run") == run) for run in runs}

    def run_of(self, application: Series) -> str:
        """Returns the run that represents an application."""
        return self.runs[application.app, application.problem]


class Panel(NamedTuple):
    """The content of one panel: a pair of sites in a run of an application."""

    application: Series
    run: str
    pair: Pair


def draw(context: Context) -> Figure | None:
    """Draws throughput between two sites over time, one direction up and the other down."""
    selection = _select(context)
    busiest = [] if selection is None else _choose_busiest(selection)
    if selection is None or not busiest:
        return None
    panels = [*busiest, *_choose_changing(context, selection)]
    first, count = context.first_rows(NAME)
    step_ms = numbers.plain(selection.rows["step_ms"].max())  # type: ignore[arg-type]
    return Figure(
        name=NAME,
        heading=_heading(context, step_ms),
        finding=" ".join(_findings(context, selection)),
        caption=sentence(
            *_describe_marks(context, selection, panels),
            *_describe_doubts(context, selection),
            *_describe_cuts(selection, len(busiest)),
        ),
        notes=_notes(selection, step_ms),
        chart=_draw_panels(context, selection, panels),
        rows=first,
        all_rows=count,
    )


def _select(context: Context) -> Selection | None:
    """Chooses what is drawn; None if there is nothing."""
    every_run = context.query_figure(NAME, RUNS)
    if every_run.is_empty():
        return None
    runs = shown_runs(context, every_run)
    applications = [
        application
        for application in context.series_in(every_run)
        if (application.app, application.problem) in runs
    ]
    if not applications:
        return None
    all_changing = link_changes.find_changing_runs(context, every_run, set(runs.values()))
    changing = dict(list(all_changing.items())[:CHANGED_RUNS])
    rows = context.select_runs(NAME, [*runs.values(), *changing])
    outside_bytes = int(rows.filter(~pl.col("is_within"))["wire_bytes"].sum())
    return Selection(
        applications, runs, changing, len(all_changing), rows.filter("is_within"), outside_bytes
    )


def _choose_busiest(selection: Selection) -> list[Panel]:
    """Chooses the busiest pair of each application, then the second of each, up to a limit."""
    ranked = sorted(
        (
            (place, application.index, Panel(application, run, pair))
            for application in selection.applications
            for run in [selection.run_of(application)]
            for place, pair in enumerate(_rank_pairs(selection.rows_by_run[run]))
        ),
        key=lambda item: item[:2],
    )
    # The first pair of every application is drawn, however many applications there are.
    room = max(MAX_PANELS, len(selection.applications))
    return [panel for _, _, panel in sorted(ranked[:room], key=lambda item: item[1])]


def _choose_changing(context: Context, selection: Selection) -> list[Panel]:
    """Chooses the busiest pairs of each run whose links change."""
    return [
        Panel(application, run, pair)
        for application in selection.applications
        for run in selection.changing_runs
        if not context.select_series(selection.rows_by_run[run], application).is_empty()
        for pair in _rank_pairs(selection.rows_by_run[run])[:CHANGED_PANELS]
    ]


def _select_stretches(context: Context, panel: Panel) -> pl.DataFrame:
    """Selects the stretches of a panel's links; no rows if the links do not change."""
    return link_changes.select_pair(context.model("link_stretches"), panel.run, panel.pair)


def _draw_panels(context: Context, selection: Selection, panels: Sequence[Panel]) -> Any:
    is_alone = len(panels) == 1
    charts_of_panels = [
        draw_panel(
            selection.rows_by_run[panel.run],
            panel.application,
            panel.pair,
            (theme.FULL_WIDTH, 150) if is_alone else (theme.HALF_WIDTH, 96),
            _select_stretches(context, panel),
            name=_name(selection, panel),
        )
        for panel in panels
    ]
    if is_alone:
        return charts_of_panels[0]
    return charts.concat(*charts_of_panels, columns=2, align="each", spacing=18)


def _name(selection: Selection, panel: Panel) -> str:
    """Names a panel: its application if there are several, and its point if links change."""
    label = panel.application.label if len(selection.applications) > 1 else ""
    point = selection.changing_runs.get(panel.run)
    return ", ".join(text for text in (label, point) if text)


def _heading(context: Context, step_ms: str) -> str:
    ends = "sites" if context.has_sites else "hosts"
    unknown = "" if context.has_sites or context.stands_alone else " (no sites are known)"
    return f"Throughput between the {ends}{unknown} over time, {step_ms} ms steps"


def _describe_marks(
    context: Context, selection: Selection, panels: Sequence[Panel]
) -> list[str | None]:
    """States which runs are drawn, and what each mark means."""
    rows, changing = selection.rows, ", ".join(selection.changing_runs)
    is_near = any(
        any(peaks_near_capacity(selection.rows_by_run[panel.run], panel.pair)) for panel in panels
    )
    above = (
        f"Above the axis: what the first {'site' if context.has_sites else 'host'} sends; below: "
        "what comes back. Line: mean of a column, silence included; pale: its busiest step."
    )
    are_changing = any(not _select_stretches(context, panel).is_empty() for panel in panels)
    return [
        context.drawn_runs(selection.runs.values()),
        f"Besides, of points whose links change in mid-run: {changing}." if changing else None,
        above,
        merged.note(context, rows),
        silences.caption(rows.filter(pl.col("cut_before_s") > 0).height),
        "Wire bytes counted at the sender, before the link: a burst can exceed the link's rate"
        + (" (dotted)." if is_near else "."),
        "A dotted line with steps: what the links carry, at the edge of the panel where that "
        "is more than is drawn."
        if are_changing
        else None,
    ]


def _describe_doubts(context: Context, selection: Selection) -> list[str | None]:
    """States which of the rows are less reliable than the others."""
    return [
        "Some senders were not captured; there it is what arrived."
        if selection.rows["is_far_side"].any()
        else None,
        doubts.note_unplaced(context),
        doubts.note_traffic(context, selection.rows.select("run")),
    ]


def _describe_cuts(selection: Selection, busiest: int) -> list[str | None]:
    """States which pairs and points are not drawn; `busiest` is the number of pairs drawn."""
    rows_by_run = selection.rows_by_run
    drawn_runs = [
        rows_by_run[selection.run_of(application)] for application in selection.applications
    ]
    are_small = any(
        len(_rank_pairs(rows, 0)) > len(_rank_pairs(rows)) for rows in rows_by_run.values()
    )
    return [
        cuts.describe(
            busiest,
            sum(len(_rank_pairs(rows, 0)) for rows in drawn_runs),
            "pairs of sites are drawn",
            NAME,
        ),
        cuts.describe(
            len(selection.changing_runs),
            selection.changing_points,
            "such points are drawn",
            "reconfiguration",
        ),
        f"Pairs with less than {numbers.share(NOTABLE)} of the traffic of their run are not drawn."
        if are_small
        else None,
    ]


def _notes(selection: Selection, step_ms: str) -> str:
    outside_bytes = selection.outside_bytes
    return sentence(
        "The last step is as short as what is left.",
        f"In the titles: the most in any {step_ms} ms, wherever they begin.",
        f"{numbers.size(outside_bytes)} that crossed before or after the time shown are not drawn."
        if outside_bytes
        else None,
    )


def _findings(context: Context, selection: Selection) -> list[str]:
    """States how busy links of constant rate are: the busier direction's mean over the rate."""
    if context.stands_alone or not context.has_sites:
        return []
    sentences = []
    for application in doubts.select_reliable(context, selection.applications)[:FINDINGS]:
        run = selection.run_of(application)
        limited = selection.rows_by_run[run].filter(pl.col("rate_mbit_s") > 0)
        busiest = limited.sort("run_mean_mbit_s", descending=True, maintain_order=True).head(1)
        if busiest.is_empty() or busiest["is_far_side"][0] or busiest["is_doubtful"][0]:
            continue
        row = busiest.row(0, named=True)
        panel = Panel(application, run, (row["from_site"], row["to_site"]))
        if not _select_stretches(context, panel).is_empty():
            continue
        rate = row["rate_mbit_s"] * (row["links"] or 1)
        sentences.append(
            f"{application.label} keeps the link from {row['from_site']} to {row['to_site']} busy "
            f"for {numbers.share(min(row['run_mean_mbit_s'] / rate, 1.0))} of the time: it sends "
            f"{numbers.rate(row['run_mean_mbit_s'])} on average, of {numbers.rate(rate)}."
        )
    return sentences


def shown_runs(context: Context, rows: pl.DataFrame) -> dict[tuple[str, str], str]:
    """Returns the run to draw of each application: that of other figures, or its first here."""
    first_runs = {row[:2]: row[2] for row in rows.select("app", "problem", "run").rows()[::-1]}
    runs_here = set(rows["run"])
    common_runs = {
        row[:2]: row[2]
        for row in context.model("shown_runs").select("app", "problem", "run").rows()[::-1]
        if row[2] in runs_here
    }
    return {key: common_runs.get(key, run) for key, run in first_runs.items()}


def _rank_pairs(rows: pl.DataFrame, least: float = NOTABLE) -> list[Pair]:
    """Ranks pairs of sites, most traffic first; each begins with the site that sends more.

    Args:
        rows: Rows of one run.
        least: The least share of the run's traffic that a pair must have.
    """
    means = {
        row[:2]: row[2]
        for row in rows.select("from_site", "to_site", "run_mean_mbit_s").unique().rows()
    }
    sums = {}
    for (here, there), mean in means.items():
        back = means.get((there, here), 0.0)
        if (mean, here) >= (back, there):
            sums[here, there] = mean + back
    total = sum(means.values())
    ranked = sorted(sums, key=lambda pair: (-sums[pair], pair))
    return [pair for pair in ranked if sums[pair] >= least * total]
