"""Writes the verdict's sentence on lightpaths: how many carry what two sites sent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flowsweep import numbers
from flowsweep.lists import join_words, shorten_list

Row = dict[str, Any]
MAX_APPS = 4
#: More pairs of sites than this are counted.
MAX_PAIRS = 3
#: An application whose median rate reaches this share of the links' capacity fills them.
FULL = 0.9


@dataclass(frozen=True)
class Answer:
    """The lightpaths that carry what an application sent between two sites at the baseline.

    Attributes:
        where: Between which sites, as text.
        rate_mbit_s: Rate of one lightpath.
        number: How many carry it for 99 % of the time.
        peak: How many carry it all the time; 0 if that is not known.
        is_filled: The peak is near what the links carry.
        is_burst: For 1 % of the time more was sent than the links carry.
        is_full: Half of the time what was sent is near what the links carry.
    """

    where: str
    rate_mbit_s: float
    number: int
    peak: int
    is_filled: bool
    is_burst: bool = False
    is_full: bool = False


def sentence(
    rows: Sequence[Row], labels: dict[tuple[str, str], str], *, has_sites: bool = True
) -> str | None:
    """Writes one sentence on all applications; None if no link of the baseline has a rate.

    Args:
        rows: Rows of the query `lightpaths`.
        labels: Name of each application and problem, in the order of the report.
        has_sites: Whether rows are between sites; if not, between hosts.
    """
    counted = [row for row in rows if _counts(row)]
    everywhere = _describe_everywhere(counted, has_sites=has_sites)
    carried: dict[Answer, list[str]] = {}
    bursts: dict[Answer, float] = {}
    for key, label in labels.items():
        own = [row for row in counted if (row["app"], row["problem"]) == key]
        # An unreliable capture allows no statement about its application.
        if any(row["doubtful_runs"] or _is_merged(row) for row in own):
            continue
        rates = sorted({row["lightpath_mbit_s"] for row in own}, reverse=True)
        for rate_mbit_s in rates:
            alike = [row for row in own if row["lightpath_mbit_s"] == rate_mbit_s]
            where = everywhere if len(rates) == 1 else _describe_pairs(alike)
            answer, burst_mbit_s = _answer(alike, where)
            if burst_mbit_s is not None:
                bursts[answer] = max(bursts.get(answer, 0), burst_mbit_s)
            carried.setdefault(answer, []).append(label)
    parts = [
        _describe_answer(answer, named, bursts.get(answer)) for answer, named in carried.items()
    ]
    return f"At the baseline, {'; '.join(parts)}." if parts else None


def _answer(rows: Sequence[Row], where: str) -> tuple[Answer, float | None]:
    """Returns what carries an application between sites whose links have one rate.

    Returns:
        The lightpaths, and the peak in Mbit/s where bursts of it exceed what they carry.
    """
    most = max(rows, key=lambda row: (row["p99_lightpaths"], row["peak_lightpaths"]))
    is_filled = any(row["is_supply_limited"] for row in rows)
    number, carried_by = max(most["p99_lightpaths"], 1), _links(most)
    rate_mbit_s = most["lightpath_mbit_s"]
    if _fills_links(most):
        return Answer(where, rate_mbit_s, carried_by or number, 0, is_filled, is_full=True), None
    if carried_by is not None and number > carried_by:
        # Bursts are captured in front of the links, which did carry them.
        burst = Answer(where, rate_mbit_s, carried_by, peak=0, is_filled=False, is_burst=True)
        return burst, most["peak_mbit_s"]
    # With more links the peak would be different.
    peak = 0 if is_filled else most["peak_lightpaths"]
    return Answer(where, rate_mbit_s, number, peak, is_filled), None


def _describe_everywhere(rows: Sequence[Row], *, has_sites: bool) -> str:
    are_many = len({(row["site_a"], row["site_b"]) for row in rows}) > 1
    where = "between any two" if are_many else "between the"
    return where + (" sites" if has_sites else " hosts (no sites are known)")


def _describe_pairs(rows: Sequence[Row]) -> str:
    """Names the pairs of sites of one rate, where other pairs have another rate."""
    pairs = dict.fromkeys((row["site_a"], row["site_b"]) for row in rows)
    if len(pairs) > MAX_PAIRS:
        return f"between {numbers.plural(len(pairs), 'pair')} of sites"
    return join_words([f"between {one} and {other}" for one, other in pairs])


def _counts(row: Row) -> bool:
    """Returns whether a row shows how many lightpaths of a known rate carry the baseline."""
    return bool(row["is_baseline"]) and not row["is_rate_assumed"]


def _links(row: Row) -> int | None:
    """Returns the lightpaths that the links of the point amount to; None if unknown."""
    capacity = row["capacity_mbit_s"]
    return None if capacity is None else math.ceil(capacity / row["lightpath_mbit_s"] - 1e-9)


def _fills_links(row: Row) -> bool:
    """Returns whether the median of what was sent is near what the links carry."""
    capacity = row["capacity_mbit_s"]
    return capacity is not None and row["p50_mbit_s"] >= FULL * capacity


def _is_merged(row: Row) -> bool:
    """Returns whether one merged packet takes longer than a step of the measured demand."""
    return row.get("shortest_ms") is not None and row["shortest_ms"] > row["step_ms"]


def _describe_answer(answer: Answer, named: Sequence[str], burst_mbit_s: float | None) -> str:
    where = answer.where
    noun = "lightpath" if answer.number == 1 else "lightpaths"
    carry = "carries" if answer.number == 1 else "carry"
    send = "sends" if len(named) == 1 else "send"
    rate = f"{numbers.plain(answer.rate_mbit_s)} Mbit/s"
    if answer.is_full:
        fill = "fills" if len(named) == 1 else "fill"
        return (
            f"{_join_labels(named)} {fill} **{answer.number}** {noun} of {rate} {where}, "
            "and a faster path might carry more"
        )
    between = f"**{answer.number}** {noun} of {rate} {where} {carry}"
    if burst_mbit_s is not None:
        burst = f"{numbers.estimate(burst_mbit_s)} Mbit/s"
        return (
            f"{between} all that {_join_labels(named)} {send}, but in bursts of up to {burst}, "
            "which queue before the link or are dropped there: a faster one might carry more"
        )
    if answer.is_filled:
        peaks = "the peak exceeds" if len(named) == 1 else "their peaks exceed"
        return (
            f"{between} what {_join_labels(named)} {send} for 99 % of the time, "
            f"but {peaks} 80 % of the capacity: a faster path might carry more"
        )
    if answer.peak <= answer.number:
        return f"{between} all that {_join_labels(named)} {send}"
    return (
        f"{between} what {_join_labels(named)} {send} for 99 % of the time "
        f"(**{answer.peak}** at the peak)"
    )


def _join_labels(labels: Sequence[str]) -> str:
    return join_words(shorten_list([f"**{label}**" for label in labels], MAX_APPS))
