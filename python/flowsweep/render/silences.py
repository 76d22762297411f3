"""Cuts long silences out of a time axis: moves the rest, and marks the cuts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep.render import charts, theme
from flowsweep.render.figure import values
from flowsweep.units import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Cuts closer to each other than this share of the axis share a label.
APART = 0.16
#: Measures of the labels, pixels: top of the first row, height of a row, mean width of a letter,
#: and distance from the line.
TOP, LINE, LETTER, GAP = 2, 13, 6, 4


def cut_silences(rows: pl.DataFrame, cut: str) -> pl.DataFrame:
    """Moves `start_s` and `end_s` of the rows to the left by the silences that are cut before them.

    Args:
        rows: Columns of one curve, in the order of time.
        cut: The column with the silence before a row, s.
    """
    moved = pl.col(cut).cum_sum()
    return rows.with_columns(pl.col("start_s") - moved, pl.col("end_s") - moved)


def marks(
    cuts: list[tuple[float, float]], end_s: float, width: int, x: charts.Channel
) -> list[Any]:
    """Draws a dashed line at each cut, with the length of the silence.

    Args:
        cuts: Places of the cuts on the axis, s, and the lengths of the silences, s.
        end_s: The end of the axis.
        width: Width of the panel, pixels.
        x: The axis, for the field `start_s`.
    """
    if not cuts:
        return []
    lines = charts.Chart(values([{"start_s": place} for place, _ in cuts])).mark(
        "rule", strokeDash=[3, 3], color=theme.TEXT, opacity=0.7
    )
    return [lines.encode(x=x), *_draw_labels(_group(cuts, end_s), end_s, width, x)]


def end_of_axis(top: float, *, has_cuts: bool, height: int) -> float:
    """Returns the end of a vertical axis up to `top`, with room above for the labels of cuts.

    Args:
        top: The largest value.
        has_cuts: Whether `marks` draws any.
        height: Height of the panel, pixels.
    """
    return max(1.05 * top, top / (1 - (TOP + LINE) / height) if has_cuts else 0)


def _group(cuts: list[tuple[float, float]], end_s: float) -> list[list[tuple[float, float]]]:
    """Groups cuts that share a label because they are close to each other."""
    groups: list[list[tuple[float, float]]] = []
    for cut in cuts:
        if groups and cut[0] - groups[-1][0][0] < APART * end_s:
            groups[-1].append(cut)
        else:
            groups.append([cut])
    return groups


def _draw_labels(
    groups: list[list[tuple[float, float]]], end_s: float, width: int, x: charts.Channel
) -> Iterator[charts.Chart]:
    """Draws the label of each group beside its line, in the first row with room."""
    row_ends: list[float] = []
    for group in groups:
        start_s, text = group[0][0], _label(group)
        line, length = start_s / end_s * width, GAP + len(text) * LETTER
        is_left = line + length > width
        begin, end = (line - length, line) if is_left else (line, line + length)
        row = next((row for row, taken in enumerate(row_ends) if taken <= begin), len(row_ends))
        row_ends[row : row + 1] = [end]
        label = charts.Chart(values([{"start_s": start_s, "text": text}])).mark("text",
            align="right" if is_left else "left", dx=-GAP if is_left else GAP, baseline="top",
            fontSize=11, color=theme.MUTED,
        )  # fmt: skip
        yield label.encode(x=x, y=charts.value(TOP + row * LINE), text="text:N")


def _label(cuts: list[tuple[float, float]]) -> str:
    length = duration(sum(one for _, one in cuts))
    return f"{length} cut" if len(cuts) == 1 else f"{length} cut in {len(cuts)} silences"


def caption(cuts: int) -> str | None:
    """Explains the dashed lines; None if there are none."""
    if not cuts:
        return None
    return (
        "Dashed: a silence is cut out of the axis, because it lasts a minute or more, and longer "
        "than the rest of the run; the axis counts the remaining time."
    )
