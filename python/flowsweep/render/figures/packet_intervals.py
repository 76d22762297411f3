"""Figure `packet_intervals`: gaps between consecutive packets, one row per point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.render import axes, charts, cuts, distributions, doubts, points, theme
from flowsweep.render.figure import Context, Figure, fits, refused, sentence, values
from flowsweep.render.panels import TIP, about

if TYPE_CHECKING:
    from flowsweep.render.theme import Series

LOW_US, HIGH_US = 1.0, 1e6
ZERO_US = 0.35
MAX_ROWS = 6
ROW_HEIGHT = 64
RTT = ("rtt_asked_ms", "rtt_ms")


def draw(context: Context) -> Figure | None:
    """Draws the distribution of packet gaps per point."""
    rows = context.rows("packet_intervals")
    left_out = doubts.note_left_out(context, "has_gaps")
    if rows.is_empty():
        return refused("packet_intervals", rows, left_out)
    shown = context.series_in(rows)
    alone = len(shown) == 1
    columns = [
        _panels(context, context.select_series(rows, one), one, alone=alone) for one in shown
    ]
    # If one of two columns has fewer rows, its place stays empty.
    gap = (
        charts.Chart(values([{}]))
        .mark("point", opacity=0)
        .properties(width=theme.HALF_WIDTH, height=ROW_HEIGHT)
    )
    cells = []
    for first in range(0, len(columns), 1 if alone else 2):
        pair = columns[first : first + (1 if alone else 2)]
        for number in range(max(map(len, pair))):
            cells += [panels[number] if number < len(panels) else gap for panels in pair]
    title = charts.title(
        "share of gaps per 1/20 decade (%)",
        fontSize=12, fontWeight=500, color=theme.MUTED, offset=6, frame="bounds",
    )  # fmt: skip
    chart: Any = charts.concat(
        *cells, columns=1 if alone else 2, align="each", spacing=12, title=title
    )
    pools = rows.unique(subset=["point", "run"])
    total = rows.unique(subset=["point", "run", "stream"])
    numbers_of = [
        len(distributions.pools(context.select_series(rows, one), "stream")) for one in shown
    ]
    drawn = sum(map(len, columns))
    return Figure(
        name="packet_intervals",
        caption=sentence(
            f"{numbers.plural(int(total['of_count'].sum()), 'gap')} between consecutive packets of "
            f"a flow{context.terms.scope}, at the receiving host if that was captured; "
            f"{numbers.plural(int(pools['runs'].sum()), 'run')}{context.terms.at_all}.",
            "Filled: the direction of each connection with more payload; grey line: the other.",
            _describe_predicted(rows),
            left_out,
            cuts.describe(drawn, sum(numbers_of), "points are drawn", "packet_intervals"),
        ),
        notes="Data and bare ACK packets count together. Height: share of all gaps of the "
        "direction per 1/20 decade. The shares in the titles are exact to the buckets of the "
        "tables, 1.6 % wide: a range where a bucket lies on both sides of a limit. Where the mean "
        "frame of a direction is shorter than half a full one, back to back is left out: small "
        "packets are closer to each other.",
        chart=chart,
        rows=rows,
    )


def _describe_predicted(rows: pl.DataFrame) -> str | None:
    """States which gaps are predicted, and which the titles count; None if none is."""
    places = [
        name
        for column, name in (
            ("back_to_back_us", "back-to-back packets of 1,514 bytes at the rate of the link"),
            ("near_rtt_low_us", "the RTT"),
        )
        if rows.filter(pl.col(column) > 0).height
    ]
    if not places:
        return None
    return f"Dotted: the gap of {', and '.join(places)}. In the titles: {_describe_near(rows)}."


def _describe_near(rows: pl.DataFrame) -> str:
    """States which gaps the titles count, by the limits of the query."""
    known = rows.filter(pl.col("back_to_back_us") > 0)
    parts = []
    if known.height:
        factor = known["back_to_back_limit_us"][0] / known["back_to_back_us"][0]
        parts.append(f"the share up to {factor:.4g} times back to back")
    known = rows.filter(pl.col("near_rtt_low_us") > 0)
    if known.height:
        factor = (known["near_rtt_high_us"][0] / known["near_rtt_low_us"][0]) ** 0.5
        parts.append(f"the share within a factor of {factor:.4g} of the RTT")
    return " and ".join(parts)


def _panels(context: Context, rows: pl.DataFrame, one: Series, *, alone: bool) -> list[Any]:
    found = distributions.pools(rows, "stream")
    kept = _choose_pools(context, rows, list(found), one)
    width = theme.FULL_WIDTH if alone else theme.HALF_WIDTH
    frames = [
        rows.filter((pl.col("point") == point) & (run is None or pl.col("run") == run))
        for point, run in kept
    ]
    top = max(float(frame["share"].max()) for frame in frames) * 100  # type: ignore[arg-type]
    # If only the RTT is varied, its value says more than the point's name.
    by_rtt = all(
        pl.concat(frames)[column].n_unique() <= 1
        for column in points.COLUMNS
        if column not in RTT and column != "queue_bytes"
    ) and all(run is None for _, run in kept)
    return [
        _panel(
            frame, one, frame["rtt_ms"][0], width, top, name="" if by_rtt else found[pool],
            first=number == 0, last=number == len(kept) - 1, alone=alone,
        )
        for number, (pool, frame) in enumerate(zip(kept, frames, strict=True))
    ]  # fmt: skip


def _choose_pools(
    context: Context, rows: pl.DataFrame, pools: list[distributions.Pool], one: Series
) -> list[distributions.Pool]:
    """Chooses points along the RTT and the ends of other axes; of captures alone some runs."""
    ends = points.choose_extremes(context, one.app, one.problem, MAX_ROWS)
    along = context.model("axis_points").filter(
        pl.col("app") == one.app, pl.col("problem") == one.problem, pl.col("axis") == "rtt",
        pl.col("point").is_in(rows["point"].implode()),
    ).sort("x")["point"].to_list()  # fmt: skip
    room = MAX_ROWS - len([point for point in ends if point not in along])
    chosen = {along[place] for place in cuts.choose_evenly(len(along), max(room, 2))} | {*ends}
    kept = [pool for pool in pools if pool[0] in chosen]
    return [kept[place] for place in cuts.choose_evenly(len(kept), MAX_ROWS)] or pools[:1]


def _panel(
    rows: pl.DataFrame,
    one: Series,
    rtt: float | None,
    width: int,
    top: float,
    *,
    name: str,
    first: bool,
    last: bool,
    alone: bool,
) -> Any:
    x = _gap_axis(titled=last)
    y = charts.field(
        "share:Q",
        title=None,
        scale=axes.scale(domain=[0, top * 1.08], nice=False),
        axis=axes.axis(tickCount=2, format=",~f"),
    )
    title, places = _peaks(rows, rtt, name)
    layers = _distribution_layers(rows, one, x, y)
    if places:
        layers += _place_layers(places, x, worded=first)
    lines = [title] if fits(title, width) else title.split(": ", 1)
    head = [one.label, *lines] if not alone and first else lines
    return charts.layer(*layers).properties(
        width=width,
        height=ROW_HEIGHT,
        title=charts.title(
            head, fontSize=12, fontWeight=600, offset=5, frame="group",
            color=one.text_colour,
        ),
        description=about(
            x="gap to the packet before", y="share of gaps (%)", application=one.label, point=name
        ),
    )  # fmt: skip


def _gap_axis(*, titled: bool) -> charts.Channel:
    """Returns the log axis of the gaps, with a place for 0."""
    ticks = [ZERO_US, *(10.0**k for k in range(7))]
    return charts.field(
        "x:Q",
        title="gap to the packet before" if titled else None,
        scale=axes.scale(type="log", domain=[ZERO_US / 1.35, HIGH_US], nice=False),
        axis=axes.axis(
            values=ticks,
            labels=titled,
            labelExpr=axes.time_labels(
                [tick / 1e6 for tick in ticks[1:]], {ZERO_US / 1e6: "0"}
            ).replace("datum.value", "(datum.value * 1e-6)"),
        ),
    )


def _distribution_layers(
    rows: pl.DataFrame, one: Series, x: charts.Channel, y: charts.Channel
) -> list[Any]:
    """Draws gaps between data packets as an area, between replies as a line; 0 apart."""
    band = charts.Chart(values([{"x": ZERO_US / 1.35, "end": ZERO_US * 1.35}]))
    area = charts.Chart(values(_steps(rows, "data"))).mark(
        "area",
        interpolate="step-after",
        opacity=0.35,
        color=one.colour,
        line={"color": one.colour, "strokeWidth": 1.25, "interpolate": "step-after"},
        clip=True,
    )
    steps = [{**step, TIP: "replies"} for step in _steps(rows, "replies")]
    replies = charts.Chart(values(steps)).mark(
        "line", interpolate="step-after", strokeWidth=1, color=theme.MUTED, opacity=0.8, clip=True
    )
    layers = [
        band.mark("rect", color=theme.GRID).encode(
            x=x, x2="end:Q", y=charts.value(0), y2=charts.value("height")
        ),
        area.encode(x=x, y=y),
        replies.encode(x=x, y=y),
    ]
    zero = rows.filter((pl.col("high_us") == 0) & (pl.col("stream") == "data"))
    if not zero.is_empty():
        shares = [{"x": ZERO_US, "share": share * 100} for share in zero["share"]]
        bar = charts.Chart(values(shares)).mark("bar", width=9, color=one.colour, opacity=0.6)
        layers.append(bar.encode(x=x, y=y))
    return layers


def _place_layers(places: list[dict[str, Any]], x: charts.Channel, *, worded: bool) -> list[Any]:
    """Draws a line at each predicted gap; with `worded` its name, on the side with room."""
    marks = charts.Chart(values(places))
    layers = [marks.mark("rule", strokeDash=[2, 2], color=theme.TEXT, opacity=0.7).encode(x=x)]
    if worded:
        layers += [
            marks.filtered(side)
            .mark("text", align=align, dx=dx, fontSize=11, color=theme.MUTED)
            .encode(x=x, y=charts.value(6), text="text:N")
            for side, align, dx in (("datum.is_left", "right", -4), ("!datum.is_left", "left", 4))
        ]
    return layers


def _steps(rows: pl.DataFrame, stream: str) -> list[dict[str, float]]:
    """Returns the shares of one stream as steps, which fall to 0 at empty buckets."""
    own = rows.filter((pl.col("stream") == stream) & (pl.col("high_us") > 0)).sort("low_us")
    found: list[dict[str, float]] = []
    end = LOW_US
    for row in own.iter_rows(named=True):
        if row["low_us"] > end * 1.01:
            found.append({"x": end, "share": 0.0})
        found.append({"x": row["low_us"], "share": row["share"] * 100})
        end = row["high_us"]
    return [*found, {"x": end, "share": 0.0}, {"x": HIGH_US, "share": 0.0}]


def _peaks(
    rows: pl.DataFrame, rtt: float | None, name: str = ""
) -> tuple[str, list[dict[str, Any]]]:
    """Returns the row's title with the shares at the predicted gaps, and these gaps."""
    title = name or ("" if rtt is None else f"RTT {numbers.estimate(rtt)} ms")
    parts, places = [], []
    data = rows.filter(pl.col("stream") == "data")
    # The caption states no shares if only the other stream was captured.
    row = (data if data.height else rows).row(0, named=True)
    if row["back_to_back_us"]:
        if data.height:
            parts.append(f"{_share(row, 'back_to_back_share')} back to back")
        places.append({"x": row["back_to_back_us"], "text": "back to back", "is_left": True})
    if rtt:
        if data.height:
            parts.append(f"{_share(row, 'near_rtt_share')} near RTT")
        places.append({"x": rtt * 1e3, "text": "RTT", "is_left": False})
    return ": ".join(part for part in (title, ", ".join(parts)) if part), places


def _share(row: dict[str, Any], column: str) -> str:
    """Formats a share, or a range if a bucket lies on the limit."""
    low, high = numbers.share(row[column]), numbers.share(row[f"{column}_most"])
    return low if low == high else f"{low.removesuffix(' %')} to {high}"
