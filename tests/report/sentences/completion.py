"""Sentences under the figures of completion times."""
# ruff: noqa: E501 - sentences stand as they are printed

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from flowsweep import numbers
from sentences.asked import Asked, Check, N, Sentence, always


def _per_point(query: str) -> Check:
    """Returns a check of the least and most runs of a point, and of the number of all runs."""

    def holds(asked: Asked, match: re.Match[str]) -> bool:
        used = asked.rows(query)["runs_used"]
        shown = {match[1], match[2] or match[1]}
        least = used.filter(used > 0).min()
        return shown == {str(least), str(used.max())} and match[3] == str(used.sum())

    return holds


def _has_interval(query: str) -> Callable[[Asked], bool]:
    def due(asked: Asked) -> bool:
        rows = asked.rows(query)
        return bool(rows.filter(~rows["is_baseline"])["slowdown_low"].drop_nulls().len())

    return due


def _completion(axis: str, line: str) -> list[Sentence]:
    query = f"completion_by_{axis}"
    interval = _has_interval(query)

    def left_out(asked: Asked) -> int:
        return int(asked.rows(query)["runs_left_out"].sum())

    return [
        Sentence(query, rf"Points: medians of (\d+)(?: to (\d+))? valid runs each \(({N}) runs?\), "
                 r"small dots: single runs(?:, where an application has up to \d+)?\.",
                 _per_point(query)),
        Sentence(query, rf"Points: (?:())one valid run each(?:())? \(({N}) runs?\)\.",
                 lambda asked, _: asked.rows(query)["runs_used"].max() == 1),
        Sentence(query, r"No run at these points counts\.",
                 lambda asked, _: asked.rows(query)["runs_used"].sum() == 0),
        Sentence(query, rf"Left out: ({N}) runs? \(.+?\), drawn as a cross where it has a time\.",
                 lambda asked, match: match[1] == numbers.count(left_out(asked)),
                 lambda asked: left_out(asked) > 0),
        Sentence(query, r"No run at these points was left out\.",
                 due=lambda asked: left_out(asked) == 0),
        Sentence(query, r"Baseline: .+? Mbit/s\."),
        Sentence(query, r"Vertical rules on points: 95 % interval\.", due=interval),
        Sentence(query, r"Fewer than 3 runs a point, or at the baseline: no intervals\.",
                 due=lambda asked: not interval(asked)),
        *always(query, rf"Lines: linear in {line}, as the thresholds\.",
                 rf"{N} of {N} points are drawn, those without a valid run or without a .+? are not; "
                 rf"all: flowsweep query {query} DIR\."),
        Sentence(query, r"Dashes: smaller socket buffers\.",
                 due=lambda asked: any(
                     frame["buffer_bytes"].n_unique() > 1
                     for _, frame in asked.rows(query).group_by("app", "problem"))),
    ]  # fmt: skip


def _on_lines(asked: Asked) -> Any:
    """Returns the points on numeric axes, which the figure of all axes draws."""
    rows = asked.rows("completion")
    return rows.filter(rows["kind"] == "number")


def _without_slowdown(asked: Asked) -> int:
    rows = _on_lines(asked)
    return int(rows.filter(rows["slowdown"].is_null()).select("app", "problem", "point").n_unique())


def _is_apart(asked: Asked) -> bool:
    rows = _on_lines(asked)
    return bool(rows.filter(~rows["is_reference"])["slowdown_low"].drop_nulls().len())


EVERY_AXIS = [
    *always("completion", r"Median completion time at the points that vary one axis alone, all else as "
             r"at the baseline; straight lines join the medians\.",
             rf"{N} of {N} lines are drawn; all: flowsweep query completion DIR\."),
    Sentence("completion", r"Vertical rules: 95 % interval\.", due=_is_apart),
    Sentence("completion", rf"Not drawn: ({N}) points? without a valid run, of its own or at the "
             r"baseline\.",
             lambda asked, match: match[1] == numbers.count(_without_slowdown(asked)),
             lambda asked: _without_slowdown(asked) > 0),
]  # fmt: skip

COMPLETION = [*EVERY_AXIS, *_completion("rtt", "RTT"), *_completion("rate", "1/rate")]
