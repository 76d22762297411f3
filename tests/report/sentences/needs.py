"""Sentences about what holds senders back, and what network is needed."""
# ruff: noqa: E501 - sentences stand as they are printed

from __future__ import annotations

import re
from typing import Any

from flowsweep import numbers
from sentences.asked import Asked, N, Sentence, always, counts
from sentences.flows import ON_PATH
from sentences.runs import accompanied, tcp_alone


def _counts_unknown(asked: Asked, match: re.Match[str]) -> bool:
    rows = asked.rows("limits")
    reasons = {part for text in rows["unknown_because"] if text for part in text.split("; ")}
    in_part = "headers do not show it" in reasons
    whole = int(rows["unknown_directions"].sum())
    count = re.search(rf"({N}) directions? as a whole \((.+?)\)", match[0])
    parts = re.search(r"parts of (others|some directions) \(headers do not show it\)", match[0])
    return (
        (count is not None) == (whole > 0)
        and (count is None or count[1] == numbers.count(whole))
        and (count is None or set(count[2].split(", ")) == reasons - {"headers do not show it"})
        and (parts is not None) == in_part
        and (parts is None or (parts[1] == "others") == (whole > 0))
    )


def _has_unknown(asked: Asked) -> bool:
    rows = asked.rows("limits")
    return bool(rows["unknown_directions"].sum() or rows["unknown_because"].drop_nulls().len())


def _most_held(asked: Asked) -> float | None:
    return asked.rows("limits")["most_held_share"].max()  # type: ignore[no-any-return]


def _drawn_thresholds(asked: Asked) -> list[dict[str, Any]]:
    """Returns the thresholds with the socket buffer of their application's baseline."""
    baselines = asked.warehouse.select("select app, problem, buffer_bytes from baselines")
    keys = ["app", "problem", "buffer_bytes"]
    return asked.rows("thresholds").join(baselines, on=keys, nulls_equal=True).rows(named=True)  # type: ignore[no-any-return]


def _is_known(row: dict[str, Any]) -> bool:
    return row["state"] in ("found", "one-sided")


def _has_interval_drawn(asked: Asked) -> bool:
    return any(
        (_is_known(row) and (row["low"], row["high"]) != (None, None))
        or (row["state"] == "cannot tell" and None not in (row["low"], row["high"]))
        for row in _drawn_thresholds(asked)
    )


def _has_interval_around_a_mark(asked: Asked) -> bool:
    """Whether an interval is drawn that is not the whole range tried."""
    return any(
        _is_known(row)
        and (row["low"], row["high"]) != (None, None)
        and {row["low"], row["high"]} != {row["mildest"], row["hardest"]}
        for row in _drawn_thresholds(asked)
    )


def _by_medians(asked: Asked) -> list[dict[str, Any]]:
    return [
        row
        for row in _drawn_thresholds(asked)
        if _is_known(row) and (row["low"], row["high"]) == (None, None)
    ]


NEEDS = [
    Sentence("limits", rf"({N}) TCP flow directions with payload of the valid runs, between the sites"
             r"(?: \(all, where there is one site\))?, each in the capture of the host that sent\.",
             counts(f"select count(*) from {ON_PATH}")),
    tcp_alone("limits"),
    accompanied("limits"),
    Sentence("limits", r"Bars: the time of each flow from first data to last acknowledgement; flows "
             r"are weighted by payload; single flows were held back by something else than "
             r"the application for up to (\S+ %) of the time\.",
             lambda asked, match: match[1] == numbers.share(_most_held(asked) or 0.0),
             lambda asked: _most_held(asked) is not None),
    Sentence("limits", r"Bars: the time of each flow from first data to last acknowledgement; flows "
             r"are weighted by payload\.", due=lambda asked: _most_held(asked) is None),
    *always("limits", r"Application: nothing was left to send, and no answer under way\.",
             r"Other side: an answer was under way; of this the other host took what its own "
             r"application took, by its capture, and the network at least the smallest RTT for each "
             r"answer\.",
             r"Network: congestion window, rate or recovery from loss\.", r"Inferred from headers\.",
             rf"{N} of {N} points are drawn; all: flowsweep query limits DIR\."),
    Sentence("limits", r"Cannot tell: .+?\)\.", _counts_unknown, _has_unknown),
    *always("thresholds", r"Where the median completion time is 10 % \(filled\) and 50 % \(open\) "
             r"above the baseline\.", r"The axis covers the range that was tried\."),
    Sentence("thresholds", r"Bars: 95 % intervals, from one tried point to another\.",
             due=_has_interval_drawn),
    Sentence("thresholds", r"The mark inside assumes a straight line between points\.",
             due=_has_interval_around_a_mark),
    Sentence("thresholds", r"Thin line: the tried points beside it, by their medians alone; an interval "
             r"needs (\d+) runs a point\.",
             lambda asked, match: all(row["runs_beside"] < int(match[1]) for row in _by_medians(asked)),
             lambda asked: bool(_by_medians(asked))),
    Sentence("thresholds", rf"({N}) of ({N}) thresholds, those with the socket buffer of the baseline, "
             r"are drawn; all: flowsweep query thresholds DIR\.",
             lambda asked, match: (match[1], match[2]) == tuple(map(numbers.count, (
                 len(_drawn_thresholds(asked)), asked.rows("thresholds").height))),
             lambda asked: len(_drawn_thresholds(asked)) < asked.rows("thresholds").height),
]  # fmt: skip


def _in_plane(asked: Asked, kind: str, *, drawn: bool) -> int:
    """Counts the rows of `frontier` of a kind that have a place on log axes, or that have none."""
    return sum(
        ((row["rtt_ms"] or 0) > 0 and (row["rate_mbit_s"] or 0) > 0) == drawn
        for row in asked.rows("frontier").rows(named=True)
        if row["kind"] == kind
    )


FRONTIER = [
    *always("frontier", r"Circles: pairs that were tried, with their median slowdown; the colour of "
             r"the cell around a pair changes at 1\.03, 1\.1, 1\.5, 2 and 4\."),
    Sentence("frontier", r"Lines: 10 % \(solid\) and 50 % \(dashed\) slower than the baseline; between "
             r"two tried points straight in RTT or in 1/rate, inside a cell straight as drawn\.",
             lambda asked, _: _in_plane(asked, "line", drawn=True) > 0,
             lambda asked: _in_plane(asked, "line", drawn=True) > 0),
    Sentence("frontier", r"No line of 10 % or 50 % lies between them\.",
             lambda asked, _: _in_plane(asked, "line", drawn=True) == 0,
             lambda asked: _in_plane(asked, "line", drawn=True) == 0),
    Sentence("frontier", rf"({N}) tried points? without an RTT or a limit of the rate (?:is|are) in the "
             r"rows alone\.",
             lambda asked, match: match[1] == numbers.count(_in_plane(asked, "tried", drawn=False)),
             lambda asked: _in_plane(asked, "tried", drawn=False) > 0),
]  # fmt: skip
