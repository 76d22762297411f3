"""Figure `time_shares`: what the completion time is made of, per point of the sweep."""

from __future__ import annotations

from typing import Any

import polars as pl

from flowsweep import numbers
from flowsweep.render import axes, charts, points, stacked
from flowsweep.render.figure import Context, Figure, sentence
from flowsweep.render.time_parts import PARTS, list_shares

#: Colours of the parts, in order; the first applications use none of them.
COLOURS = (*(f"var(--app-{number})" for number in (6, 7, 8, 5, 9, 4)), "var(--grid)")
#: Pixels for the words after a bar.
WORDS = 60
#: The most applications that have a sentence each.
LISTED = 3
#: The least share of the time that is mentioned.
NOTABLE = 0.01


def draw(context: Context) -> Figure | None:
    """Draws seconds of the critical path in each part as stacked bars."""
    rows = context.rows("time_shares")
    if rows.is_empty():
        return None
    shown = context.series_in(rows)
    frames = [context.select_series(rows, one) for one in shown]
    parts = [(*part, colour) for part, colour in zip(PARTS.items(), COLOURS, strict=True)]
    return Figure(
        name="time_shares",
        finding=" ".join(
            _finding(frame, one.label, is_swept=not context.stands_alone)
            for frame, one in list(zip(frames, shown, strict=True))[:LISTED]
        ),
        caption=sentence(
            "The critical path runs backwards from the end of a run: to the last message that "
            "arrived, from it to its sender, to the last message that arrived there, and so on.",
            "Sender stall: a sender on the path held bytes back, because of a window, its pace, or "
            "to wait for more data.",
            _without_rate(rows),
            _not_explained(rows),
            "Scales differ between applications." if len(shown) > 1 else None,
            points.note_left_out(frames, "time_shares"),
        ),
        chart=stacked.draw(
            [(one, frame, parts) for one, frame in zip(shown, frames, strict=True)],
            stacked.Bars(_make_axis, _label_bar, WORDS, numbers.seconds),
            are_named=len(shown) > 1 and not context.stands_alone,
        ),
        rows=rows,
    )


def _without_rate(rows: pl.DataFrame) -> str | None:
    """Explains that without a known rate serialisation is part of queueing; None if not needed."""
    without = rows.filter((pl.col("serialisation_s") == 0) & (pl.col("queueing_s") > 0))
    if without.is_empty():
        return None
    return "Where the rate of a link is not known, serialisation is part of queueing."


def _not_explained(rows: pl.DataFrame) -> str | None:
    """Explains "not explained" to the reader; None where no point has a notable share of it."""
    if rows.filter(pl.col("not_explained_s") >= NOTABLE * pl.col("path_s")).is_empty():
        return None
    return (
        "Not explained: the path computes more than at the baseline, for example because work "
        "moved to other hosts, or less, because hosts computed while messages were in flight."
    )


def _finding(rows: pl.DataFrame, label: str, *, is_swept: bool) -> str:
    """States which parts make up an application's completion time at its slowest point."""
    names = points.labels(rows)
    place = int(rows["path_s"].arg_max() or 0)
    row = rows.row(place, named=True)
    shares = [share for share in list_shares(row) if share[0] >= NOTABLE]
    named = ", ".join(f"{numbers.share(share)} {name}" for share, name in shares)
    time = numbers.seconds(row["path_s"])
    if not is_swept:
        return f"{label} takes {time} from its first message to the last: {named}."
    crossings = _crossings(row["crossings"])
    return f"At {names[place]} {label} takes {time}: {named}{crossings}."


def _crossings(count: float | None) -> str:
    """States how many messages between the sites follow each other; empty if none does."""
    if not count:
        return ""
    number = numbers.count(count)
    if number == "1":
        return "; 1 message on the path crosses between the sites"
    return f"; {number} messages on the path cross between the sites, one after the other"


def _make_axis(drawn: pl.DataFrame) -> charts.Channel:
    return charts.field(
        "from:Q",
        title="seconds on the critical path, mean over the runs",
        scale=axes.scale(domain=[0, drawn["path_s"].max()], nice=False),
        axis=axes.axis(tickCount=6, format=",~f", grid=True),
    )


def _label_bar(row: dict[str, Any]) -> str:
    return numbers.seconds(row["path_s"])
