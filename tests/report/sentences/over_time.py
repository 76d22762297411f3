"""Sentences under the figures of throughput over time: one host, and between the sites."""
# ruff: noqa: E501 - sentences stand as they are printed

from __future__ import annotations

import re
from collections.abc import Callable

from flowsweep import numbers
from sentences.asked import VALID, Asked, N, Sentence, always
from sentences.runs import DRAWN, drawn_runs, traffic

OUTSIDE = rf"({N}(?: \S*B)) that passed before or after it are not drawn\."
WITHIN = "is_within"


def _series_bins(asked: Asked) -> int:
    rows = asked.rows("throughput_series").filter(WITHIN)
    return int(rows["bins"].max() or 0)


def _outside(query: str) -> Callable[[Asked], bool]:
    def due(asked: Asked) -> bool:
        rows = asked.rows(query)
        drawn = asked.warehouse.select("select run from shown_runs")["run"].to_list()
        from polars import col

        return bool(rows.filter(~col(WITHIN) & col("run").is_in(drawn)).height)

    return due


def _peaks(asked: Asked) -> list[tuple[float, float]]:
    """Returns the lower and the higher peak of the two directions of each application."""
    rows = asked.rows("throughput_series").filter(WITHIN)
    return [
        (min(peaks), max(peaks))
        for _, frame in rows.group_by("app", "problem")
        for peaks in [[one["max_mbit_s"].max() for _, one in frame.group_by("direction")]]
    ]


def _differ(asked: Asked) -> bool:
    peaks = _peaks(asked)
    return len(peaks) > 1 or any(low * 10 < high for low, high in peaks)


def _scales(asked: Asked, match: re.Match[str]) -> bool:
    peaks = _peaks(asked)
    named = ("between applications" in match[0], "between directions" in match[0])
    return named == (len(peaks) > 1, any(low * 10 < high for low, high in peaks))


def _guessed_hosts(asked: Asked) -> bool:
    """Whether the address of a host that is drawn is a guess."""
    rows = asked.rows("throughput_series")
    drawn = asked.warehouse.select("select run from shown_runs")["run"].to_list()
    guessed = asked.warehouse.select("select run, host from hosts where is_guessed")
    there = guessed.join(rows.select("run", "host").unique(), on=["run", "host"], how="semi")
    return bool(set(there["run"]) & set(drawn))


def _has_both_families(asked: Asked) -> bool:
    """Whether a host that is drawn has an IPv4 and an IPv6 address."""
    return bool(asked.one(
        "select count(*) from hosts inner join shown_hosts using (run, host)"
        " where run in (select run from shown_runs) and len(addresses) > 1"
    ))  # fmt: skip


def _is_arbitrary(asked: Asked) -> bool:
    """Whether nothing distinguishes a host that is drawn from another host."""
    return bool(asked.one(
        "select count(*) from hosts inner join shown_hosts using (run, host)"
        " where run in (select run from shown_runs) and is_arbitrary"
    ))  # fmt: skip


SERIES = [
    Sentence("throughput_series", DRAWN, drawn_runs),
    Sentence("throughput_series", r"Captured at (\S+) \((.+?)\)\.",
             lambda asked, match: set(asked.rows("throughput_series")["host"]) == {match[1]}),
    Sentence("throughput_series", r"Captured at one host of each run \(.+?\): (.+?)\.",
             lambda asked, _: len(set(asked.rows("throughput_series")["host"])) > 1),
    Sentence("throughput_series", r"Out and in are of the address that is taken for the host's own, as a guess: the one "
             r"that most of its packets carry(, for each version of IP)? \(.+?\)\.",
             lambda asked, match: bool(match[1]) == _has_both_families(asked),
             due=_guessed_hosts),
    Sentence("throughput_series", r"The address of .+? may as well be another host's: nothing in the captures tells them apart\.",
             due=_is_arbitrary),
    Sentence("throughput_series", r"Time shown: (.+?)\.",
             lambda asked, match: set(match[1].split(", ")) == set(asked.warehouse.select(
                 "select distinct covers from windows where run in (select run from shown_runs)"
             )["covers"])),
    Sentence("throughput_series", r"Every bin of .+? ms is drawn\.",
             due=lambda asked: _series_bins(asked) <= 1),
    Sentence("throughput_series", r"Pale: the busiest bin of a column; line: mean of all its bins, "
             rf"empty ones included \(columns of up to ({N}) bins?\)\.",
             lambda asked, match: match[1] == numbers.count(_series_bins(asked)),
             due=lambda asked: _series_bins(asked) > 1),
    Sentence("throughput_series", OUTSIDE, due=_outside("throughput_series")),
    Sentence("throughput_series", r"Scales differ .+?\.", _scales, due=_differ),
    *traffic("throughput_series"),
    *always("throughput_series", r"Wire bytes with link header\.",
             # a clock that jumped is reported in the words of the grade
             r"\S+, \S+: .*?jump.*?\."),
    Sentence("throughput_cdf", rf"Share of (.+?) bins at or below a rate: ({N}) bins? of the host in "
             r"the figure above, at all points\.",
             lambda asked, match: match[2] == numbers.count(asked.one(
                 "select coalesce(sum(bins), 0) from windows inner join shown_hosts using (run, host)"
                 " where run in (select run from pool_runs)"))),
    *always("throughput_cdf", r"Empty bins count: each line starts at their share\."),
    *traffic("throughput_cdf"),
]  # fmt: skip


