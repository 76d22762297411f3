"""Sentences under the figures of transfers and of the phases of an application."""
# ruff: noqa: E501 - sentences stand as they are printed

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sentences.asked import VALID, Asked, N, Sentence, always, counts
from sentences.runs import DRAWN, accompanied, drawn_runs, traffic

SOURCES = "transfers where run in " + VALID


def _only(source: str) -> Callable[[Asked], bool]:
    return lambda asked: asked.yes(f"{SOURCES} and source = '{source}'")


TRANSFERS = [
    Sentence("transfer_activity", DRAWN, drawn_runs),
    Sentence("transfer_activity", r"Beside it the run at the lowest rate, of these with the longest "
             r"RTT: .+?\."),
    *always("transfer_activity", r"Line: mean of a hundredth of the run; pale: most at once\.",
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
    *traffic("transfer_activity"),
    Sentence("transfer_raster", DRAWN, drawn_runs),
    Sentence("transfer_raster", r"Beside it the run at the lowest rate, of these with the longest "
             r"RTT: .+?\."),
    *always("transfer_raster", r"A row is a rank, dark where a transfer to it is under way; pale: for "
             r"a part of a hundredth of the run\. Spans from the application's record\.",
             rf"{N} of {N} ranks are drawn; all: flowsweep query transfer_raster DIR\.",
             r"Not drawn: .+? \(no run has 10 transfers that come and go\); all: flowsweep query "
             r"transfer_raster DIR\."),
    *always("transfer_times", rf"{N} transfers? of the valid runs, between sites where there are "
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
    *always("transfer_times", r"Dotted: equal goodput\. Without such a record a transfer is a "
             r"connection with payload\."),
    # The made-up runs that share a path have no transfers that come and go.
    replace(accompanied("transfer_times"), due=None),
    *traffic("transfer_times"),
    Sentence("phase_times", rf"Seconds of a rank in each phase, mean over the \S+(?: to \S+)? ranks of "
             rf"a run, median over the runs of a point \(({N}) runs?\), from the application's "
             r"record\.", counts(f"select count(distinct run) from app_phases where run in {VALID}")),
    Sentence("phase_times", rf"In ({N}) of ({N}) records? of a rank, phases overlap: such time counts "
             r"for each of them\.", counts(
                 "select count(distinct (one.run, one.rank)) from app_phases as one inner join "
                 "app_phases as other on one.run = other.run and one.rank = other.rank and "
                 "one.start_s < other.end_s and other.start_s < one.end_s and "
                 "(one.start_s, one.end_s, one.phase) < (other.start_s, other.end_s, other.phase) "
                 f"where one.run in {VALID}")),
    *always("phase_times", r"A bar ends before the completion time where ranks waited outside of "
             r"phases, or had nothing to do\.",
             rf"{N} of {N} points are drawn; all: flowsweep query phase_times DIR\."),
    Sentence("phase_times", r"Scales differ between applications\.",
             due=lambda asked: asked.one("select count(distinct (app, problem)) from runs where run in"
                                         f" (select run from app_phases) and run in {VALID}") > 1),
]  # fmt: skip
