"""Sentences under the figures of traffic between the sites, along the axes of the sweep."""
# ruff: noqa: E501 - sentences stand as they are printed

from __future__ import annotations

import re
from typing import Any

from polars import DataFrame, col

from flowsweep import numbers
from sentences.asked import Asked, N, Sentence, always


def _on_lines(asked: Asked) -> DataFrame:
    """Returns the rows on numeric axes, without lines that have only one point."""
    rows: DataFrame = asked.rows("path_throughput").filter(col("kind") == "number")
    line = ["app", "problem", "axis", "unit"]
    return rows.filter(col("point").n_unique().over(line) > 1)


def _reaches_link(asked: Asked) -> bool:
    """Whether the rate of a link is within the scale of its application's panels."""
    numeric = asked.rows("path_throughput").filter(col("kind") == "number")
    tops = numeric.group_by("app", "problem").agg(top=1.08 * col("throughput_mbit_s_max").max())
    joined = _on_lines(asked).join(tops, on=["app", "problem"])
    return bool(joined.filter(col("link_mbit_s") <= col("top")).height)


def _marks(asked: Asked) -> DataFrame:
    """Returns the rows that have a place in the figure of bytes in flight."""
    rows: DataFrame = asked.rows("bytes_in_flight")
    known = rows.filter(col("bdp_bytes") > 0)
    sizes = [*known["bdp_bytes"], *known["in_flight_bytes"]]
    return known.filter(col("in_flight_bytes") >= 1e-4 * max(sizes, default=0))


def _hidden(asked: Asked) -> int:
    return int(asked.rows("bytes_in_flight").height - _marks(asked).height)


PARTS = (
    "computing",
    "stall",
    "serialisation",
    "queueing",
    "recovery",
    "propagation",
    "not_explained",
)


def _slowest(asked: Asked, app: str) -> dict[str, Any]:
    rows: DataFrame = asked.rows("time_shares").filter(col("app") == app)
    return rows.sort("path_s").row(-1, named=True)


def _is_made_of(asked: Asked, match: re.Match[str]) -> bool:
    """Whether the printed shares are those of the application's slowest point, largest first."""
    row = _slowest(asked, match["app"].split(" ")[0])
    shares = sorted((row[f"{part}_s"] / row["path_s"] for part in PARTS), reverse=True)
    printed = [part.rsplit(" %", 1)[0] for part in match["parts"].split(", ")]
    wanted = [
        numbers.share(share).removesuffix("\u00a0%").removesuffix(" %")
        for share in shares
        if share >= 0.01
    ]
    crossings = row["crossings"]
    return (
        printed == wanted
        and match["time"] == numbers.seconds(row["path_s"])
        and (match["count"] or "0") == numbers.count(crossings or 0)
    )


def _unexplained(asked: Asked) -> bool:
    rows: DataFrame = asked.rows("time_shares")
    return bool(rows.filter(col("not_explained_s") >= 0.01 * col("path_s")).height)


def _has_no_rate(asked: Asked) -> bool:
    rows: DataFrame = asked.rows("time_shares")
    return bool(rows.filter(col("serialisation_s") == 0, col("queueing_s") > 0).height)


PATH = [
    *always("path_throughput", r"Solid: bytes on the wire over the time of the run\.",
            r"Dashed: goodput, payload sent for the first time\.",
            r"Medians at the points that vary one axis alone\.",
            rf"{N} of {N} panels are drawn; all: flowsweep query path_throughput DIR\.",
            rf"{N} of {N} directions; all: flowsweep query path_throughput DIR\."),
    Sentence("path_throughput", r"Vertical rules: slowest to fastest run\.",
             due=lambda asked: bool(_on_lines(asked).filter(
                 col("throughput_mbit_s_min") < col("throughput_mbit_s_max")).height)),
    Sentence("path_throughput", r"Dotted: rate of the link\.", due=_reaches_link),
    *always("bytes_in_flight", r"Each mark is one direction at a point: its connection with the most "
            r"bytes in flight, median over the runs\.",
            r"Above the dashed line, more is in flight than the path holds, and the rest waits in queues "
            r"or was dropped\.",
            r"Below it, this connection alone never filled the path\."),
    Sentence("bytes_in_flight", r"Ticks: the receiver's largest window\.",
             due=lambda asked: bool(_marks(asked)["window_bytes"].drop_nulls().len())),
    Sentence("bytes_in_flight", rf"Not drawn: ({N}) rows? without a known bandwidth-delay product, or "
             r"with hardly any bytes in flight\.",
             lambda asked, match: match[1] == numbers.count(_hidden(asked)),
             lambda asked: _hidden(asked) > 0),
    *always("time_shares", r"The critical path runs backwards from the end of a run: to the last message that arrived, "
            r"from it to its sender, to the last message that arrived there, and so on\.",
            r"Sender stall: a sender on the path held bytes back, because of a window, its pace, or to wait "
            r"for more data\.",
            rf"{N} of {N} points are drawn; all: flowsweep query time_shares DIR\."),
    Sentence("time_shares", rf"At .*? (?P<app>app\d+) takes (?P<time>[\d.]+ \S+): (?P<parts>[^;.]*(?:\.\d[^;.]*)*)"
             rf"(?:; (?P<count>{N}) messages? on the path cross(?:es)? between the sites(?:, one after the other)?)?\.",
             _is_made_of),
    Sentence("time_shares", r"Where the rate of a link is not known, serialisation is part of queueing\.", due=_has_no_rate),
    Sentence("time_shares", r"Not explained: the path computes more than at the baseline, for example because work "
             r"moved to other hosts, or less, because hosts computed while messages were in flight\.", due=_unexplained),
    Sentence("time_shares", r"Scales differ between applications\.",
             due=lambda asked: asked.rows("time_shares")["app"].n_unique() > 1),
]  # fmt: skip
