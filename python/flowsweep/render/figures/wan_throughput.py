"""Figure `wan_throughput`: what crosses between two sites over time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.render import axes, charts, cuts, doubts, link_changes, merged, silences, theme
from flowsweep.render.figure import Context, Figure, panel_title, sentence, values
from flowsweep.render.panels import about
from flowsweep.render.throughput import describe_rates

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
#: Least height of a direction, as a share of the other's.
LEAST_SIDE = 0.15
#: The capacity is drawn where the peak comes as near to it as this.
NEAR_CAPACITY = 0.6
#: Pairs of sites of a run whose links change.
CHANGED_PANELS = 2
#: Applications that have a sentence on how busy the link is.
FINDINGS = 3
#: Such runs, one of a point.
CHANGED_RUNS = 6
ARROW = "→"


def draw(context: Context) -> Figure | None:
    """What crosses between two sites over time, one direction up and the other down."""
    every = context.asked(NAME, RUNS)
    if every.is_empty():
        return None
    runs = shown_runs(context, every)
    shown = [one for one in context.series_in(every) if (one.app, one.problem) in runs]
    if not shown:
        return None
    stretches = context.model("link_stretches")
    every_changed = link_changes.runs_of_points(context, every, set(runs.values()))
    changed = dict(list(every_changed.items())[:CHANGED_RUNS])
    drawn = [*runs.values(), *changed]
    rows = context.of_runs(NAME, drawn)
    outside = int(rows.filter(~pl.col("is_within"))["wire_bytes"].sum())
    rows = rows.filter("is_within")
    own = {run: rows.filter(pl.col("run") == run) for run in drawn}
    # the busiest pair of each application first, then the second of each
    ranked = sorted(
        (
            (place, one.index, one, pair)
            for one in shown
            for place, pair in enumerate(_pairs(own[runs[one.app, one.problem]]))
        ),
        key=lambda item: item[:2],
    )
    if not ranked:
        return None
    # The first pair of every application is among them, however many there are.
    room = max(MAX_PANELS, len(shown))
    chosen = [
        (one, runs[one.app, one.problem], pair)
        for _, _, one, pair in sorted(ranked[:room], key=lambda item: item[1])
    ]
    left_out = cuts.describe(
        len(chosen),
        sum(len(_pairs(own[runs[one.app, one.problem]], 0)) for one in shown),
        "pairs of sites are drawn",
        NAME,
    )
    few = any(len(_pairs(own[run], 0)) > len(_pairs(own[run])) for run in own)
    chosen += [
        (one, run, pair)
        for one in shown
        for run in changed
        if not context.of(own[run], one).is_empty()
        for pair in _pairs(own[run])[:CHANGED_PANELS]
    ]
    alone = len(chosen) == 1
    size = (theme.FULL_WIDTH, 150) if alone else (theme.HALF_WIDTH, 96)
    changing = [link_changes.of_pair(stretches, run, pair) for _, run, pair in chosen]
    panels = [
        _panel(
            own[run],
            one,
            pair,
            size,
            steps,
            name=_name(one, changed.get(run), several=len(shown) > 1),
        )
        for (one, run, pair), steps in zip(chosen, changing, strict=True)
    ]
    chart: Any = panels[0] if alone else charts.concat(*panels, columns=2, align="each", spacing=18)
    first, count = context.first_rows(NAME)
    step_ms = numbers.plain(rows["step_ms"].max())  # type: ignore[arg-type]
    far = rows["is_far_side"].any()
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
            "Above the axis: what the first site sends; below: what comes back. Line: mean of a "
            "column, silence included; pale: its busiest step."
            if context.has_sites
            else "Above the axis: what the first host sends; below: what comes back. Line: mean of "
            "a column, silence included; pale: its busiest step.",
            merged.note(context, rows),
            silences.caption(rows.filter(pl.col("cut_before_s") > 0).height),
            "Wire bytes counted at the sender, before the link: a burst can exceed the link's rate"
            + (
                " (dotted)."
                if any(any(_near(_rates(own[run], pair))) for _, run, pair in chosen)
                else "."
            ),
            "A dotted line with steps: what the links carry, at the edge of the panel where that "
            "is more than is drawn."
            if any(not steps.is_empty() for steps in changing)
            else None,
            "Some senders were not captured; there it is what arrived." if far else None,
            doubts.unplaced(context),
            doubts.of_traffic(context, rows.select("run")),
            left_out,
            cuts.describe(
                len(changed), len(every_changed), "such points are drawn", "reconfiguration"
            ),
            f"Pairs with less than {numbers.share(NOTABLE)} of the traffic of their run are not "
            "drawn."
            if few
            else None,
        ),
        notes=sentence(
            "The last step is as short as what is left.",
            f"In the titles: the most in any {step_ms} ms, wherever they begin.",
            f"{numbers.size(outside)} that crossed before or after the time shown are not drawn."
            if outside
            else None,
        ),
        chart=chart,
        rows=first,
        all_rows=count,
    )


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
    for one in doubts.reliable(context, shown)[:FINDINGS]:
        run = runs[one.app, one.problem]
        own = rows.filter((pl.col("run") == run) & (pl.col("rate_mbit_s") > 0))
        busiest = own.sort("run_mean_mbit_s", descending=True, maintain_order=True).head(1)
        if busiest.is_empty() or busiest["is_far_side"][0] or busiest["is_doubtful"][0]:
            continue
        row = busiest.row(0, named=True)
        pair = (row["from_site"], row["to_site"])
        if not link_changes.of_pair(context.model("link_stretches"), run, pair).is_empty():
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


def _pairs(rows: pl.DataFrame, least: float = NOTABLE) -> list[tuple[str, str]]:
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


def _rates(rows: pl.DataFrame, pair: tuple[str, str]) -> tuple[float | None, float, float]:
    """What all links carry, if their rate is known, and the peaks there and back, Mbit/s."""
    sides = [
        rows.filter((pl.col("from_site") == a) & (pl.col("to_site") == b))
        for a, b in (pair, pair[::-1])
    ]
    rate, links = sides[0]["rate_mbit_s"][0], sides[0]["links"][0]
    peaks = [float(side["run_peak_mbit_s"].max() or 0) for side in sides]  # type: ignore[arg-type]
    return rate * (links or 1) if rate else None, peaks[0], peaks[1]


def _name(one: Series, point: str | None, *, several: bool) -> str:
    """The head of a panel: the application where there are several, and a point of its own."""
    return ", ".join(text for text in (one.label if several else "", point) if text)


def _near(rates: tuple[float | None, float, float]) -> tuple[bool, bool]:
    """Whether the peaks there and back come near what the links carry."""
    capacity, there, back = rates
    least = NEAR_CAPACITY * capacity if capacity else float("inf")
    return there >= least, back >= least


def _panel(
    rows: pl.DataFrame,
    one: Series,
    pair: tuple[str, str],
    size: tuple[int, int],
    steps_of_links: pl.DataFrame,
    *,
    name: str,
) -> Any:
    there, back = (
        silences.without(
            rows.filter((pl.col("from_site") == a) & (pl.col("to_site") == b)).sort("start_s"),
            "cut_before_s",
        )
        for a, b in (pair, pair[::-1])
    )
    gaps = there.filter(pl.col("cut_before_s") > 0).select("start_s", "cut_before_s").rows()
    peaks = _rates(rows, pair)[1:]
    # the last step is shorter, and may be higher than the peak
    tops = [float(side["max_mbit_s"].max() or 0) for side in (there, back)]  # type: ignore[arg-type]
    up = max(peaks[0], tops[0], peaks[1] * LEAST_SIDE, 1e-3)
    down = max(peaks[1], tops[1], peaks[0] * LEAST_SIDE, 1e-3)
    rates = _rates(rows, pair)
    rules = []
    for sign, near in zip((1, -1), _near(rates), strict=True):
        if near and rates[0] and steps_of_links.is_empty():
            rules.append({"y": sign * rates[0]})
            up, down = (max(up, rates[0]), down) if sign > 0 else (up, max(down, rates[0]))
    end = float(there["end_s"].max())  # type: ignore[arg-type]
    unit, options = axes.since_start(end)
    x = partial(
        charts.field,
        title=f"time since its start ({unit})",
        scale=axes.scale(domain=[0, end], nice=False),
        axis=axes.axis(**options),
    )
    scale = axes.scale(domain=[-down * 1.05, up * 1.05], nice=False)
    axis = axes.axis(tickCount=5, labelExpr="format(abs(datum.value), ',~f')")

    def y(field: str) -> charts.Channel:
        return charts.field(field, title=None, scale=scale, axis=axis)

    layers: list[Any] = []
    for side, sign in ((there, 1), (back, -1)):
        if side.is_empty():
            continue
        steps = [
            {
                "x": row["start_s"],
                "mean": sign * row["mean_mbit_s"],
                "top": sign * row["max_mbit_s"],
            }
            for row in side.iter_rows(named=True)
        ]
        steps.append({**steps[-1], "x": side["end_s"][-1]})
        data = values(steps)
        area = charts.Chart(data).mark(
            "area", interpolate="step-after", opacity=0.28, color=one.colour, clip=True
        )
        line = charts.Chart(data).mark(
            "line", interpolate="step-after", strokeWidth=1.25, color=one.colour, clip=True
        )
        layers += [
            area.encode(x=x("x:Q"), y=y("mean:Q"), y2="top:Q"),
            line.encode(x=x("x:Q"), y=y("mean:Q")),
        ]
    zero = charts.Chart(values([{"y": 0}])).mark("rule", color=theme.AXIS)
    layers.append(zero.encode(y=y("y:Q")))
    if rules:
        limit = charts.Chart(values(rules)).mark("rule", strokeDash=[2, 2], color=theme.MUTED)
        layers.append(limit.encode(y=y("y:Q")))
    if not steps_of_links.is_empty():
        layers += link_changes.lines(steps_of_links, (-down, up), x("x:Q"), y)
    layers += silences.marks(gaps, end, x("start_s:Q"), 2)
    text = f"peak {describe_rates(peaks[0], peaks[1], 'back')}"
    if rows.filter(pl.col("shortest_ms") > pl.col("step_ms")).height:
        text = f"peak not measurable in {numbers.plain(rows['step_ms'][0])} ms"
    sent = f"{pair[0]} {ARROW} {pair[1]} {text}"
    return charts.layer(*layers).properties(
        width=size[0],
        height=size[1],
        title=panel_title(name, sent, one, size[0]),
        description=about(
            y=f"Mbit/s, from {pair[0]} up, back down",
            application=one.label,
            sites=f"{pair[0]} {ARROW} {pair[1]}",
        ),
    )
