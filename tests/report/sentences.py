"""Every sentence under a figure of the report, with the condition under which it is true.

The conditions are asked of the tables, not of the code that prints the sentences. `holds` must
be true wherever a sentence is printed, with what its pattern found; `due` tells where it must be
printed, if it is not always.
"""
# ruff: noqa: E501 - sentences stand as they are printed

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowsweep import numbers

if TYPE_CHECKING:
    from flowsweep.warehouse import Warehouse

Check = Callable[["Asked", "re.Match[str]"], bool]
#: A number as the report prints it.
N = r"(?:[\d.,]+(?: [kM])?)"


@dataclass(frozen=True)
class Asked:
    """The tables of the experiment whose report is read."""

    warehouse: Warehouse

    def one(self, sql: str) -> Any:
        """The first value of a query."""
        return self.warehouse.select(sql).row(0)[0]

    def yes(self, sql: str) -> bool:
        """Whether there are such rows."""
        return bool(self.one(f"select count(*) > 0 from {sql}"))

    def rows(self, name: str) -> Any:
        """The rows of a query."""
        return self.warehouse.rows(name)


@dataclass(frozen=True)
class Sentence:
    """One sentence of the caption or finding of a query's figure."""

    query: str
    pattern: str
    holds: Check | None = None
    due: Callable[[Asked], bool] | None = None


def _always(query: str, *patterns: str) -> list[Sentence]:
    """Sentences that say how a figure is made; they are true of any data."""
    return [Sentence(query, pattern) for pattern in patterns]


def _counts(sql: str) -> Check:
    """The first number that is printed is the answer of a query."""
    return lambda asked, match: match[1] == numbers.count(asked.one(sql))


VALID = "(select run from runs where is_valid and not is_warmup)"


# --- the runs that are drawn ----------------------------------------------------------
def _drawn_runs(asked: Asked, match: re.Match[str]) -> bool:
    """Each reason is true of each run that it is given for."""
    for part in match[1].split("; "):
        reason, _, names = part.rpartition(": ")
        for run in names.split(", "):
            if not _is_drawn_because(asked, run, reason):
                return False
    return True


def _is_drawn_because(asked: Asked, run: str, reason: str) -> bool:
    same = (
        f"(select others.* from runs as others, runs as own where own.run = '{run}'"
        " and (others.app, others.problem) = (own.app, own.problem))"
    )
    traffic = "(select run from host_traffic)"
    grade_d = "(select run from captures where grade = 'D')"
    used = f"{same} as other where is_used and is_baseline and run in {traffic}"
    nearest = (
        f"select min(abs(completion_s - (select median(completion_s) from {same} as other"
        f" where is_used and is_baseline))) from {used}"
    )
    own = (
        f"select abs(completion_s - (select median(completion_s) from {same} as other"
        f" where is_used and is_baseline)) from runs where run = '{run}'"
    )
    if reason == "the baseline run nearest to the median completion time":
        # one of grade D is drawn only where there is no other
        others = (
            ""
            if asked.yes(f"{grade_d} as bad where run = '{run}'")
            else (f" and run not in {grade_d}")
        )
        return bool(asked.one(own) <= asked.one(nearest + others))
    if reason.startswith("the baseline run nearest to the median completion time, those with"):
        passed = asked.yes(f"{used} and run in {grade_d}")
        return passed and bool(asked.one(own) <= asked.one(f"{nearest} and run not in {grade_d}"))
    if reason == "the first by name, no completion time is known":
        return not asked.yes(f"{same} as other where is_used and run in {traffic}")
    if reason == "another, as none at the baseline has traffic and a time":
        return not asked.yes(used)
    if reason == "one that was captured, as no run counts":
        return not asked.yes(f"{same} as other where is_valid and run in {traffic}")
    if reason == "the first that has such traffic":
        return not asked.yes(f"shown_runs where run = '{run}'")
    return False


NAMES = r"[^\s:;,]+(?:, [^\s:;,]+)*?"
DRAWN = rf"One run each, ([^:;.]+: {NAMES}(?:; [^:;.]+: {NAMES})*?)\."

