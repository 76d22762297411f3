"""Long silences that are cut out of a time axis: where the rest moves to, and how a cut looks."""

from __future__ import annotations

from typing import Any

import polars as pl

from flowsweep.render import charts, theme
from flowsweep.render.figure import values
from flowsweep.units import duration

#: Cuts nearer to each other than this share of the axis have one label.
APART = 0.16


def cut_silences(rows: pl.DataFrame, cut: str) -> pl.DataFrame:
    """The rows with `start_s` and `end_s` moved to the left by the silences that are cut before.

    Args:
        rows: Columns of one curve, in the order of time.
        cut: The column that has the silence in front of a row, s.
    """
    moved = pl.col(cut).cum_sum()
    return rows.with_columns(pl.col("start_s") - moved, pl.col("end_s") - moved)


def marks(cuts: list[tuple[float, float]], end_s: float, x: charts.Channel, top: Any) -> list[Any]:
    """A dashed line at each cut, with its length.

    Args:
        cuts: Places on the axis from which the silences are gone, s, and how long these were, s.
        end_s: The end of the axis.
        x: The axis, of the field `start_s`.
        top: Where the words stand, from above.
    """
    if not cuts:
        return []
    lines = charts.Chart(values([{"start_s": place} for place, _ in cuts])).mark(
        "rule", strokeDash=[3, 3], color=theme.TEXT, opacity=0.7
    )
    groups: list[list[tuple[float, float]]] = []
    for cut in cuts:
        if groups and cut[0] - groups[-1][0][0] < APART * end_s:
            groups[-1].append(cut)
        else:
            groups.append([cut])
    found: list[Any] = [lines.encode(x=x)]
    for is_left, kept in (
        (True, [one for one in groups if one[0][0] > end_s * 0.7]),
        (False, [one for one in groups if one[0][0] <= end_s * 0.7]),
    ):
        if kept:
            words = [{"start_s": one[0][0], "text": _label(one)} for one in kept]
            text = charts.Chart(values(words)).mark("text",
                align="right" if is_left else "left", dx=-4 if is_left else 4, baseline="top",
                fontSize=11, color=theme.MUTED,
            )  # fmt: skip
            found.append(text.encode(x=x, y=charts.value(top), text="text:N"))
    return found


def _label(cuts: list[tuple[float, float]]) -> str:
    length = duration(sum(one for _, one in cuts))
    return f"{length} cut" if len(cuts) == 1 else f"{length} cut in {len(cuts)} silences"


def caption(cuts: int) -> str | None:
    """What the dashed lines are; None where there are none."""
    if not cuts:
        return None
    return (
        "Dashed: a silence is cut out of the axis, where it lasts a minute or more and longer than "
        "all that is left of the run; the axis counts the time that is left."
    )
