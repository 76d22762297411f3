"""Sentences about the runs that are drawn, and about the grades of their captures."""

from __future__ import annotations

import re

from flowsweep import numbers
from sentences.asked import SHARED, VALID, Asked, N, Sentence, counts


def drawn_runs(asked: Asked, match: re.Match[str]) -> bool:
    """Whether each reason is true of each run that it is given for."""
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
    used = f"{same} as other where is_used and is_alone and is_baseline and run in {traffic}"
    nearest = (
        f"select min(abs(completion_s - (select median(completion_s) from {same} as other"
        f" where is_used and is_baseline))) from {used}"
    )
    own = (
        f"select abs(completion_s - (select median(completion_s) from {same} as other"
        f" where is_used and is_baseline)) from runs where run = '{run}'"
    )
    if reason == "the baseline run nearest to the median completion time":
        # a run of grade D is drawn only where there is no other
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
        return not asked.yes(f"{same} as other where is_used and is_alone and run in {traffic}")
    if reason == "another, as none at the baseline has traffic and a time":
        return not asked.yes(used)
    if reason == "one that was captured, as no run counts":
        return not asked.yes(f"{same} as other where is_valid and is_alone and run in {traffic}")
    if reason == "the first that has such traffic":
        return not asked.yes(f"shown_runs where run = '{run}'")
    return False


NAMES = r"[^\s:;,]+(?:, [^\s:;,]+)*?"
DRAWN = rf"(?:One run each,|The run shown is) ([^:;.]+: {NAMES}(?:; [^:;.]+: {NAMES})*?)\."


LEFT_OUT = (
    rf"Left out: ({N}) captures? of grade [CD](?: and {N} of grade D)? "
    r"\(why: see the quality table\)\."
)


def left_out(allows: str) -> Sentence:
    """Returns the sentence on captures of valid runs whose grade forbids a claim."""
    forbidden = f"captures where not {allows} and run in {VALID}"

    def holds(asked: Asked, match: re.Match[str]) -> bool:
        total = sum(
            int(number) for number in re.findall(r"(\d+) (?:captures? )?of grade", match[0])
        )
        return total == asked.one(f"select count(distinct (run, host, grade)) from {forbidden}")

    query = {"has_gaps": "packet_intervals", "has_content": "message_rate"}[allows]
    return Sentence(query, LEFT_OUT, holds, lambda asked: asked.yes(forbidden))


def accompanied(query: str) -> Sentence:
    """Returns the sentence on valid runs beside which another application ran."""
    return Sentence(
        query,
        rf"Left out: ({N}) runs? beside another application, (?:whose captures|the captures of "
        r"which) hold the packets of both\.",
        counts(f"select count(*) from {SHARED}"),
        lambda asked: asked.yes(SHARED),
    )


def traffic(query: str) -> list[Sentence]:
    """Returns the sentences about the grades of the captures behind a query's traffic."""
    return [
        Sentence(query, r"Unreliable: .*?of grade D\.",
                 lambda asked, _: asked.yes("captures where grade = 'D'")),
        Sentence(query, rf"{N} captures? of grade C: read with (its|their) notes in the quality "
                 r"table\.",
                 lambda asked, _: asked.yes("captures where grade = 'C'")),
    ]  # fmt: skip


def tcp_alone(query: str) -> Sentence:
    """Returns the sentence on UDP's share of payload; adds_up recounts it from the flows."""

    def shares(asked: Asked) -> list[float]:
        return asked.rows(query)["udp_share"].drop_nulls().to_list()  # type: ignore[no-any-return]

    def holds(asked: Asked, match: re.Match[str]) -> bool:
        ends = [numbers.share(end(shares(asked))) for end in (min, max)]
        return match[1].split(" to ") == list(dict.fromkeys(ends))

    return Sentence(
        query,
        r"Of TCP alone: UDP, whose headers do not show this, carried (.+?) of the payload\.",
        holds,
        lambda asked: max(shares(asked), default=0) >= 0.01,
    )