# --- grades ---------------------------------------------------------------------------
LEFT_OUT = (
    rf"Left out: ({N}) captures? of grade [CD](?: and {N} of grade D)? "
    r"\(why: see the quality table\)\."
)


def _left_out(allows: str) -> Sentence:
    """Captures of runs that count whose grade forbids a claim."""
    forbidden = f"captures where not {allows} and run in {VALID}"

    def holds(asked: Asked, match: re.Match[str]) -> bool:
        total = sum(
            int(number) for number in re.findall(r"(\d+) (?:captures? )?of grade", match[0])
        )
        return total == asked.one(f"select count(*) from {forbidden}")

    query = {"has_gaps": "packet_intervals", "has_content": "message_rate"}[allows]
    return Sentence(query, LEFT_OUT, holds, lambda asked: asked.yes(forbidden))


def _traffic(query: str) -> list[Sentence]:
    """What the grades of the captures behind some traffic say of it."""
    return [
        Sentence(query, r"Not to be relied on: .*?of grade D\.",
                 lambda asked, _: asked.yes("captures where grade = 'D'")),
        Sentence(query, rf"{N} captures? of grade C: read with their notes in the quality table\.",
                 lambda asked, _: asked.yes("captures where grade = 'C'")),
    ]  # fmt: skip


# --- one host over time ---------------------------------------------------------------
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
    """Lower and higher peak of the two directions of each application."""
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
    told = ("between applications" in match[0], "between directions" in match[0])
    return told == (len(peaks) > 1, any(low * 10 < high for low, high in peaks))


SERIES = [
    Sentence("throughput_series", DRAWN, _drawn_runs),
    Sentence("throughput_series", r"Captured at (\S+) \((.+?)\)\.",
             lambda asked, match: set(asked.rows("throughput_series")["host"]) == {match[1]}),
    Sentence("throughput_series", r"Captured at one host of each run \(.+?\): (.+?)\.",
             lambda asked, _: len(set(asked.rows("throughput_series")["host"])) > 1),
    Sentence("throughput_series", r"Time shown: (.+?)\.",
             lambda asked, match: set(match[1].split(", ")) == set(asked.warehouse.select(
                 "select distinct covers from windows where run in (select run from shown_runs)"
             )["covers"])),
    Sentence("throughput_series", r"Every bin of .+? ms is drawn\.",
             due=lambda asked: _series_bins(asked) <= 1),
    Sentence("throughput_series", r"Pale: the busiest bin of a column; line: mean of all its bins, "
             rf"empty ones included \(R1: columns of up to ({N}) bins?\)\.",
             lambda asked, match: match[1] == numbers.count(_series_bins(asked)),
             due=lambda asked: _series_bins(asked) > 1),
    Sentence("throughput_series", OUTSIDE, due=_outside("throughput_series")),
    Sentence("throughput_series", r"Scales differ .+?\.", _scales, due=_differ),
    *_traffic("throughput_series"),
    *_always("throughput_series", r"Wire bytes with link header\.",
             # a clock that jumped is told in the words of the grade
             r"\S+, \S+: .*?jump.*?\."),
    Sentence("throughput_cdf", rf"Share of (.+?) bins at or below a rate: ({N}) bins? of the host that "
             r"the figure before shows, at all points\.",
             lambda asked, match: match[2] == numbers.count(asked.one(
                 "select coalesce(sum(bins), 0) from windows inner join shown_hosts using (run, host)"
                 " where run in (select run from pool_runs)"))),
    *_always("throughput_cdf", r"Empty bins count: their share is where the line begins\."),
    *_traffic("throughput_cdf"),
]  # fmt: skip

