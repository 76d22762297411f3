"""Writes the first sentences on captures alone: what each run sent and received, and no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from flowsweep import numbers
from flowsweep.lists import shorten_list
from flowsweep.render.verdict import Verdict

MAX_RUNS = 4
Row = dict[str, Any]


def verdict(
    requirements: Sequence[Row], totals: Sequence[Row], labels: Sequence[str], grades: Sequence[Row]
) -> Verdict:
    """Writes the sentences for the runs with the most traffic.

    Args:
        requirements: Rows of the query `requirement`.
        totals: Rows of the query `totals`.
        labels: The runs in the order of the report.
        grades: Rows of the model `captures`.
    """
    bad = {row["run"] for row in grades if not row["has_traffic"]}
    by_run = {row["run"]: row for row in requirements}
    sent = {
        row["run"]: row for row in totals if row["all_mb"] is not None or row["data_mb"] is not None
    }
    chosen = [run for run in labels if run in sent and run not in bad]
    hosts = Counter(row["run"] for row in grades)
    sentences = [
        _sentence(_subject(sent[run], hosts[run]), sent[run], by_run.get(run, {}))
        for run in chosen[:MAX_RUNS]
    ]
    if len(chosen) > MAX_RUNS:
        more = len(chosen) - MAX_RUNS
        subject = "1 more run is" if more == 1 else f"{more} more runs are"
        sentences.append(f"{subject} in the table below.")
    if not sentences:
        sentences = ["Nothing can be said of these captures: see the quality table."]
    unknown = [
        "which network these programs need (that takes runs of one program over several networks)"
    ]
    if bad:
        runs = ", ".join(shorten_list(sorted(bad), MAX_RUNS))
        unknown.append(
            f"the traffic of {runs}, whose captures have grade D (see the quality table)"
        )
    if doubled := {row["run"] for row in grades if row["translated_connections"]}:
        runs = ", ".join(shorten_list(sorted(doubled), MAX_RUNS))
        unknown.append(
            f"how much of the traffic of {runs} counts twice, as some connections look captured on "
            "both sides of an address translation (NAT)"
        )
    if any(row["dropped_kernel"] is row["dropped_interface"] is None for row in grades):
        unknown.append("whether packets were dropped (some captures do not record it)")
    return Verdict(sentences, unknown, [])


def _subject(total: Row, hosts: int) -> str:
    """Names the run, or the host of it that the totals are for."""
    is_alone = hosts <= 1 or total["host"] in (None, total["run"])
    return f"**{total['run']}**" if is_alone else f"**{total['host']}** in {total['run']}"


def _sentence(subject: str, total: Row, peak: Row) -> str:
    """States what a host of one run sent and received, and the rate of its busiest bin."""
    if total["all_mb"] is None:
        return (
            f"{subject} holds **{numbers.size(1e6 * total['data_mb'])}** of payload in "
            f"{numbers.plural(total['all_packets'], 'packet')}; logs of connections show no peaks."
        )
    if total["in_mb"] is None and total["out_mb"] is None:
        return f"{subject} holds **{numbers.size(1e6 * total['all_mb'])}**."
    text = f"{subject} sent **{_bytes(total['out_mb'])}** and received **{_bytes(total['in_mb'])}**"
    if peak.get("is_borrowed"):
        return f"{text}; no peak is known, because some of its packets have no time of their own."
    if not peak.get("peak_mbit_s"):
        return f"{text}."
    width = numbers.width(peak["bin_ms"] / 1e3)
    way = "sent" if peak["busier_direction"] == "out" else "received"
    text += f"; in its busiest {width} it {way} at **{numbers.rate(peak['peak_mbit_s'])}**"
    if peak["shortest_ms"] is not None:
        text += f" (not measurable below {numbers.seconds(peak['shortest_ms'] / 1e3)})"
    return f"{text}."


def _bytes(megabytes: float | None) -> str:
    return numbers.size(1e6 * (megabytes or 0))
