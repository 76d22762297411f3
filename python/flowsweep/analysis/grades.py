"""Grades a capture by what is known of it: which claims may rest on it, and why no others.

This is the only place that grades: `flowsweep show` and the report (the table `capture_grades`)
both call it. The scale:

    A        every claim: nothing is missing, the clock is known
    B        every claim, read with the notes
    UNKNOWN  as B: the capture does not say whether packets were dropped
    C        not the claims that its notes name; the others with the notes
    D        no claim rests on it; completion times are not taken from captures
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from flowsweep import numbers
from flowsweep.analysis.capture_rules import ODD_CONNECTIONS, OUT_OF_ORDER, REFUSED, RULES
from flowsweep.analysis.claims import CLAIMS, CONTENT, DELAYS, GAPS
from flowsweep.units import counted, duration, percent

UNKNOWN = "\N{EN DASH}"
RANKS = {"A": 1, UNKNOWN: 2, "B": 2, "C": 3, "D": 4}
#: From best to worst. A known fault (B) ranks after an unknown one.
ORDER = tuple(RANKS)
#: What each grade means, in words.
MEANINGS = {
    "A": "nothing to note",
    "B": "read with the notes",
    UNKNOWN: "read with the notes; drops are unknown",
    "C": "what it holds is right, but some is missing: see the notes",
    "D": "unreliable",
}
#: More repeated packets, and a larger share of repeated bytes, than any network causes.
DOUBLED_PACKETS, DOUBLED = 50, 0.45

#: Shares of TCP bytes missing from a capture or a log of Zeek above which it is graded C or D:
#: those of dropped packets.
MISSED_C, MISSED_D = 1e-4, 0.01

#: A silence longer than these ns, and than this share of the capture, is no pause of a
#: program: the clock was set, or recordings were joined.
JUMP_NS, JUMP_SHARE = 3600 * 10**9, 0.1

#: Packets that two processors stamp arrive in either order, up to 1.2 ms apart on a machine with
#: two. A larger step back, in ns, comes from setting the clock: ntpd does that at 128 ms.
STEP_NS = 10 * 10**6
#: Longer steps back are written in minutes, hours and days.
LONG_S = 90
#: Time stamps coarser than this, in ns, show no gaps of a network.
COARSE_NS = 10**6
#: The largest error of a delay, as a share of it, that needs no note.
CLOCK_NOTED = 0.1


#: Facts about a whole capture: each of its interfaces has the same values.
CAPTURE_WIDE = (
    "midstream_connections", "repeated_packets", "repeated_bytes", "payload_bytes",
    "missed_bytes", "unseen_acked_bytes", *(key for key, _ in REFUSED), *ODD_CONNECTIONS,
    "begin_ns", "end_ns", "silence_ns", "silence_from_ns", "clock_shift_ns",
    "is_clock_compared", "delay_error_ns", "least_delay_ns",
)  # fmt: skip
#: The columns that are added up over the interfaces of a capture.
SUMMED = (
    "packets", "undecoded_packets", "time_regressions", "late_packets",
    *(rule.key for rule in RULES),
)  # fmt: skip


@dataclass(frozen=True)
class Note:
    """A fact about a capture, and the best grade that it permits.

    Attributes:
        key: What it is about: the key of a rule, or another name.
        text: The fact in words.
        spoils: The claim that it forbids if its grade is C.
    """

    key: str
    text: str
    grade: str
    spoils: str | None = None


@dataclass(frozen=True)
class Grade:
    """The grade of a capture: the worst of its notes.

    Attributes:
        letter: A, B, C, D, or UNKNOWN if only the number of drops is in doubt.
        notes: Facts that lower it, and checks that found no fault.
    """

    letter: str
    notes: tuple[Note, ...]

    @property
    def rank(self) -> int:
        """1 for A to 4 for D."""
        return RANKS[self.letter]

    @property
    def forbidden(self) -> list[str]:
        """The claims that may not rest on the capture."""
        if self.letter == "D":
            return list(CLAIMS)
        spoilt = {note.spoils for note in self.notes if note.grade == "C"}
        return [claim for claim in CLAIMS if claim in spoilt]

    @property
    def meaning(self) -> str:
        """What the letter allows, in words."""
        if self.letter == "C" and self.forbidden:
            return f"no claim on {' or '.join(self.forbidden)}; the rest with the notes"
        return MEANINGS[self.letter]

    @property
    def reasons(self) -> str:
        """What lowers the grade, and what C forbids because of it, in words."""
        texts = [note.text for note in self.notes if note.grade != "A"]
        return "; ".join([*texts, self.meaning] if self.letter == "C" else texts)


def grade(facts: Mapping[str, Any]) -> Grade:
    """Grades a capture by what is known of it.

    Args:
        facts: The columns of the model `capture_facts`: `packets`, the counts that `RULES` name,
            `undecoded_packets` (all that belong to no flow but should), `is_drops_known`,
            `is_truncated`, `ts_resolution_ns`, `time_regressions` and `largest_step_back_ns`
            (None: unknown), `midstream_connections` and those of `ODD_CONNECTIONS`. Of TCP with
            payload: `repeated_packets`, `repeated_bytes` and `payload_bytes`. Of all TCP:
            `unseen_acked_bytes`. Of Zeek's logs alone: `missed_bytes`. Of the host's whole capture,
            in ns since 1970: `begin_ns`, `end_ns`, `silence_from_ns`; in ns: `silence_ns`, the
            longest silence, and `clock_shift_ns`, how far its clock was ahead of most hosts', by
            which its times are corrected. Where captures were matched (`is_clock_compared`):
            `least_delay_ns`, the one-way delay to or from the host that is known best, and
            `delay_error_ns`, its possible error; None if the clocks do not show it. Absent facts
            are 0.
    """
    notes = (
        *_check_drops(facts), *_check_whole(facts), *_check_time(facts), *_check_clock(facts),
        *_check_counts(facts), *_check_order(facts), *_check_missed(facts), *_check_flows(facts),
    )  # fmt: skip
    return Grade(max((note.grade for note in notes), key=ORDER.index), notes)


def combine(rows: Sequence[Mapping[str, Any]]) -> Grade:
    """Grades a file with one row per interface: the worst grade; the notes add up the rows."""
    grades = [grade(row) for row in rows] or [grade({})]
    if len(grades) == 1:
        return grades[0]
    sums: dict[str, Any] = {key: sum(_number(row, key) for row in rows) for key in SUMMED}
    steps = [
        row["largest_step_back_ns"] for row in rows if row.get("largest_step_back_ns") is not None
    ]
    sums["largest_step_back_ns"] = max(steps) if len(steps) == len(rows) else None
    sums["is_drops_known"] = all(row.get("is_drops_known") for row in rows)
    sums["is_truncated"] = any(row.get("is_truncated") for row in rows)
    sums["ts_resolution_ns"] = max(map(_resolution_ns, rows))
    # These values are of the whole capture, so every row has the same.
    for key in CAPTURE_WIDE:
        sums[key] = rows[0].get(key)
    letters: dict[str, set[str]] = {}
    for note in (note for row_grade in grades for note in row_grade.notes):
        letters.setdefault(note.key, set()).add(note.grade)
    notes = tuple(
        replace(note, grade=max(letters[note.key], key=ORDER.index)) for note in grade(sums).notes
    )
    return Grade(max((row_grade.letter for row_grade in grades), key=ORDER.index), notes)


def _number(facts: Mapping[str, Any], key: str) -> int:
    return int(facts.get(key) or 0)


def _resolution_ns(facts: Mapping[str, Any]) -> int:
    """Returns the time stamp resolution of an interface that recorded packets, else 0."""
    return _number(facts, "ts_resolution_ns") if _number(facts, "packets") else 0


def _check_drops(facts: Mapping[str, Any]) -> Iterator[Note]:
    if not facts.get("is_drops_known"):
        yield Note("drops", "the capture does not say whether packets were dropped", UNKNOWN)
    elif not _number(facts, "dropped_packets"):
        yield Note("drops", "no drops reported by kernel or interface", "A")


def _check_whole(facts: Mapping[str, Any]) -> Iterator[Note]:
    if facts.get("is_truncated"):
        # An agent that recorded its drops reached the end of the capture.
        grade = "C" if facts.get("is_drops_known") else "D"
        line = "cut or damaged: everything after the last whole packet is missing"
        yield Note("is_truncated", line, grade)


def describe_jump(facts: Mapping[str, Any]) -> str | None:
    """Describes the dates of a capture and its jump in time; None if it has no jump."""
    begin, end, silence = (_number(facts, key) for key in ("begin_ns", "end_ns", "silence_ns"))
    if silence < JUMP_NS or silence < JUMP_SHARE * (end - begin):
        return None
    first, last, since = (
        datetime.fromtimestamp(ns // 10**9, UTC)
        for ns in (begin, end, _number(facts, "silence_from_ns"))
    )
    is_one_day = first.date() == last.date()
    days = f"{first:%Y-%m-%d}" if is_one_day else f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"
    start = f"{since:%H:%M:%S} UTC" if is_one_day else f"{since:%Y-%m-%d}"
    return (
        f"packets of {days}, none for {duration(silence / 1e9)} from {start} on: was the clock"
        " changed, or were recordings merged?"
    )


def _check_time(facts: Mapping[str, Any]) -> Iterator[Note]:
    jumped = describe_jump(facts)
    if jumped is not None:
        yield Note("silence_ns", jumped, "B")
    resolution = _resolution_ns(facts)
    if resolution > COARSE_NS:
        line = (
            f"time stamps of {numbers.width(resolution / 1e9)}: gaps, RTTs and peaks of less"
            " time are unknown"
        )
        yield Note("ts_resolution_ns", line, "C", GAPS)
    ahead = _number(facts, "clock_shift_ns")
    if ahead:
        yield Note(
            "clock_shift_ns",
            f"its clock was {abs(ahead) / 1e9:,.3f} s {'ahead of' if ahead > 0 else 'behind'}"
            " that of most hosts: its times are corrected (flowsweep query clocks)",
            "B",
        )


def _check_clock(facts: Mapping[str, Any]) -> Iterator[Note]:
    if not facts.get("is_clock_compared"):
        return
    if facts.get("delay_error_ns") is None:
        line = "the offset of its clock from other hosts' is unknown"
        yield Note("is_clock_compared", line, "C", DELAYS)
        return
    error, delay = _number(facts, "delay_error_ns"), _number(facts, "least_delay_ns")
    line = f"its clock is known to ± {numbers.seconds(error / 1e9)}"
    if error <= CLOCK_NOTED * delay:
        yield Note("is_clock_compared", line, "A")
    else:
        line += f", and the least one-way delay is {numbers.seconds(delay / 1e9)}"
        yield Note("is_clock_compared", line, "B")


def _check_counts(facts: Mapping[str, Any]) -> Iterator[Note]:
    packets = _number(facts, "packets")
    for rule in RULES:
        number = _number(facts, rule.key)
        if number:
            offered, whole = packets, ""
            if rule.key == "dropped_packets":
                # Dropped packets are not in the file. A file with part of a capture has the
                # statistics of the whole.
                offered = max(packets + number, _number(facts, "received_packets"))
                if offered > packets + number:
                    whole = f" of {counted(offered, 'packet')} received"
            judged = _number(facts, rule.judged_by or rule.key) / max(offered, 1)
            share = percent(number / max(offered, 1)) + whole
            line = f"{counted(number, rule.noun)} {rule.text} ({share})"
            yield Note(rule.key, line, rule.grade(judged), rule.spoils)


def _check_order(facts: Mapping[str, Any]) -> Iterator[Note]:
    # Parsers that reorder packets count those that were too late to be reordered.
    late, back = _number(facts, "late_packets"), facts.get("largest_step_back_ns")
    is_ordered = _number(facts, "reordered_packets") > 0
    early = late if late or is_ordered else _number(facts, "time_regressions")
    if not early:
        return
    share = early / max(_number(facts, "packets"), 1)
    line = f"{counted(early, 'packet')} earlier than the one before ({percent(share)})"
    if back is not None:
        back_s = back / 1e9
        most = numbers.seconds(back_s) if back_s < LONG_S else duration(back_s)
        line += f", by at most {most}"
    if late:
        line += ": too late to be reordered, so the order of the file stands"
    is_stepped = back is None or back >= STEP_NS
    yield Note("time_regressions", line, "C" if is_stepped or share > OUT_OF_ORDER else "B", GAPS)


def _check_missed(facts: Mapping[str, Any]) -> Iterator[Note]:
    payload = _number(facts, "payload_bytes")
    unseen, missed = _number(facts, "unseen_acked_bytes"), _number(facts, "missed_bytes")
    for key, number, whole, text in (
        (
            "unseen_acked_bytes",
            unseen,
            payload + unseen,
            "of TCP acknowledged but missing from the capture",
        ),
        # Zeek's payload is computed from sequence numbers and includes missed bytes.
        ("missed_bytes", missed, max(missed, payload), "of TCP in gaps that Zeek did not see"),
    ):
        if number:
            share = number / whole
            grade = "D" if share > MISSED_D else "C" if share > MISSED_C else "B"
            line = f"{counted(number, 'byte')} {text} ({percent(share)})"
            yield Note(key, line, grade, GAPS)


def _check_flows(facts: Mapping[str, Any]) -> Iterator[Note]:
    refused = [(_number(facts, key), what) for key, what in REFUSED]
    total = sum(number for number, _ in refused)
    if total:
        kinds = ", ".join(f"{number:,} {what}" for number, what in refused if number)
        line = (
            f"{counted(total, 'segment')} that a receiver would not accept: no state changed"
            f" ({kinds})"
        )
        yield Note("refused_packets", line, "B")
    again, repeated, sent = (
        _number(facts, key) for key in ("repeated_packets", "repeated_bytes", "payload_bytes")
    )
    if again >= DOUBLED_PACKETS and repeated >= DOUBLED * sent:
        line = (
            f"{counted(again, 'packet')} of TCP repeat others ({percent(repeated / sent)} of the"
            " bytes): was everything captured twice, as on a bridge and its port?"
        )
        yield Note("repeated_packets", line, "D")
    midstream = _number(facts, "midstream_connections")
    if midstream:
        line = f"{counted(midstream, 'connection')} without a captured SYN"
        yield Note("midstream_connections", line, "B")
    for key, (noun, text) in ODD_CONNECTIONS.items():
        number = _number(facts, key)
        if number:
            yield Note(key, f"{counted(number, noun)} {text}", "B")


#: The table that the report's SQL reads: see `flowsweep.warehouse.computed`.
NOTE = "grades of the captures in capture_facts (flowsweep.analysis.grades)"
COLUMNS = {
    "capture": "bigint",
    "grade": "varchar",
    "grade_rank": "bigint",
    "reasons": "varchar",
    "has_gaps": "boolean",
    "has_content": "boolean",
    "has_traffic": "boolean",
    "has_delays": "boolean",
}


def rows(facts: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """Returns rows with `COLUMNS` from those of the model `capture_facts`."""
    return [_row(capture_facts["capture"], grade(capture_facts)) for capture_facts in facts]


def _row(capture: int, graded: Grade) -> tuple[Any, ...]:
    allowed = [claim not in graded.forbidden for claim in (GAPS, CONTENT)]
    has_traffic, has_delays = graded.letter != "D", DELAYS not in graded.forbidden
    return (capture, graded.letter, graded.rank, graded.reasons, *allowed, has_traffic, has_delays)