# --- between the sites ----------------------------------------------------------------
WAN = [
    Sentence("wan_throughput", DRAWN, _drawn_runs),
    *_always("wan_throughput", r"Above the line what the first site sends, below it what comes back; "
             r"line: mean of a column, silence included; pale: its busiest step; the last step is as "
             r"short as what is left\. In the titles: the most in any \S+ ms, wherever they begin\.",
             r"Wire bytes, where they were sent, so before the link: a burst may exceed its rate"
             r"(?: \(dotted\))?\.",
             rf"{N} of {N} pairs of sites are drawn; all: flowsweep query wan_throughput DIR\.",
             r"Pairs with less than 1.0 % of the traffic of their run are not drawn\."),
    Sentence("wan_throughput", rf"({N} \S*B) that crossed before or after the time shown are not "
             r"drawn\.", due=_outside("wan_throughput")),
    Sentence("wan_throughput", r"Some senders were not captured; there it is what arrived\.",
             lambda asked, _: bool(asked.rows("wan_throughput")["is_far_side"].any())),
    Sentence("wan_throughput", r"Not to be relied on, a capture has grade D: .+?\.",
             lambda asked, _: asked.yes("captures where grade = 'D'")),
    *_traffic("wan_throughput"),
    *_always("peak_by_ranks", r"At the peak .+? per rank\.",
             r"Points: the most in any \S+ ms of all links and directions together, median over the "
             r"runs; line: from the run with the least to the one with the most; open: mean over the "
             r"run\.",
             r"Dotted: in proportion to the most ranks\. All other axes as at the baseline\.",
             rf"{N} of {N} points are drawn; all: flowsweep query peak_by_ranks DIR\."),
    *_traffic("peak_by_ranks"),
    *_always("throughput_per_core", r"Point: mean over the run, all sites together; bar: from the "
             r"site whose ranks send or receive least to the one with most; tick: the most in any "
             r"\S+ ms, all sites together\.",
             rf"{N} of {N} points are drawn; all: flowsweep query throughput_per_core DIR\."),
    Sentence("throughput_per_core", rf"Not drawn: ({N}) rows? whose number of ranks is guessed; all: "
             r"flowsweep query throughput_per_core DIR\.",
             lambda asked, match: match[1] == numbers.count(
                 int(asked.rows("throughput_per_core")["is_ranks_guessed"].sum()))),
    Sentence("throughput_per_core", r"Divided by all .+? ranks?, idle ones included; medians over "
             r"the runs\."),
    Sentence("throughput_per_core", r"The largest peak is (\S+) Mbit/s, \S+ MB/s per rank\.",
             lambda asked, match: match[1] == numbers.estimate(_largest_peak(asked))),
    *_traffic("throughput_per_core"),
]  # fmt: skip


def _largest_peak(asked: Asked) -> float:
    from polars import col

    rows = asked.rows("throughput_per_core")
    whole = rows.filter(~col("is_ranks_guessed") & col("site").is_null())
    return float(whole["sent_peak_mbit_s"].max())


# --- flows, limits, messages, intervals -----------------------------------------------
ON_PATH = (
    f"flows where is_counted and is_on_path and protocol = 'tcp' and payload_bytes > 0"
    f" and run in {VALID}"
)
SHOWN_FLOWS = (
    "flows where is_counted and protocol in ('tcp', 'udp') and run in (select run from shown_runs)"
)


