"""Describes what held the senders back: the finding of the figure `limits`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from flowsweep import numbers
from flowsweep.lists import join_words
from flowsweep.render import points

if TYPE_CHECKING:
    from collections.abc import Sequence

# column; name in legend and beside bars; name in sentences; colour, unused by first applications
CLASSES = (
    ("own_share", "application", "the application itself", "var(--app-6)"),
    ("wait_share", "other side", "waiting for the other side", "var(--app-4)"),
    ("sender_share", "sender's buffer", "the sender's socket buffer", "var(--app-7)"),
    ("receiver_share", "receiver's window", "the receiver's window", "var(--app-5)"),
    ("network_share", "network", "the network", "var(--app-8)"),
    ("unknown_share", "cannot tell", "nobody knows what", "var(--grid)"),
)
KNOWN = CLASSES[:-1]
HOLDERS = KNOWN[1:]
#: The parts of the waits for the other side: column, name.
WAITS = (
    ("wait_rtt_share", "the RTT"),
    ("wait_link_share", "the link's rate"),
    ("wait_queue_share", "queues and windows"),
    ("wait_peer_share", "the other host"),
)
#: The query's reason for an unknown part of a direction that is known otherwise.
IN_PART = "headers do not show it"
#: The least share that is mentioned beside a bar.
NOTABLE = 0.0005
#: Up to this many applications get a sentence each; of more, this many standouts are named.
LISTED = 3
BASELINE = "the baseline"
NOTHING = "did anything else hold it"
#: A point is used if less than this share of its sending time is unknown.
MOSTLY = 0.5
#: The largest share of a whole that rounding leaves unaccounted for.
CLOSED = 0.01
#: The mean share of its rate at which a link counts as full.
FULL = 0.9
#: If UDP carried more of the payload than this, the sentence names the TCP flows.
BESIDE = 0.1


@dataclass(frozen=True)
class Held:
    """What held the senders of one application.

    Attributes:
        begin: The point that is named first: the baseline, if its limits are known.
        pace: Who set the pace at that point, and for which share of the sending time.
        most: What else held it most at any point, for which share, and at which point.
        is_first: Whether the point of `most` is that of `begin`.
        unexplained: The largest share at any point that headers do not explain.
        parts: How network and other host share the wait for the other side, if that set the pace.
        most_parts: The same for `most`.
        link: How full the link was at the point of `begin`; None if it was not full.
        full: The other points at which it was full.
    """

    label: str
    begin: str
    pace: tuple[str, float]
    most: tuple[str, float, str]
    is_first: bool
    points: int
    unexplained: float
    parts: str
    most_parts: str
    link: float | None
    full: Sequence[str]


def describe(
    frames: Sequence[pl.DataFrame], labels: Sequence[str], *, is_swept: bool = True
) -> str:
    """Describes the numbers: a sentence for each application, or the standouts of many.

    Args:
        frames: The points of each application, the baseline first.
        labels: Their names.
        is_swept: Whether these are points of a sweep; if not, each is a run, under its name.
    """
    labels = [_subject(frame, label) for frame, label in zip(frames, labels, strict=True)]
    holds = [find_held(frame, label) for frame, label in zip(frames, labels, strict=True)]
    known = [one for one in holds if one is not None]
    many = len(known) > LISTED
    sentences = (
        [_describe_paces(known), _describe_standouts(known)]
        if many
        else [_sentence(one, is_swept) for one in known]
    )
    sentences += _describe_full_links(known)
    unexplained = max((one.unexplained for one in known), default=0.0)
    if unexplained >= NOTABLE:
        sentences.append(
            f"Up to {numbers.share(unexplained)} of the sending time at a "
            f"{'point' if is_swept else 'run'} cannot be attributed: headers do not show it."
        )
    silent = [label for label, one in zip(labels, holds, strict=True) if one is None]
    if silent:
        reasons = list_reasons(pl.concat([frame.select("unknown_because") for frame in frames]))
        sentences.append(
            f"What holds {join_words(silent)} back cannot be determined "
            f"({', '.join(reasons) or 'no flow lasted'})."
        )
    return " ".join(sentences)


def find_held(rows: pl.DataFrame, label: str) -> Held | None:
    """Reads the points of one application, the baseline first; None if nothing is known.

    It is known who set the pace if the unknown share could not make another share the largest.
    """
    known = rows.filter(pl.col("unknown_share").fill_null(1.0) < MOSTLY)
    clear = [number for number, row in enumerate(known.iter_rows(named=True)) if _is_clear(row)]
    if not clear:
        return None
    chosen = clear[0]
    names = dict(zip(map(tuple, rows.rows()), points.labels(rows), strict=True))
    first = known.row(chosen, named=True)
    column, _, pace, _ = max(KNOWN, key=lambda one: first[one[0]])
    share, place, holder = max(
        (row[name], -number, words)
        for number, row in enumerate(known.iter_rows(named=True))
        for name, _, words, _ in HOLDERS
    )
    return Held(
        label,
        BASELINE if first["is_baseline"] else names[known.row(chosen)],
        (pace, first[column]),
        (holder, share, names[known.row(-place)]),
        is_first=-place == chosen,
        points=known.height,
        unexplained=known["unknown_share"].max(),  # type: ignore[arg-type]
        parts=_parts(first) if column == "wait_share" else "",
        most_parts=_parts(known.row(-place, named=True)) if holder == HOLDERS[0][2] else "",
        link=first["link_share"] if _is_full(first) else None,
        full=[
            names[known.row(number)]
            for number, row in enumerate(known.iter_rows(named=True))
            if number != chosen and _is_full(row)
        ],
    )


def _is_full(row: dict[str, Any]) -> bool:
    return row["link_share"] is not None and row["link_share"] >= FULL


def _is_clear(row: dict[str, Any]) -> bool:
    second, first = sorted(row[column] for column, *_ in KNOWN)[-2:]
    return bool(first - second >= row["unknown_share"])


def _parts(row: dict[str, Any]) -> str:
    """States what RTT, link, queues and other host took of the waits for the other side."""
    wait = row["wait_share"]
    if not wait:
        return ""
    shares = [(row[column] / wait, name) for column, name in WAITS]
    named = [f"{name} {numbers.share(share)}" for share, name in shares if share >= NOTABLE]
    is_whole = sum(share for share, _ in shares) > 1 - CLOSED
    if not named:
        return " (of that nothing is explained)"
    return f" ({'' if is_whole else 'known '}of that: {', '.join(named)})"


def _subject(rows: pl.DataFrame, label: str) -> str:
    """Names an application, or its TCP flows if UDP carried a part of its payload."""
    shares = [1 - share for share in rows["udp_share"].drop_nulls()]
    if min(shares, default=1) >= 1 - BESIDE:
        return label
    part = numbers.shares(min(shares), max(shares))
    return f"the TCP flows of {label} ({part} of its payload)"


def _sentence(one: Held, is_swept: bool) -> str:
    pace, share = one.pace
    where = f"At {one.begin} {pace}" if is_swept else f"{pace[0].upper()}{pace[1:]}"
    text = f"{where} set the pace of {one.label} for {numbers.share(share)} of the sending time"
    text += one.parts
    if one.link is not None:
        text = (
            f"At {one.begin} the link set the pace of {one.label}: "
            f"it was {_describe_full(one.link)} full"
        )
    holder, most, where = one.most
    if one.points == 1:
        return f"{text}."
    if most < NOTABLE:
        if one.link is not None or one.full:
            return f"{text}."
        nothing = (
            "is anything else known to have held it" if one.unexplained >= NOTABLE else NOTHING
        )
        return f"{text}; at no point {nothing}."
    at = "also there" if one.is_first else f"at {where}"
    return f"{text}; {holder} held it most {at}, for {numbers.share(most)}{one.most_parts}."


def _describe_full(share: float) -> str:
    return numbers.share(min(share, 1.0))


def _describe_full_links(known: Sequence[Held]) -> list[str]:
    """States where the link was full, so that the network caused the waits of the senders."""
    found = [
        f"{one.label}{' also' if one.link is not None else ''} at {join_words(one.full[:LISTED])}"
        + (f" and {len(one.full) - LISTED} more points" if len(one.full) > LISTED else "")
        for one in known
        if one.full
    ]
    where = join_words(found) if found else ""
    text = (
        f"The link was full for {where}: what the senders waited for there was the network's doing."
    )
    return [text] if found else []


def _describe_paces(known: Sequence[Held]) -> str:
    """States who set the pace at the baseline; names those who were not the application."""
    own = sorted(one.pace[1] for one in known if one.pace[0] == CLASSES[0][2] and one.link is None)
    others = [
        f"{one.pace[0]} that of {one.label} for {numbers.share(one.pace[1])}"
        if one.link is None
        else f"the link, {_describe_full(one.link)} full, that of {one.label}"
        for one in known
        if one.pace[0] != CLASSES[0][2] or one.link is not None
    ]
    parts = []
    if own:
        count = f"all {len(own)}" if not others else f"{len(own)} of {len(known)}"
        parts.append(
            f"the application itself set the pace of {count} for {numbers.share(own[0])} or more "
            "of the sending time"
        )
    at_baseline = all(one.begin == BASELINE for one in known)
    where = BASELINE if at_baseline else f"{BASELINE}, or else the first point that is known,"
    return f"At {where} {join_words([*parts, *others])}."


def _describe_standouts(known: Sequence[Held]) -> str:
    """Names those that anything but the application held most; of the rest, how much."""
    order = sorted(known, key=lambda one: -one.most[1])
    if order[0].most[1] < NOTABLE:
        if max(one.unexplained for one in known) >= NOTABLE:
            return "At no point is anything else known to have held any of them."
        return "At no point did anything else hold any of them."
    named = [one for one in order[:LISTED] if one.most[1] >= NOTABLE]
    texts = [
        f"{one.label} ({one.most[0]}, {numbers.share(one.most[1])}"
        f"{f' at {one.most[2]}' if one.points > 1 else ''})"
        for one in named
    ]
    rest = order[len(named) :]
    who = rest[0].label if len(rest) == 1 else f"the other {len(rest)}"
    most = rest[0].most[1]
    how = f"for {numbers.share(most)} or less at every point" if most >= NOTABLE else "never"
    return f"Held most by anything else: {', '.join(texts)}; {who} {how}."


def describe_unknown(unknown: int, reasons: Sequence[str]) -> str | None:
    """States how many directions are unknown, and whether parts of others are."""
    whole = [reason for reason in reasons if reason != IN_PART]
    parts = []
    if unknown:
        parts.append(f"{numbers.plural(unknown, 'direction')} as a whole ({', '.join(whole)})")
    if IN_PART in reasons:
        parts.append(f"parts of {'others' if unknown else 'some directions'} ({IN_PART})")
    return f"Cannot tell: {' and '.join(parts)}." if parts else None


def list_reasons(rows: pl.DataFrame) -> list[str]:
    """Lists why some directions are not known."""
    return sorted({part for text in rows["unknown_because"] if text for part in text.split("; ")})
