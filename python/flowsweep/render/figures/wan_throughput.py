"""Figure `wan_throughput`: what crosses between two sites over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from flowsweep import numbers
from flowsweep.render import charts, cuts, doubts, link_changes, merged, silences, theme
from flowsweep.render.figure import Context, Figure, sentence
from flowsweep.render.site_pair_panel import Pair, draw_panel, peaks_near_capacity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowsweep.render.theme import Series

NAME = "wan_throughput"
#: The runs in the order of the rows.
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
#: Pairs of sites of a run whose links change.
CHANGED_PANELS = 2
#: Applications that have a sentence on how busy the link is.
FINDINGS = 3
#: Such runs, one of a point.
CHANGED_RUNS = 6


def draw(context: Context) -> Figure | None:
    """What crosses between two sites over time, one direction up and the other down."""
    every = context.query_figure(NAME, RUNS)
    if every.is_empty():
        return None
    runs = shown_runs(context, every)
    shown = [one for one in context.series_in(every) if (one.app, one.problem) in runs]
    if not shown:
        return None
    every_changed = link_changes.find_changing_runs(context, every, set(runs.values()))
    changed = dict(list(every_changed.items())[:CHANGED_RUNS])
    rows = context.select_runs(NAME, [*runs.values(), *changed])
    outside = int(rows.filter(~pl.col("is_within"))["wire_bytes"].sum())
    rows = rows.filter("is_within")
    own = {run: rows.filter(pl.col("run") == run) for run in (*runs.values(), *changed)}
    chosen = _choose_panels(shown, runs, own)
    if not chosen:
        return None
    left_out = cuts.describe(
        len(chosen),
        sum(len(_pairs(own[runs[one.app, one.problem]], 0)) for one in shown),
        "pairs of sites are drawn",
        NAME,
    )
    chosen += [
        (one, run, pair)
        for one in shown
        for run in changed
        if not context.select_series(own[run], one).is_empty()
        for pair in _pairs(own[run])[:CHANGED_PANELS]
    ]
    stretches = context.model("link_stretches")
    changing = [link_changes.select_pair(stretches, run, pair) for _, run, pair in chosen]
    alone = len(chosen) == 1
    size = (theme.FULL_WIDTH, 150) if alone else (theme.HALF_WIDTH, 96)
    panels = [
        draw_panel(
            own[run],
            one,
            pair,
            size,
            steps,
            name=_name(one, changed.get(run), several=len(shown) > 1),
        )
        for (one, run, pair), steps in zip(chosen, changing, strict=True)
    ]
    first, count = context.first_rows(NAME)
    step_ms = numbers.plain(rows["step_ms"].max())  # type: ignore[arg-type]
    is_near = any(any(peaks_near_capacity(own[run], pair)) for _, run, pair in chosen)
    return Figure(
        name=NAME,
        heading="Throughput between the "
        + ("sites" if context.has_sites else "hosts")
        + ("" if context.has_sites or context.stands_alone else " (no sites are known)")
        + f" over time, {step_ms} ms steps",
        finding=" ".join(_findings(context, rows, shown, runs)),
        caption=sentence(
            context.drawn_runs(runs.values()),
            f"Besides, of points whose links change in mid-run: {', '.join(changed)}."
            if changed
            else None,
            f"Above the axis: what the first {'site' if context.has_sites else 'host'} sends; "
            "below: what comes back. Line: mean of a column, silence included; pale: its busiest "
            "step.",
            merged.note(context, rows),
            silences.caption(rows.filter(pl.col("cut_before_s") > 0).height),
            "Wire bytes counted at the sender, before the link: a burst can exceed the link's rate"
            + (" (dotted)." if is_near else "."),
            "A dotted line with steps: what the links carry, at the edge of the panel where that "
            "is more than is drawn."
            if any(not steps.is_empty() for steps in changing)
            else None,
            "Some senders were not captured; there it is what arrived."
            if rows["is_far_side"].any()
            else None,
            doubts.note_unplaced(context),
            doubts.note_traffic(context, rows.select("run")),
            left_out,
            cuts.describe(
                len(changed), len(every_changed), "such points are drawn", "reconfiguration"
            ),
            f"Pairs with less than {numbers.share(NOTABLE)} of the traffic of their run are not "
            "drawn."
            if any(len(_pairs(own[run], 0)) > len(_pairs(own[run])) for run in own)
            else None,
        ),
        notes=sentence(
            "The last step is as short as what is left.",
            f"In the titles: the most in any {step_ms} ms, wherever they begin.",
            f"{numbers.size(outside)} that crossed before or after the time shown are not drawn."
            if outside
            else None,
        ),
        chart=panels[0] if alone else charts.concat(*panels, columns=2, align="each", spacing=18),
        rows=first,
        all_rows=count,
    )


def _choose_panels(
    shown: Sequence[Series], runs: dict[tuple[str, str], str], own: dict[str, pl.DataFrame]
) -> list[tuple[Series, str, Pair]]:
    """The busiest pair of each application, then the second of each, as far as there is room."""
    ranked = sorted(
        (
            (place, one.index, one, pair)
            for one in shown
            for place, pair in enumerate(_pairs(own[runs[one.app, one.problem]]))
        ),
        key=lambda item: item[:2],
    )
    # The first pair of every application is among them, however many there are.
    room = max(MAX_PANELS, len(shown))
    return [
        (one, runs[one.app, one.problem], pair)
        for _, _, one, pair in sorted(ranked[:room], key=lambda item: item[1])
    ]


def _findings(
    context: Context,
    rows: pl.DataFrame,
    shown: Sequence[Series],
    runs: dict[tuple[str, str], str],
) -> list[str]:
    """Says how busy links of constant rate are: the mean of the fuller direction over it."""
    if context.stands_alone or not context.has_sites:
        return []
    found = []
    for one in doubts.select_reliable(context, shown)[:FINDINGS]:
        run = runs[one.app, one.problem]
        own = rows.filter((pl.col("run") == run) & (pl.col("rate_mbit_s") > 0))
        busiest = own.sort("run_mean_mbit_s", descending=True, maintain_order=True).head(1)
        if busiest.is_empty() or busiest["is_far_side"][0] or busiest["is_doubtful"][0]:
            continue
        row = busiest.row(0, named=True)
        pair = (row["from_site"], row["to_site"])
        if not link_changes.select_pair(context.model("link_stretches"), run, pair).is_empty():
            continue
        rate = row["rate_mbit_s"] * (row["links"] or 1)
        found.append(
            f"{one.label} keeps the link from {row['from_site']} to {row['to_site']} busy for "
            f"{numbers.share(min(row['run_mean_mbit_s'] / rate, 1.0))} of the time: it sends "
            f"{numbers.rate(row['run_mean_mbit_s'])} on average, of {numbers.rate(rate)}."
        )
    return found


def shown_runs(context: Context, rows: pl.DataFrame) -> dict[tuple[str, str], str]:
    """The run that is drawn of each application: that of the other figures, or its first."""
    found = {}
    wanted = {(row[0], row[1]): row[2] for row in rows.select("app", "problem", "run").rows()[::-1]}
    drawn = context.model("shown_runs").select("app", "problem", "run").rows()
    known = set(rows["run"])
    for key, run in wanted.items():
        found[key] = next((row[2] for row in drawn if row[:2] == key and row[2] in known), run)
    return found


def _pairs(rows: pl.DataFrame, least: float = NOTABLE) -> list[Pair]:
    """Pairs of sites, most traffic first; each begins with who sends more.

    Args:
        rows: Those of one run.
        least: The share of the traffic of the run that a pair has at least.
    """
    means = {
        (row[0], row[1]): row[2]
        for row in rows.select("from_site", "to_site", "run_mean_mbit_s").unique().rows()
    }
    total = sum(means.values())
    found = {}
    for (a, b), mean in means.items():
        back = means.get((b, a), 0.0)
        if (mean, a) >= (back, b):
            found[a, b] = mean + back
    ordered = sorted(found, key=lambda pair: (-found[pair], pair))
    return [pair for pair in ordered if found[pair] >= least * total]


def _name(one: Series, point: str | None, *, several: bool) -> str:
    """The head of a panel: the application where there are several, and a point of its own."""
    return ", ".join(text for text in (one.label if several else "", point) if text)
