"""Sentences under the figures of what crosses between the sites, along the axes of the sweep."""
# ruff: noqa: E501 - sentences stand as they are printed

from __future__ import annotations

from polars import DataFrame, col

from flowsweep import numbers
from sentences.asked import Asked, N, Sentence, always


def _on_lines(asked: Asked) -> DataFrame:
    """Rows on axes of numbers, without lines of the baseline alone."""
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
    """Rows that have a place in the figure of bytes in flight."""
    rows: DataFrame = asked.rows("bytes_in_flight")
    known = rows.filter(col("bdp_bytes") > 0)
    sizes = [*known["bdp_bytes"], *known["in_flight_bytes"]]
    return known.filter(col("in_flight_bytes") >= 1e-4 * max(sizes, default=0))


def _hidden(asked: Asked) -> int:
    return int(asked.rows("bytes_in_flight").height - _marks(asked).height)


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
    *always("bytes_in_flight", r"Each mark is a direction at one point: the connection with most "
            r"bytes in flight, median over the runs\.",
            r"Above the line more was under way than the path holds: the rest waits in queues\.",
            r"Below it this connection alone never filled the path\."),
    Sentence("bytes_in_flight", r"Ticks: the receiver's largest window\.",
             due=lambda asked: bool(_marks(asked)["window_bytes"].drop_nulls().len())),
    Sentence("bytes_in_flight", rf"Not drawn: ({N}) rows? without a known bandwidth-delay product, or "
             r"with hardly a byte in flight\.",
             lambda asked, match: match[1] == numbers.count(_hidden(asked)),
             lambda asked: _hidden(asked) > 0),
]  # fmt: skip