def _flows(asked: Asked, match: re.Match[str]) -> bool:
    far = asked.one(f"select count(*) from {SHOWN_FLOWS} and not is_at_sender")
    told = re.search(rf"; ({N}) directions? from elsewhere", match[0])
    return match[1] == numbers.count(asked.one(f"select count(*) from {SHOWN_FLOWS}")) and (
        told[1] == numbers.count(far) if told else far == 0
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
    """Of each point: whether there may be more than a tenth more messages."""
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
    """The rows of `flow_sizes` that its figure draws."""
    shown = asked.warehouse.select("select run from shown_runs")
    return asked.rows("flow_sizes").join(shown, on="run", how="semi")


FLOWS = [
    Sentence("flow_sizes", rf"({N}) flow directions? of .+?, all hosts, each taken from the capture "
             rf"of the host that sent it(?:; {N} directions? from elsewhere, the sender was not "
             r"captured)?\.", _flows),
    Sentence("flow_sizes", r"One point per direction\.",
             due=lambda asked: not _drawn_flows(asked)["is_cell"].any()),
    Sentence("flow_sizes", r"R4: cells of 1/8 and 1/6 decade, area = number of flows\.",
             due=lambda asked: bool(_drawn_flows(asked)["is_cell"].any())),
    Sentence("flow_sizes", rf"Open points: ({N}) that began before or ended after the capture\.",
             _counts(f"select count(*) from {CUT}"), due=lambda asked: asked.yes(CUT)),
    *_always("flow_sizes", r"Dotted: equal rate\. A direction of one packet lasts 0 s\."),
    *_traffic("flow_sizes"),
    Sentence("message_rate", rf"({N}) messages? between the sites \(all, where there is one site\) of "
             rf"{N} valid runs?, begun within the time of the run, each in the capture of the host "
             r"that sent it(?:; .+? seen only far from their sender)?\.", _messages),
    *_always("message_rate", r"Left: median over the runs of a point; line: from the run with fewest "
             r"to the one with most\.",
             rf"Right: point median, bar 10 to 90 %, tick 99 %, {numbers.TIMES} mean\."),
    Sentence("message_rate", r"Inferred from headers\. Writes that were queued together are one "
             r"message, so numbers are lower bounds, and sizes upper ones(?:\. .+? where that is "
             r"known|: here by a tenth at most, unless some are smaller than all that were sent "
             r"alone)\.", _bounds),
    Sentence("message_rate", r"A pause or a PUSH flag alone marks the end, and may lie within a "
             r"message: .+? of the ends, per point\.(?: Open points: .+? may be compared with "
             r"others\.)?", _open_points),
    Sentence("message_rate", rf"{N} captures? of grade C: read with their notes in the quality "
             r"table\.",
             due=lambda asked: int(asked.rows("message_rate")["doubtful_captures"].sum()) > 0),
    _left_out("has_content"),
    Sentence("packet_intervals", rf"({N}) gaps? between consecutive packets of a flow between the "
             r"sites \(any, where there is one site\), at the receiving host if that was captured; "
             rf"{N} runs? at all points\.",
             _counts("select sum(packets - 1) from interval_streams where is_counted and run in"
                     " (select run from pool_runs)")),
    *_always("packet_intervals", r"Filled: the direction of each connection with more payload; grey "
             r"line: the other\. Data and bare ACK packets are not told apart\.",
             r"R3: share of all gaps of the direction per 1/20 decade\.",
             rf"{N} of {N} points are drawn; all: flowsweep query packet_intervals DIR\."),
    Sentence("packet_intervals", r"Dotted: predicted places of .+? from one share to the other\.",
             due=_predicted),
    _left_out("has_gaps"),
]  # fmt: skip


# --- our parser beside Zeek -------------------------------------------------------------
def _both_have(quantity: str) -> Check:
    """Both engines have values of the quantity."""
    return lambda asked, _match: (
        asked.rows("engines").filter(quantity=quantity)["engine"].n_unique() == 2
    )


def _flow_values(asked: Asked, match: re.Match[str]) -> bool:
    """The numbers of flow durations are those of both tables at the hosts that both have read."""
    hosts = "(run, host) in (select (run, host) from agreements) and run in (select run from shown_runs)"
    ours = asked.one(f"select count(*) from stg_flows where {hosts}")
    zeeks = asked.one(f"select count(*) from stg_zeek_flows where {hosts}")
    return (match[1], match[2]) == (numbers.count(ours), numbers.count(zeeks))


ENGINES = [
    *_always("engines", r"CDF over all hosts of .+? whose capture both have read\.",
             r"Solid: our parser; dashed: Zeek\.",
             r"[123] of \d+ applications are drawn; all: flowsweep query engines DIR\."),
    Sentence("engines", rf"Values by our parser and by Zeek: (?:.+?, )?flow duration: ({N}) and ({N})"
             r"(?:, .+?)?\.", _flow_values),
    Sentence("engines", r"Zeek's messages end at a turn of the conversation or behind a short segment "
             r"with PSH; our parser has further signs, so that sizes differ\.", _both_have("message")),
    Sentence("engines", r"Zeek writes times in microseconds\.", _both_have("packet interval")),
]  # fmt: skip


# --- what holds senders back, and what is needed ----------------------------------------
def _untold(asked: Asked, match: re.Match[str]) -> bool:
    rows = asked.rows("limits")
    reasons = {part for text in rows["unknown_because"] if text for part in text.split("; ")}
    in_part = "headers do not tell" in reasons
    whole = int(rows["unknown_directions"].sum())
    told = re.search(rf"({N}) directions? as a whole \((.+?)\)", match[0])
    parts = re.search(r"parts of (others|some directions) \(headers do not tell\)", match[0])
    return (
        (told is not None) == (whole > 0)
        and (told is None or told[1] == numbers.count(whole))
        and (told is None or set(told[2].split(", ")) == reasons - {"headers do not tell"})
        and (parts is not None) == in_part
        and (parts is None or (parts[1] == "others") == (whole > 0))
    )


def _is_untold(asked: Asked) -> bool:
    rows = asked.rows("limits")
    return bool(rows["unknown_directions"].sum() or rows["unknown_because"].drop_nulls().len())


def _most_held(asked: Asked) -> float | None:
    return asked.rows("limits")["most_held_share"].max()  # type: ignore[no-any-return]


def _drawn_thresholds(asked: Asked) -> list[dict[str, Any]]:
    """Those with the socket buffer of an application's baseline."""
    baselines = asked.warehouse.select("select app, problem, buffer_bytes from baselines")
    keys = ["app", "problem", "buffer_bytes"]
    return asked.rows("thresholds").join(baselines, on=keys, nulls_equal=True).rows(named=True)  # type: ignore[no-any-return]


def _is_told(row: dict[str, Any]) -> bool:
    return row["state"] in ("found", "one-sided")


def _has_interval_drawn(asked: Asked) -> bool:
    return any(
        (_is_told(row) and (row["low"], row["high"]) != (None, None))
        or (row["state"] == "cannot tell" and None not in (row["low"], row["high"]))
        for row in _drawn_thresholds(asked)
    )


def _by_medians(asked: Asked) -> list[dict[str, Any]]:
    return [
        row
        for row in _drawn_thresholds(asked)
        if _is_told(row) and (row["low"], row["high"]) == (None, None)
    ]


NEEDS = [
    Sentence("limits", rf"({N}) TCP flow directions with payload of the valid runs, between the sites "
             r"\(all, where there is one site\), each in the capture of the host that sent\.",
             _counts(f"select count(*) from {ON_PATH}")),
    Sentence("limits", r"Bars: time from first data to last acknowledgement, added up over the flows, "
             r"so a flow that is open for long and sends little counts like a busy one; in single "
             r"flows up to (\S+ %) was not the application's\.",
             lambda asked, match: match[1] == numbers.share(_most_held(asked) or 0.0),
             lambda asked: _most_held(asked) is not None),
    *_always("limits", r"Application: nothing was left to send; waiting for an answer from the other "
             r"side belongs to it, and with it what a longer RTT costs a program that asks and "
             r"waits\.",
             r"Network: congestion window, rate or recovery from loss\.", r"Inferred from headers\.",
             rf"{N} of {N} points are drawn; all: flowsweep query limits DIR\."),
    Sentence("limits", r"Cannot tell: .+?\)\.", _untold, _is_untold),
    *_always("thresholds", r"Where the median completion time is 10 % \(filled\) and 50 % \(open\) "
             r"above the baseline\.", r"The axis covers the range that was tried\."),
    Sentence("thresholds", r"Bars: 95 % intervals, from one tried point to another; the mark inside "
             r"assumes a straight line between points\.", due=_has_interval_drawn),
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
    """How many rows of `frontier` of a kind have a place on logarithmic axes, or have none."""
    return sum(
        ((row["rtt_ms"] or 0) > 0 and (row["rate_mbit_s"] or 0) > 0) == drawn
        for row in asked.rows("frontier").rows(named=True)
        if row["kind"] == kind
    )


FRONTIER = [
    *_always("frontier", r"Circles: pairs that were tried, with their median slowdown\."),
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

# --- transfers and the application ----------------------------------------------------
SOURCES = "transfers where run in " + VALID


def _only(source: str) -> Callable[[Asked], bool]:
    return lambda asked: asked.yes(f"{SOURCES} and source = '{source}'")


TRANSFERS = [
    Sentence("transfer_activity", DRAWN, _drawn_runs),
    Sentence("transfer_activity", r"Beside it the run at the lowest rate, of these with the longest "
             r"RTT: .+?\."),
    *_always("transfer_activity", r"Line: mean of a hundredth of the run; pale: most at once\.",
             r"Not drawn: .+? \(no run has 10 transfers that come and go\); all: flowsweep query "
             r"transfer_activity DIR\.",
             rf"{N} of {N} sites are drawn; all: flowsweep query transfer_activity DIR\."),
    Sentence("transfer_activity", r"Spans from the application's record\.",
             lambda asked, _: _only("application")(asked)),
    Sentence("transfer_activity", r"A transfer is a connection with payload, from first to last "
             r"packet\.", lambda asked, _: _only("connections")(asked)),
    Sentence("transfer_activity", r"Spans from the application's record; without one, connections "
             r"with payload\.", lambda asked, _: _only("application")(asked)
             and _only("connections")(asked)),
    *_traffic("transfer_activity"),
    *_always("transfer_times", rf"{N} transfers? of the valid runs, between sites where there are "
             r"several\.",
             r"Classes of size from 1, 2 or 5 times a power of ten; one mark for each class and "
             r"direction between two sites: median, and the line from 10 to 90 %\. Filled: at the "
             r"baseline; open: at the point where transfers take longest\.",
             rf"Not among them: {N} that stayed within a site, or of whose class half took no time, as "
             r"one packet does; all: flowsweep query transfer_times DIR\.",
             r"Not drawn: .+? \(no run has 10 transfers that come and go\); all: flowsweep query "
             r"transfer_times DIR\."),
    Sentence("transfer_times", r"Dotted: equal goodput\. Spans from the application's record\.",
             lambda asked, _: _only("application")(asked)),
    *_always("transfer_times", r"Dotted: equal goodput\. Without such a record a transfer is a "
             r"connection with payload\."),
    *_traffic("transfer_times"),
    Sentence("phase_times", rf"Seconds of a rank in each phase, mean over the \S+(?: to \S+)? ranks of "
             rf"a run, median over the runs of a point \(({N}) runs?\), from the application's "
             r"record\.", _counts(f"select count(distinct run) from app_phases where run in {VALID}")),
    *_always("phase_times", r"A bar ends before the completion time where ranks waited outside of "
             r"phases, or had nothing to do\.",
             rf"{N} of {N} points are drawn; all: flowsweep query phase_times DIR\."),
    Sentence("phase_times", r"Scales differ between applications\.",
             due=lambda asked: asked.one("select count(distinct (app, problem)) from runs where run in"
                                         f" (select run from app_phases) and run in {VALID}") > 1),
]  # fmt: skip


# --- completion times -----------------------------------------------------------------
def _per_point(query: str) -> Check:
    """The least and most runs of a point, and their sum."""

    def holds(asked: Asked, match: re.Match[str]) -> bool:
        used = asked.rows(query)["runs_used"]
        numbers_told = {match[1], match[2] or match[1]}
        least = used.filter(used > 0).min()
        return numbers_told == {str(least), str(used.max())} and match[3] == str(used.sum())

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
        *_always(query, rf"Lines: linear in {line}, as the thresholds\.",
                 rf"{N} of {N} points are drawn, those without a valid run or without a .+? are not; "
                 rf"all: flowsweep query {query} DIR\."),
        Sentence(query, r"Dashes: smaller socket buffers\.",
                 due=lambda asked: any(
                     frame["buffer_bytes"].n_unique() > 1
                     for _, frame in asked.rows(query).group_by("app", "problem"))),
    ]  # fmt: skip


COMPLETION = [*_completion("rtt", "RTT"), *_completion("rate", "1/rate")]

# --- distributions over all points ------------------------------------------------------
POOLED = "(select run from pool_runs)"
ALL_FLOWS = f"flows where is_counted and protocol in ('tcp', 'udp') and run in {POOLED}"
CENSORED = "(coalesce(start, '') <> 'syn' or coalesce(\"end\", '') not in ('fin', 'rst'))"


def _distribution(query: str) -> list[Sentence]:
    """What is said of every small multiple of distributions."""
    return _always(query, r"Coloured: all runs of the point in the title together; pale: from the run "
                   r"with the least share to the one with the greatest; grey: the baseline\.",
                   rf"{N} of {N} points are drawn; all: flowsweep query {query} DIR\.")  # fmt: skip


def _flow_distribution(query: str, known: str) -> list[Sentence]:
    censored = f"{ALL_FLOWS} and {known} and {CENSORED}"
    return [
        Sentence(query, rf"({N}) flow directions? of all hosts, each once; forward: from the initiator "
                 r"of the connection\.", _counts(f"select count(*) from {ALL_FLOWS} and {known}")),
        Sentence(query, rf"({N}) flow directions? without SYN, or without FIN and RST \(UDP has "
                 r"neither\): begun before or open at the end of the capture, counted with what was "
                 r"seen\.", _counts(f"select count(*) from {censored}"),
                 lambda asked: asked.yes(censored)),
        *_distribution(query),
        *_traffic(query),
    ]  # fmt: skip


COUNTED_MESSAGES = f"(select sum(messages) from message_sums where run in {VALID})"

DISTRIBUTIONS = [
    Sentence("think_times", rf"({N}) times? from the end of a message to the begin of one in the other "
             r"direction of its connection\.",
             _counts("select sum(list_sum(turns)) from turn_histogram where run in " + VALID)),
    *_always("think_times", r"Think: in the capture of the host that answers; wait: in that of the host "
             r"that asked\. Backward: answers of the host to which the connection was made; forward: "
             r"what the other end sends next\."),
    *_distribution("think_times"),
    Sentence("message_sizes", rf"({N}) messages? as in the figure before; forward: from the initiator "
             r"of the connection\.", _counts(f"select {COUNTED_MESSAGES}")),
    *_always("message_sizes", r"Sizes are upper bounds: writes that were queued together are one "
             r"message\."),
    *_distribution("message_sizes"),
    Sentence("message_rate_series", rf"({N}) messages? as in the figures before, by the step of .+? in "
             r"which they began\.",
             _counts(f"select sum(messages) from message_sums where span_s > 0 and run in {VALID}")),
    *_always("message_rate_series", r"Line: mean over the runs of the point that had not ended; pale: "
             r"from the run with fewest to the one with most\.",
             rf"{N} of {N} points are drawn; all: flowsweep query message_rate_series DIR\."),
    Sentence("message_rate_series", r"Scales differ between applications\.",
             due=lambda asked: asked.rows("message_rate_series").select("app", "problem").n_unique() > 1),
    *_distribution("throughput_cdf"),
    *_flow_distribution("flow_durations", "duration_ns is not null"),
    *_flow_distribution("flow_rates", "duration_ns > 0 and payload_bytes is not null"),
    *_always("flow_rates", r"Payload by the duration of a direction; one of a single packet lasts no "
             r"time and is not in it\."),
]  # fmt: skip

SENTENCES = [
    *COMPLETION,
    *NEEDS,
    *FRONTIER,
    *SERIES,
    *WAN,
    *FLOWS,
    *DISTRIBUTIONS,
    *ENGINES,
    *TRANSFERS,
]
