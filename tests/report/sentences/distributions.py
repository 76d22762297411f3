"""Sentences under the distributions over all points of the sweep."""
# ruff: noqa: E501 - sentences stand as they are printed

from __future__ import annotations

import re
from collections.abc import Callable

import polars as pl

from sentences.asked import VALID, Asked, N, Sentence, always, counts
from sentences.runs import traffic

_IS_FILLED = pl.col("shorter_runs") < pl.col("runs")
POOLED = "(select run from pool_runs)"
ALL_FLOWS = f"flows where is_counted and protocol in ('tcp', 'udp') and run in {POOLED}"
CENSORED = "(coalesce(start, '') <> 'syn' or coalesce(\"end\", '') not in ('fin', 'rst'))"


def _distribution(query: str) -> list[Sentence]:
    """Returns sentences under families of curves, or small multiples where no axis was varied."""
    return [
        Sentence(query, r"One curve per point of the axis, its runs pooled\.", _is_family),
        Sentence(query, r"Grey band: range of the baseline's runs\.",
                 lambda asked, _: _is_family(asked) and asked.yes(_SEVERAL.format("and is_baseline"))),
        Sentence(query, r"Coloured: (all runs of the point in the title together|the run in the title"
                 r"(?:, or all runs of the point there together)?)(; pale: from the run with the least "
                 r"share to the one with the greatest)?(; grey: the baseline)?\.", _is_drawn),
        *always(query, rf"{N} of {N} points are drawn; all: flowsweep query {query} DIR\."),
    ]  # fmt: skip


_SEVERAL = """(select point from pool_runs inner join points using (point)
where alone is null {} group by point having count(*) > 1)"""


def _is_family(asked: Asked, _: object = None) -> bool:
    """Whether every application has an axis that was varied, and no run stands alone."""
    varied = "select distinct app, problem from axis_points where axis not in ('problem', 'beside')"
    every = "select distinct app, problem from points where beside_app is null"
    return not asked.yes(f"({every} except {varied})") and not asked.yes(
        "pool_runs where alone is not null"
    )


def _is_drawn(asked: Asked, match: re.Match[str]) -> bool:
    """Whether the named parts exist: runs that stand alone, several runs, points to compare."""
    alone = asked.yes("pool_runs where alone is not null")
    points = asked.one("select count(distinct point) from pool_runs")
    return (
        (alone or "the run" not in match[1])
        and (asked.yes(_SEVERAL.format("")) or match[2] is None)
        and (points > 1 or match[3] is None)
    )


def _has_several(query: str) -> Callable[[Asked], bool]:
    """Returns a check whether any row of the query is from several runs."""
    return lambda asked: bool(asked.rows(query)["runs"].max() > 1)


def _flow_distribution(query: str, known: str) -> list[Sentence]:
    censored = f"{ALL_FLOWS} and {known} and {CENSORED}"
    return [
        Sentence(query, rf"({N}) flow directions? of all hosts, each once; forward: from the initiator "
                 r"of the connection\.", counts(f"select count(*) from {ALL_FLOWS} and {known}")),
        Sentence(query, rf"({N}) flow directions? without SYN, or without FIN and RST \(UDP has "
                 r"neither\): begun before or open at the end of the capture, counted with what was "
                 r"seen\.", counts(f"select count(*) from {censored}"),
                 lambda asked: asked.yes(censored)),
        *_distribution(query),
        *traffic(query),
    ]  # fmt: skip


COUNTED_MESSAGES = f"(select sum(messages) from message_sums where run in {VALID})"

DISTRIBUTIONS = [
    Sentence("think_times", rf"({N}) times? from the end of a message to the start of the next in the other "
             r"direction of its connection\.",
             counts("select sum(list_sum(turns)) from turn_histogram where run in " + VALID)),
    *always("think_times", r"Think: measured at the host that answers; wait: at the host "
             r"that asked\.", r"Backward: answers of the host to which the connection was made; forward: "
             r"what the other end sends next\."),
    *_distribution("think_times"),
    Sentence("message_sizes", rf"({N}) messages? as in the figure above; forward: from the initiator "
             r"of the connection\.", counts(f"select {COUNTED_MESSAGES}")),
    *always("message_sizes", r"Sizes are upper bounds: writes that were queued together are one "
             r"message\."),
    *_distribution("message_sizes"),
    Sentence("message_rate_series", rf"({N}) messages? as in the figures above, in steps of .+?, by "
             r"when they began\.",
             counts(f"select sum(messages) from message_sums where span_s > 0 and run in {VALID}")),
    Sentence("message_rate_series", r"Line: mean over the runs of the point that had not ended; pale: "
             r"from the run with fewest to the one with most\.", due=_has_several("message_rate_series")),
    *always("message_rate_series",
             rf"{N} of {N} points are drawn; all: flowsweep query message_rate_series DIR\."),
    Sentence("message_rate_series", r"Scales differ between applications\.",
             due=lambda asked: asked.rows("message_rate_series").select("app", "problem").n_unique() > 1),
    *_distribution("throughput_cdf"),
    *always("monitoring", r"What a monitor reports that averages over windows of this width\.",
             r"Solid: the busiest window; dashed: 99th percentile; grey: mean\.",
             rf"{N} of {N} points are drawn; all: flowsweep query monitoring DIR\."),
    Sentence("monitoring", r"Solid: the busiest window, median of the runs \(vertical line: lowest to "
             r"highest run\); dashed: 99th percentile; grey: mean\.", due=_has_several("monitoring")),
    *always("monitoring", r"The last window of a run holds silence behind it\."),
    Sentence("monitoring", r"Open points: a run is shorter than the window\.",
             due=lambda asked: any(row["shorter_runs"] for row in asked.rows("monitoring").filter(
                 _IS_FILLED | (pl.col("window_ms") == pl.col("window_ms").min())).to_dicts())),
    Sentence("monitoring", r"Windows that are longer than all runs are not drawn\.",
             due=lambda asked: asked.rows("monitoring").filter(
                 ~_IS_FILLED & (pl.col("window_ms") > pl.col("window_ms").min())).height > 0),
    *traffic("monitoring"),
    *_flow_distribution("flow_durations", "duration_ns is not null"),
    *_flow_distribution("flow_rates", "duration_ns > 0 and payload_bytes is not null"),
    *always("flow_rates", r"Payload divided by the duration of the direction; single packets have none "
             r"and are left out\."),
]  # fmt: skip
