"""Figure `limits`: what holds senders back, per point of the sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.render import axes, charts, doubts, held_senders, points, stacked
from flowsweep.render.figure import Context, Figure, sentence
from flowsweep.render.held_senders import CLASSES, LISTED, NOTABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowsweep.render.theme import Series

#: Pixels for the words after a bar.
WORDS = 230
PARTS = [(column, name, colour) for column, name, _, colour in CLASSES]
SHARES = [column for column, *_ in PARTS]


def draw(context: Context) -> Figure | None:
    """Draws shares of the sending time as stacked bars."""
    rows = context.rows("limits")
    if rows.is_empty():
        return None
    shown = context.series_in(rows)
    frames = [context.select_series(rows, one) for one in shown]
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
            "Bars: the time of each flow from first data to last acknowledgement; flows are "
            "weighted by payload"
            + (
                "; single flows were held back by something else than the application for up to "
                f"{numbers.share(most)} of the time."
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
        chart=stacked.draw(
            [
                (one, frame.with_columns(pl.col(SHARES) * 100), PARTS)
                for one, frame in zip(shown, frames, strict=True)
            ],
            stacked.Bars(
                _make_axis, _label_bar, WORDS, lambda percents: numbers.share(percents / 100)
            ),
            are_named=len(shown) > 1 and not context.stands_alone,
        ),
        rows=rows,
    )


def _finding(context: Context, shown: Sequence[Series], rows: pl.DataFrame) -> str:
    """States what the numbers show; for captures alone only of those with the most traffic."""
    certain = doubts.select_reliable(context, shown)
    certain = certain[:LISTED] if context.stands_alone else certain
    if not certain:
        return ""
    frames = [context.select_series(rows, one) for one in certain]
    return held_senders.describe(
        frames, [one.label for one in certain], is_swept=not context.stands_alone
    )


def _find_most(rows: pl.DataFrame) -> float | None:
    most = rows["most_held_share"].max()
    return float(most) if isinstance(most, float) else None


def _make_axis(_: pl.DataFrame) -> charts.Channel:
    return charts.field(
        "from:Q",
        title="share of the sending time (%)",
        scale=axes.scale(domain=[0, 100], nice=False),
        axis=axes.axis(values=[0, 25, 50, 75, 100], grid=True),
    )


def _label_bar(row: dict[str, Any]) -> str:
    """Names the two largest shares that are not the application's."""
    shares = [((row[column] or 0.0) / 100, name) for column, name, _ in PARTS[1:]]
    others = sorted(shares, key=lambda item: -item[0])[:2]
    texts = [f"{name} {numbers.share(share)}" for share, name in others if share >= NOTABLE]
    return ", ".join(texts)
