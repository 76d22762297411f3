"""Figure `limits`: what holds the senders back, per point of the sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep.render import numbers, points, stacked
from flowsweep.render.figure import Context, Figure, sentence

if TYPE_CHECKING:
    from flowsweep.render.theme import Series

# column, in the legend, beside a bar and in the sentence, colour: none of an application's first
CLASSES = (
    ("app_share", "application", "the application itself", "var(--app-6)"),
    ("sender_share", "sender's buffer", "the sender's socket buffer", "var(--app-7)"),
    ("receiver_share", "receiver's window", "the receiver's window", "var(--app-5)"),
    ("network_share", "network", "the network", "var(--app-8)"),
    ("unknown_share", "cannot tell", "nobody knows what", "var(--grid)"),
)
HOLDERS = CLASSES[1:4]
WORDS = 230
#: A share that is worth a word beside a bar.
NOTABLE = 0.0005
#: Less of the sending time than this known: no sentence about it.
MOSTLY = 0.5


def shares(context: Context) -> Figure | None:
    """Shares of the sending time, as stacked bars."""
    rows = context.rows("limits")
    if rows.is_empty():
        return None
    shown = context.series_in(rows)
    frames = [context.of(rows, one) for one in shown]
    names = [points.labels(frame) for frame in frames]
    left = max(map(points.width, names))
    # The same in every panel, because they share one legend.
    drawn = [points.drawn(frame) for frame in frames]
    kinds = [
        (label, colour)
        for column, label, _, colour in CLASSES
        if any(frame.filter(pl.col(column) > 0).height for frame in drawn)
    ]
    panels = [
        _panel(frame, one, kinds, left, alone=len(shown) == 1)
        for frame, one in zip(frames, shown, strict=True)
    ]
    unknown, total = int(rows["unknown_directions"].sum()), int(rows["directions"].sum())
    reasons = _reasons(rows)
    return Figure(
        name="limits",
        heading="What holds the senders back, per point of the sweep",
        finding=" ".join(
            finding(frame, one.label) for frame, one in zip(frames, shown, strict=True)
        ),
        caption=sentence(
            f"{numbers.count(total)} TCP flow directions with payload of the valid runs, between "
            "the sites (all, where there is one site), each in the capture of the host that sent.",
            "Bars: time from first data to last acknowledgement, added up over the flows, so a "
            "flow that is open for long and sends little counts like a busy one; in single flows "
            f"up to {numbers.share(_most(rows))} was not the application's."
            if _most(rows) is not None
            else None,
            "Application: nothing was left to send; waiting for an answer from the other side "
            "belongs to it, and with it what a longer RTT costs a program that asks and waits. "
            "Network: congestion window, rate or recovery from loss. Inferred from headers.",
            f"Cannot tell: {numbers.plural(unknown, 'direction')} ({', '.join(reasons)})."
            if unknown
            else None,
            points.left_out(frames),
        ),
        chart=stacked.below_each_other(panels).properties(padding=stacked.PADDING),
        rows=rows,
    )


def _reasons(rows: pl.DataFrame) -> list[str]:
    """Why some directions cannot be told."""
    return sorted({part for text in rows["unknown_because"] if text for part in text.split("; ")})


def _most(rows: pl.DataFrame) -> float | None:
    most = rows["most_held_share"].max()
    return float(most) if isinstance(most, float) else None


def finding(rows: pl.DataFrame, label: str) -> str:
    """What the numbers of one application say, in one sentence.

    Args:
        rows: Its points, the baseline first.
        label: Its name.
    """
    known = rows.filter(pl.col("unknown_share").fill_null(1.0) < MOSTLY)
    if known.is_empty():
        reasons = _reasons(rows) or ["no flow lasted"]
        return f"What holds {label} back: the data cannot answer ({', '.join(reasons)})."
    names = dict(zip(map(tuple, rows.rows()), points.labels(rows), strict=True))
    first = known.row(0, named=True)
    begin = "At the baseline" if first["is_baseline"] else f"At {names[known.row(0)]}"
    column, _, words, _ = max(CLASSES[:4], key=lambda one: first[one[0]])
    said = (
        f"{begin} {words} set the pace of {label} for {numbers.share(first[column])} of the "
        "sending time"
    )
    # The point at which one of the others held it most.
    candidates = [
        (row[holder[0]], -number, holder[2])
        for number, row in enumerate(known.iter_rows(named=True))
        for holder in HOLDERS
    ]
    share, place, holder = max(candidates)
    if known.height == 1:
        return f"{said}."
    if share < NOTABLE:
        return f"{said}; at no point did anything else hold it."
    where = names[known.row(-place)]
    at = "also there" if place == 0 else f"at {where}"
    return f"{said}; {holder} held it most {at}, for {numbers.share(share)}."


def _panel(
    rows: pl.DataFrame, one: Series, kinds: list[tuple[str, str]], left: int, *, alone: bool
) -> Any:
    import altair as alt

    chosen = dict(zip(map(tuple, rows.rows()), points.labels(rows), strict=True))
    shown = points.drawn(rows)
    bars = [
        stacked.Bar(
            chosen[key],
            [(label, (row[column] or 0.0) * 100) for column, label, _, _ in CLASSES],
            _beside(row),
        )
        for key, row in zip(shown.rows(), shown.iter_rows(named=True), strict=True)
    ]
    x = alt.X(
        "from:Q",
        title="share of the sending time (%)",
        scale=alt.Scale(domain=[0, 100], nice=False),
        axis=alt.Axis(values=[0, 25, 50, 75, 100], grid=True),
    )
    return stacked.panel(bars, kinds, x, None if alone else one, left=left, words=WORDS)


def _beside(row: dict[str, Any]) -> str:
    """The two largest shares that are not the application's."""
    others = sorted(CLASSES[1:], key=lambda item: -(row[item[0]] or 0.0))[:2]
    said = [
        f"{label} {numbers.share(row[column])}"
        for column, label, _, _ in others
        if (row[column] or 0.0) >= NOTABLE
    ]
    return ", ".join(said)
