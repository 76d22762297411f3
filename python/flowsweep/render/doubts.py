"""Phrases the doubts about figures: what the grades of captures forbid or make doubtful."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from flowsweep import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowsweep.render.figure import Context
    from flowsweep.render.theme import Series

#: The least share of the payload, or of the bytes, that is worth a sentence.
NOTABLE = 0.01
#: The most guessed addresses that are named.
MAX_GUESSES = 8


def note_left_out(context: Context, allows: str) -> str | None:
    """States how many captures of valid runs are left out, and why; None if none is.

    Args:
        context: Provides the captures.
        allows: The column of `captures` that says whether a claim may rest on one:
            has_gaps or has_content.
    """
    captures = _counted_captures(context).filter(~pl.col(allows))
    if captures.is_empty():
        return None
    return f"Left out: {_count_by_grade(captures)} (why: see the quality table)."


def note_traffic(context: Context, rows: pl.DataFrame | None = None) -> str | None:
    """Says which captures behind some traffic lack packets, and which may not be relied on.

    Args:
        context: Provides the captures.
        rows: Rows of a query: their runs, and their hosts if they name any. None: the
            captures of all valid runs.
    """
    captures = _counted_captures(context)
    if rows is not None:
        keys = [key for key in ("run", "host") if key in rows.columns]
        named = rows.select(keys).unique()
        captures = context.model("captures").join(named, on=keys, how="semi")
    bad, some = captures.filter(~pl.col("has_traffic")), captures.filter(pl.col("grade") == "C")
    parts = []
    if not bad.is_empty():
        parts.append(f"Unreliable: {_count_by_grade(bad)}.")
    if not some.is_empty():
        parts.append(f"{_count_by_grade(some)}: {read_with_notes(_count(some))}")
    return " ".join(parts) or None


def read_with_notes(captures: int) -> str:
    """Returns words that refer to the notes of this many captures of grade C."""
    return f"read with {'its' if captures == 1 else 'their'} notes in the quality table."


def note_udp(rows: pl.DataFrame) -> str | None:
    """Says how much of the payload UDP carried, whose headers show neither state nor messages.

    Args:
        rows: Rows of a query, with the share of each point as `udp_share`.
    """
    shares = rows["udp_share"].drop_nulls().to_list()
    if max(shares, default=0) < NOTABLE:
        return None
    share_text = numbers.shares(min(shares), max(shares))
    return (
        f"Of TCP alone: UDP, whose headers do not show this, carried {share_text} of the payload."
    )


def note_accompanied(context: Context) -> str | None:
    """States how many valid runs are left out because another application ran beside them."""
    runs = _valid_captures(context).filter(~pl.col("is_alone")).height
    if runs == 0:
        return None
    whose = "whose captures hold" if runs > 1 else "the captures of which hold"
    return (
        f"Left out: {numbers.plural(runs, 'run')} beside another application, {whose} the "
        "packets of both."
    )


def note_unplaced(context: Context) -> str | None:
    """States how much of the traffic has an end at no known site; None if little or none."""
    runs = _counted_captures(context)["run"].to_list()
    rows = context.model("unplaced_traffic").filter(pl.col("run").is_in(runs))
    total = int(rows["wire_bytes"].sum())
    if not total or (share := int(rows["unplaced_bytes"].sum()) / total) < NOTABLE:
        return None
    return (
        f"{numbers.share(share)} of the bytes went to or came from addresses of no known site, and "
        "are not in it; `hosts` in run.json names addresses."
    )


def select_reliable(context: Context, series: Sequence[Series]) -> list[Series]:
    """Selects the series on which a finding may rest: no run whose capture has grade D.

    A point of a sweep has several runs; its own words say which of its captures are in doubt.
    """
    if not context.stands_alone:
        return list(series)
    bad = set(context.model("captures").filter(~pl.col("has_traffic"))["run"])
    return [one for one in series if one.app not in bad]


def note_guessed(context: Context, rows: pl.DataFrame | None = None) -> str | None:
    """Says which of the hosts' addresses are guesses; None if none.

    Args:
        context: Provides the hosts.
        rows: Rows with the runs and hosts in question. None: all.
    """
    hosts = context.model("hosts").filter("is_guessed")
    if rows is not None:
        hosts = hosts.join(rows.select("run", "host").unique(), on=["run", "host"], how="semi")
    if hosts.is_empty():
        return None
    named = hosts.sort("run", "host").unique(subset=["host", "address"], maintain_order=True)
    texts = [
        f"{host} {' and '.join(own)}" for host, own in named.select("host", "addresses").rows()
    ]
    more = f" and {len(texts) - MAX_GUESSES} more" if len(texts) > MAX_GUESSES else ""
    is_of_both = hosts["addresses"].list.len().gt(1).any()
    alike = hosts.filter("is_arbitrary")["host"].unique().sort().to_list()[:MAX_GUESSES]
    return (
        "Out and in are of the address that is taken for the host's own, as a guess: the one that "
        f"most of its packets carry{', for each version of IP' if is_of_both else ''}"
        f" ({', '.join(texts[:MAX_GUESSES])}{more})."
        + (
            f" The address of {', '.join(alike)} may as well be another host's: nothing in the"
            " captures tells them apart."
            if alike
            else ""
        )
    )


def _counted_captures(context: Context) -> pl.DataFrame:
    """Returns the captures of valid runs beside which no other application ran."""
    runs = _valid_captures(context).filter("is_alone")["run"].to_list()
    return context.model("captures").filter(pl.col("run").is_in(runs))


def _valid_captures(context: Context) -> pl.DataFrame:
    return context.model("runs").filter(pl.col("is_valid") & ~pl.col("is_warmup"))


def _count(captures: pl.DataFrame) -> int:
    """Counts captures; a row is an interface of one of a capture's files."""
    return captures.select("run", "host").n_unique()


def _count_by_grade(captures: pl.DataFrame) -> str:
    """Returns `2 captures of grade C and 1 of grade D`."""
    parts: list[str] = []
    graded = captures.select("run", "host", "grade").unique()
    for grade, number in graded.group_by("grade").len().sort("grade").iter_rows():
        noun = numbers.count(number) if parts else numbers.plural(number, "capture")
        parts.append(f"{noun} of grade {grade}")
    return " and ".join(parts)
