"""Figure `limits`: what holds the senders back, per point of the sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowsweep import numbers
from flowsweep.render import axes, charts, doubts, held_senders, points, stacked
from flowsweep.render.figure import Context, Figure, sentence
from flowsweep.render.held_senders import CLASSES, FEW, NOTABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from flowsweep.render.theme import Series

WORDS = 230


def draw(context: Context) -> Figure | None:
    """Shares of the sending time, as stacked bars."""
    rows = context.rows("limits")
    if rows.is_empty():
        return None
    shown = context.series_in(rows)
    frames = [context.select_series(rows, one) for one in shown]
    names = [points.labels(frame) for frame in frames]
    left = max(map(points.width, names))
    # The same in every panel, because they share one legend.
    drawn = [points.choose_drawn(frame) for frame in frames]
    kinds = stacked.kinds_in(
        drawn, ((column, label, colour) for column, label, _, colour in CLASSES)
    )
    panels = [
        _panel(frame, one, kinds, left, alone=len(shown) == 1 or context.stands_alone)
        for frame, one in zip(frames, shown, strict=True)
    ]
    unknown, total = int(rows["unknown_directions"].sum()), int(rows["directions"].sum())
    reasons = held_senders.list_reasons(rows)
    return Figure(
        name="limits",
        finding=_finding(context, shown, rows),
        caption=sentence(
            f"{numbers.count(total)} TCP flow directions with payload"
            + ("" if context.stands_alone else f" of the valid runs,{context.terms.scope}")
            + ", each in the capture of the host that sent.",
            doubts.note_udp(rows),
            doubts.note_accompanied(context),
            "Bars: the time of each flow from first data to last acknowledgement; a flow counts as "
            "much as its payload"
            + (
                f"; in single flows up to {numbers.share(most)} was not the application's."
                if (most := _find_most(rows)) is not None
                else "."
            ),
            points.note_left_out(frames, "limits"),
        ),
        notes="Inferred from headers. "
        + "".join(f"{text} " for text in [held_senders.describe_unknown(unknown, reasons)] if text)
        + "Application: nothing was left to send, and no answer under way. "
        "Other side: an answer was under way; of this the other host took what its own "
        "application took, by its capture, and the network at least the smallest RTT for each "
        "answer. "
        "Network: congestion window, rate or recovery from loss.",
        chart=stacked.below_each_other(panels).properties(padding=stacked.PADDING),
        rows=rows,
    )


def _finding(context: Context, shown: Sequence[Series], rows: pl.DataFrame) -> str:
    """What the numbers say; of captures alone a sentence for those with most traffic."""
    certain = doubts.select_reliable(context, shown)
    certain = certain[:FEW] if context.stands_alone else certain
    if not certain:
        return ""
    frames = [context.select_series(rows, one) for one in certain]
    return held_senders.describe(
        frames, [one.label for one in certain], is_swept=not context.stands_alone
    )


def _find_most(rows: pl.DataFrame) -> float | None:
    most = rows["most_held_share"].max()
    return float(most) if isinstance(most, float) else None


def _panel(
    rows: pl.DataFrame, one: Series, kinds: list[tuple[str, str]], left: int, *, alone: bool
) -> Any:
    chosen = dict(zip(map(tuple, rows.rows()), points.labels(rows), strict=True))
    shown = points.choose_drawn(rows)
    bars = [
        stacked.Bar(
            chosen[key],
            [(label, (row[column] or 0.0) * 100) for column, label, _, _ in CLASSES],
            _label_bar(row),
        )
        for key, row in zip(shown.rows(), shown.iter_rows(named=True), strict=True)
    ]
    x = charts.field(
        "from:Q",
        title="share of the sending time (%)",
        scale=axes.scale(domain=[0, 100], nice=False),
        axis=axes.axis(values=[0, 25, 50, 75, 100], grid=True),
    )
    return stacked.panel(
        bars,
        kinds,
        x,
        None if alone else one,
        left=left,
        words=WORDS,
        written=lambda size: numbers.share(size / 100),
    )


def _label_bar(row: dict[str, Any]) -> str:
    """The two largest shares that are not the application's."""
    others = sorted(CLASSES[1:], key=lambda item: -(row[item[0]] or 0.0))[:2]
    texts = [
        f"{label} {numbers.share(row[column])}"
        for column, label, _, _ in others
        if (row[column] or 0.0) >= NOTABLE
    ]
    return ", ".join(texts)