def _changing(asked: Asked, without: str = "") -> set[str]:
    """Returns the runs of the figure whose links change while they run."""
    found = asked.warehouse.select(
        "select run from link_stretches group by run, site_a, site_b having count(*) > 1"
    )
    drawn = asked.warehouse.select(f"select run from {without}")["run"] if without else []
    return set(found["run"]) & set(asked.rows("wan_throughput")["run"]) - set(drawn)


def _named_change(asked: Asked, match: re.Match[str]) -> bool:
    named = match[1].split(", ")
    return bool(named) and set(named) <= _changing(asked, "shown_runs")


def _unplaced(asked: Asked) -> float:
    """Returns the share of bytes, in runs with sites, with an end at no known site."""
    return float(
        asked.one(f"""
            select coalesce(
                sum(wire_bytes) filter (sender_site is null or receiver_site is null)
                / sum(wire_bytes), 0
            )
            from flows
            where is_counted and run in {VALID}
            and run in (select run from hosts group by run having count(distinct site) > 1)
        """)
        or 0
    )


WAN = [
    Sentence("wan_throughput", r"Besides, of points whose links change in mid-run: (.+?)\.",
             _named_change, due=lambda asked: bool(_changing(asked, "shown_runs"))),
    Sentence("wan_throughput", r"A dotted line with steps: what the links carry, at the edge of the "
             r"panel where that is more than is drawn\.", due=lambda asked: bool(_changing(asked))),
    *always("wan_throughput",
            rf"{N} of {N} such points are drawn; all: flowsweep query reconfiguration DIR\."),
    Sentence("wan_throughput", DRAWN, drawn_runs),
    *always("wan_throughput", r"Above the axis: what the first (?:site|host) sends; below: what comes "
             r"back\. Line: mean of a column, silence included; pale: its busiest step\.",
             r"The last step is as short as what is left\.",
             r"In the titles: the most in any \S+ ms, wherever they begin\.",
             r"Wire bytes counted at the sender, before the link: a burst can exceed the link's rate"
             r"(?: \(dotted\))?\.",
             rf"{N} of {N} pairs of sites are drawn; all: flowsweep query wan_throughput DIR\.",
             r"Pairs with less than 1.0 % of the traffic of their run are not drawn\."),
    Sentence("wan_throughput", rf"({N} \S*B) that crossed before or after the time shown are not "
             r"drawn\.", due=_outside("wan_throughput")),
    Sentence("wan_throughput", r"Some senders were not captured; there it is what arrived\.",
             lambda asked, _: bool(asked.rows("wan_throughput")["is_far_side"].any())),
    Sentence("wan_throughput", r"(\S+ %) of the bytes went to or came from addresses of no known site, "
             r"and are not in it; `hosts` in run\.json names addresses\.",
             lambda asked, match: match[1] == numbers.share(_unplaced(asked)),
             lambda asked: _unplaced(asked) >= 0.01),
    *traffic("wan_throughput"),
    *always("peak_by_ranks", r"At the peak .+? per rank\.",
             r"Points: the most in any \S+ ms of all links and directions together, median over the "
             r"runs; line: from the run with the least to the one with the most; open: mean over the "
             r"run\.",
             r"Dotted: in proportion to the most ranks\. All other axes as at the baseline\.",
             rf"{N} of {N} points are drawn; all: flowsweep query peak_by_ranks DIR\."),
    *traffic("peak_by_ranks"),
    *always("throughput_per_core", r"Dot: mean over the run, all sites together\. Bar: from the site "
             r"with the least traffic per rank to the site with the most\. Tick: the busiest \S+ ms\.",
             rf"{N} of {N} points are drawn; all: flowsweep query throughput_per_core DIR\."),
    Sentence("throughput_per_core", rf"Not drawn: ({N}) rows? whose number of ranks is guessed; all: "
             r"flowsweep query throughput_per_core DIR\.",
             lambda asked, match: match[1] == numbers.count(
                 int(asked.rows("throughput_per_core")["is_ranks_guessed"].sum()))),
    Sentence("throughput_per_core", r"Medians over the runs, divided by all .+? ranks?, idle ones "
             r"included\."),
    Sentence("throughput_per_core", r"The largest peak is (\S+) Mbit/s, \S+ MB/s per rank\.",
             lambda asked, match: match[1] == numbers.estimate(_largest_peak(asked))),
    *traffic("throughput_per_core"),
]  # fmt: skip


def _largest_peak(asked: Asked) -> float:
    from polars import col

    rows = asked.rows("throughput_per_core")
    whole = rows.filter(~col("is_ranks_guessed") & col("site").is_null())
    return float(whole["sent_peak_mbit_s"].max())
