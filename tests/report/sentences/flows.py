"""Sentences under the figures of flows, messages and packet intervals."""
# ruff: noqa: E501 - sentences stand as they are printed

from __future__ import annotations

import re
from typing import Any

from flowsweep import numbers
from sentences.asked import VALID, Asked, N, Sentence, always, counts
from sentences.runs import left_out, tcp_alone, traffic

ON_PATH = (
    f"flows where is_counted and is_on_path and protocol = 'tcp' and payload_bytes > 0"
    f" and run in {VALID}"
)
SHOWN_FLOWS = (
    "flows where is_counted and protocol in ('tcp', 'udp') and run in (select run from shown_runs)"
)


def _flows(asked: Asked, match: re.Match[str]) -> bool:
    far = asked.one(f"select count(*) from {SHOWN_FLOWS} and not is_at_sender")
    count = re.search(rf"; ({N}) directions? from elsewhere", match[0])
    return match[1] == numbers.count(asked.one(f"select count(*) from {SHOWN_FLOWS}")) and (
        count[1] == numbers.count(far) if count else far == 0
    )


CUT = (
    f"{SHOWN_FLOWS} and (start is distinct from 'syn'"
    " or \"end\" is distinct from 'fin' and \"end\" is distinct from 'rst')"
)


def _messages(asked: Asked, match: re.Match[str]) -> bool:
    rows = asked.rows("message_rate")
    far = float((rows["far_share"] * rows["messages"]).sum()) / int(rows["messages"].sum())
    return match[1] == numbers.count(int(rows["messages"].sum())) and (
        ("seen only far" in match[0]) == (far > 0)
    )


def _may_be_more(asked: Asked) -> list[bool]:
    """For each point, whether there may be over a tenth more messages than were seen."""
    rows = asked.rows("message_rate").select("messages_s_most", "messages_s")
    return [most is None or most > 1.1 * seen for most, seen in rows.iter_rows()]


def _bounds(asked: Asked, match: re.Match[str]) -> bool:
    return ("by a tenth at most" in match[0]) != any(_may_be_more(asked))


def _open_points(asked: Asked, match: re.Match[str]) -> bool:
    guessed = asked.rows("message_rate")["guessed_share"].max() > 0.2
    return ("Open points" in match[0]) == (guessed or any(_may_be_more(asked)))


PLACES = ("back_to_back_us", "near_rtt_low_us")


def _predicted(asked: Asked) -> bool:
    rows = asked.rows("packet_intervals")
    return any(rows[place].drop_nulls().len() for place in PLACES)


def _drawn_flows(asked: Asked) -> Any:
    """Returns the rows of `flow_sizes` that its figure draws."""
    shown = asked.warehouse.select("select run from shown_runs")
    return asked.rows("flow_sizes").join(shown, on="run", how="semi")


FLOWS = [
    Sentence("flow_sizes", rf"({N}) flow directions? of .+?, all hosts, each taken from the capture "
             rf"of the host that sent it(?:; {N} directions? from elsewhere, whose sender was not "
             r"captured)?\.", _flows),
    Sentence("flow_sizes", r"One point per direction\.",
             due=lambda asked: not _drawn_flows(asked)["is_cell"].any()),
    Sentence("flow_sizes", r"Cells of 1/8 and 1/6 decade, area = number of flows\.",
             due=lambda asked: bool(_drawn_flows(asked)["is_cell"].any())),
    Sentence("flow_sizes", rf"Open points: ({N}) without SYN, or without FIN and RST \(UDP has neither\): "
             r"they may have begun before the capture, or ended after it\.",
             counts(f"select count(*) from {CUT}"), due=lambda asked: asked.yes(CUT)),
    *always("flow_sizes", r"Dotted: equal rate\. A direction of one packet lasts 0 s\."),
    *traffic("flow_sizes"),
    Sentence("message_rate", rf"({N}) messages? between the sites(?: \(all, where there is one site\))? of "
             rf"{N} valid runs?, begun within the time of the run, each in the capture of the host "
             r"that sent it(?:; .+? seen only far from their sender)?\.", _messages),
    tcp_alone("message_rate"),
    Sentence("message_rate", r"Open points and ≥ are lower bounds or rest on guessed ends: do not "
             r"compare them\.",
             due=lambda asked: asked.rows("message_rate")["guessed_share"].max() > 0.2
             or any(_may_be_more(asked))),
    *always("message_rate", r"Left: median over the runs of a point; line: from the run with fewest "
             r"to the one with most\.",
             rf"Right: point median, bar 10 to 90 %, tick 99 %, {numbers.TIMES} mean\."),
    Sentence("message_rate", r"Inferred from headers\. Writes that were queued together are one "
             r"message, so numbers are lower bounds, and sizes upper ones(?:\. .+? where that is "
             r"known|: here by a tenth at most, unless some are smaller than all that were sent "
             r"alone)\.", _bounds),
    Sentence("message_rate", r"A pause or a PUSH flag alone marks the end, and may lie within a "
             r"message: .+? of the ends, per point\.(?: Open points: .+? may be compared with "
             r"others\.)?", _open_points),
    Sentence("message_rate", rf"{N} captures? of grade C: read with (?:its|their) notes in the quality "
             r"table\.",
             due=lambda asked: int(asked.rows("message_rate")["doubtful_captures"].sum()) > 0),
    left_out("has_content"),
    Sentence("packet_intervals", rf"({N}) gaps? between consecutive packets of a flow between the "
             r"sites(?: \(all, where there is one site\))?, at the receiving host if that was captured; "
             rf"{N} runs? at all points\.",
             counts("select sum(packets - 1) from interval_streams where is_counted and run in"
                     " (select run from pool_runs)")),
    *always("packet_intervals", r"Filled: the direction of each connection with more payload; grey "
             r"line: the other\.", r"Data and bare ACK packets count together\.",
             r"Height: share of all gaps of the direction per 1/20 decade\.",
             r"The shares in the titles are exact to the buckets of the tables, 1.6 % wide: a range "
             r"where a bucket lies on both sides of a limit\.",
             r"Where the mean frame of a direction is shorter than half a full one, back to back is "
             r"left out: small packets are closer to each other\.",
             rf"{N} of {N} points are drawn; all: flowsweep query packet_intervals DIR\."),
    Sentence("packet_intervals", r"Dotted: the gap of .+?\. In the titles: .+? (?:back to back|of the RTT)\.",
             due=_predicted),
    left_out("has_gaps"),
]  # fmt: skip
