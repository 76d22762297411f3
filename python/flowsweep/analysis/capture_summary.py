"""Summarises an unknown capture: quality, throughput, the largest flows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep import addresses
from flowsweep.analysis import (
    capture_rules,
    capture_throughput,
    grades,
    merged_packets,
    odd_connections,
    rdma_summary,
    remarks,
)

if TYPE_CHECKING:
    import polars as pl

    from flowsweep._parsers import Damage

TOP_FLOWS = 5
#: A capture is near the sender if the RTT to the receiver is more than this many times the other.
BESIDE = 4
#: Columns of `flows` that divide the time of sending, and their labels.
LIMITS = {
    "app_limited_ns": "application",
    "sender_limited_ns": "send buffer",
    "receiver_limited_ns": "window",
    "network_limited_ns": "network",
    "unknown_limited_ns": "cannot tell",
}


@dataclass
class Note:
    """One line of the quality section."""

    level: str
    text: str


@dataclass
class Summary:
    """The facts that are shown about one capture."""

    file: str
    link_types: list[str]
    snaplen: int
    resolution_ns: int
    duration_s: float
    packets: int
    wire_bytes: int
    connections: int
    damaged: bool
    grade: str = grades.UNKNOWN
    grade_means: str = grades.MEANINGS[grades.UNKNOWN]
    notes: list[Note] = field(default_factory=list)
    #: The guessed address of the capturing host; all of its addresses.
    host: str | None = None
    addresses: list[str] = field(default_factory=list)
    bin_ms: float = 10.0
    shortest_ms: float | None = None
    out_mbit_s: list[float] = field(default_factory=list)
    in_mbit_s: list[float] = field(default_factory=list)
    mean_out_mbit_s: float | None = None
    mean_in_mbit_s: float | None = None
    #: The copies among `packets` and `wire_bytes`, which the wire did not carry.
    duplicate_packets: int = 0
    duplicate_bytes: int = 0
    #: Packets without a time of their own. If there are any, rates are unknown and left out.
    borrowed_times: int = 0
    empty_bins: float = 0.0
    column_s: float = 0.0
    flows: int = 0
    top: list[dict[str, Any]] = field(default_factory=list)
    messages: dict[str, Any] = field(default_factory=dict)
    #: ECN-capable packets, packets that a queue marked, and segments that echo marks.
    marks: dict[str, Any] = field(default_factory=dict)
    #: Messages, losses and acknowledgements of RDMA.
    rdma: dict[str, Any] = field(default_factory=dict)


def summarise(path: Path, **settings: Any) -> Summary:
    """Returns the summary of the capture at `path`.

    Args:
        path: The capture.
        settings: How it is read; see `parsing.Settings`.
    """
    import polars as pl

    from flowsweep.defaults import BIN_NS
    from flowsweep.files.file_sets import scratch_folder
    from flowsweep.parsing import TABLES, parse_tables

    with scratch_folder() as folder:
        parsed = parse_tables([path], folder, **settings)
        tables = {name: pl.read_parquet(folder / f"{name}.parquet") for name in TABLES}
    captures, flows = tables["captures"], tables["flows"]
    grade = grades.combine(facts(captures, flows, tables["throughput"]))
    summary = Summary(
        # a name that is not UTF-8 could not be printed
        file=(path.name or str(path)).encode(errors="backslashreplace").decode(),
        link_types=sorted(set(captures["link_type"])),
        snaplen=int(captures["snaplen"].max() or 0),  # type: ignore[arg-type]
        resolution_ns=_resolution_ns(captures),
        duration_s=_duration_s(captures, flows),
        packets=int(captures["packets"].sum()),
        wire_bytes=int(captures["wire_bytes"].sum()),
        connections=flows["connection"].n_unique(),
        damaged=bool(captures["truncated_tail"].any()),
        grade=grade.letter,
        grade_means=grade.meaning,
        notes=_notes(grade, captures, flows, parsed["damage"]),
        flows=flows.height,
        top=_top(_forget_unread(captures, flows)),
        duplicate_packets=int(captures["duplicate_packets"].sum()),
        duplicate_bytes=int(captures["duplicate_bytes"].sum()),
        borrowed_times=merged_packets.count_borrowed(captures),
        messages=_messages(tables["messages"]),
        marks=_marks(flows),
        rdma=rdma_summary.summarise(tables["rdma"]),
    )
    summary.addresses = addresses.guess_own(flows)
    summary.host = next(iter(summary.addresses), None)
    if summary.borrowed_times:
        for row in summary.top:
            row["mbit_s"] = None
        return summary
    throughput = capture_throughput.summarise(
        tables, summary.addresses, BIN_NS, summary.resolution_ns, summary.duration_s
    )
    return replace(summary, **throughput)


def _duration_s(captures: pl.DataFrame, flows: pl.DataFrame) -> float:
    """Measures the time from the earliest packet to the latest."""
    begin, end = _find_ends(captures, flows) or (0, 0)
    return (end - begin) / 1e9


def _find_ends(captures: pl.DataFrame, flows: pl.DataFrame) -> tuple[int, int] | None:
    """Finds the earliest and latest time, which may not be those of the first and last packet."""
    import polars as pl

    times = [
        table[column].dt.epoch("ns")
        for table in (captures, flows)
        for column in ("first_time", "last_time")
    ]
    known = pl.concat(times).drop_nulls()
    return None if known.is_empty() else (int(known.min()), int(known.max()))  # type: ignore[arg-type]


def facts(captures: pl.DataFrame, flows: pl.DataFrame, bins: pl.DataFrame) -> list[dict[str, Any]]:
    """Returns what the grade depends on, a row per interface, as the model `capture_facts` does."""
    import polars as pl

    data = flows.filter((pl.col("protocol") == "tcp") & (pl.col("payload_bytes") > 0))
    flow_sums = {
        "midstream_connections": flows.filter(pl.col("start") == "midstream")[
            "connection"
        ].n_unique(),
        "repeated_packets": (data["retransmitted_packets"] - data["retransmitted_probes"]).sum(),
        "repeated_bytes": data["retransmitted_bytes"].sum(),
        "payload_bytes": data["payload_bytes"].sum(),
        "unseen_acked_bytes": flows["unseen_acked_bytes"].sum(),
        **odd_connections.count(flows),
    } | {key: flows[key].sum() for key, _ in capture_rules.REFUSED if key in flows.columns}
    kinds = ("unknown_link", "cut", "malformed", "bad_checksum")
    rows = captures.rows(named=True)
    are_counted = any(map(_has_drop_counts, rows))
    return [
        row
        | {
            "dropped_packets": (row["dropped_kernel"] or 0) + (row["dropped_interface"] or 0),
            # Tools write no statistics for an idle interface.
            "is_drops_known": _has_drop_counts(row) or (row["packets"] == 0 and are_counted),
            "is_truncated": bool(row["truncated_tail"]),
            "undecoded_packets": sum(row.get(f"{kind}_packets") or 0 for kind in kinds),
        }
        | flow_sums
        | _times(captures, flows, bins)
        for row in rows
    ]


def _has_drop_counts(row: dict[str, Any]) -> bool:
    """Returns whether either count exists: dumpcap counts the kernel's drops as the interface's."""
    return (row["dropped_kernel"], row["dropped_interface"]) != (None, None)


def _times(captures: pl.DataFrame, flows: pl.DataFrame, bins: pl.DataFrame) -> dict[str, int]:
    """Returns the earliest and latest time, and the longest silence between filled bins."""
    begin, end = _find_ends(captures, flows) or (0, 0)
    found = {"begin_ns": begin, "end_ns": end}
    if end - begin <= grades.JUMP_NS or bins.is_empty():
        return found
    starts = bins["bin_start"].dt.epoch("ns").unique().sort()
    ends = starts + int(bins["bin_ns"][0])
    silences = (starts.shift(-1) - ends).fill_null(0)
    place = silences.arg_max() or 0
    return found | {"silence_ns": silences[place], "silence_from_ns": ends[place]}


def _notes(
    grade: grades.Grade, captures: pl.DataFrame, flows: pl.DataFrame, damage: list[Damage]
) -> list[Note]:
    """Returns the grade's notes; those on damage say where it is and what was found there."""
    levels = {"A": "ok", "D": "bad"}
    notes = [
        Note(levels.get(note.grade, "note"), note.text)
        for note in grade.notes
        if not (note.key == "is_truncated" and damage)
    ]
    notes[1:1] = [
        Note(
            "bad",
            f"cut or damaged at packet {place['packet']:,}, byte {place['offset']:,};"
            f" what came before was kept"
            f" (found {place['found']}; expected {place['expected']})",
        )
        for place in damage
    ]
    if captures["packets"].sum() and flows.is_empty():
        notes.insert(1, Note("note", "no packet belongs to a flow: nothing of them is measured"))
    wrong = captures["bad_checksum_packets"]
    if wrong.null_count() == 0 and not wrong.sum():
        notes.append(Note("ok", "no wrong checksum"))
    return [*notes, *(Note("ok", text) for text in remarks.find(captures, flows))]


def _resolution_ns(captures: pl.DataFrame) -> int:
    """Returns the coarsest time stamp resolution of the interfaces that recorded packets."""
    import polars as pl

    used = captures.filter(pl.col("packets") > 0)["ts_resolution_ns"]
    return int(used.max() or 1)  # type: ignore[arg-type]


def _forget_unread(captures: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Sets counts of `flows` to null that no header shows: of cut TCP headers, of ESP or SCTP."""
    import polars as pl

    segments = flows.filter(protocol="tcp")["packets"].sum()
    is_cut = 2 * captures["unread_tcp_packets"].sum() > segments
    read = ["udp"] if is_cut else ["tcp", "udp"]
    is_known = pl.col("protocol").is_in(read) | (pl.col("payload_bytes") > 0)
    return flows.with_columns(
        pl.when(is_known).then(name).alias(name)
        for name in ("payload_bytes", "retransmitted_packets")
    )


def _top(flows: pl.DataFrame) -> list[dict[str, Any]]:
    import polars as pl

    from flowsweep.defaults import SHORTEST_RATE_NS

    # Compares the RTTs to receiver and sender: which end is near the capture point?
    other = pl.col("rtt_min_ns").sort_by("direction", descending=True).over("connection")
    mirrored = flows.sort("connection", "direction").with_columns(opposite_ns=other)
    # The retransmission of a probe is no loss.
    again = pl.col("retransmitted_packets") - pl.col("retransmitted_probes")
    mirrored = mirrored.with_columns(retransmitted_packets=again)
    largest = mirrored.sort(
        pl.coalesce("payload_bytes", "ip_bytes"),
        "connection",
        "direction",
        descending=[True, False, True],
    )
    rows = []
    for row in largest.head(TOP_FLOWS).filter(pl.col("packets") > 0).iter_rows(named=True):
        seconds, size = row["duration_ns"] / 1e9, row["payload_bytes"]
        is_short = row["duration_ns"] < SHORTEST_RATE_NS
        rows.append(
            {
                "connection": row["connection"],
                "protocol": row["protocol"],
                "from": addresses.join_port(row["src_ip"], row["src_port"]),
                "to": addresses.join_port(row["dst_ip"], row["dst_port"]),
                "payload_bytes": size,
                "duration_s": seconds,
                "mbit_s": None if size is None or is_short else size * 8e-6 / seconds,
                "retransmitted_packets": row["retransmitted_packets"],
                "rtt_min_ms": None if row["rtt_min_ns"] is None else row["rtt_min_ns"] / 1e6,
                "is_at_sender": row["rtt_min_ns"] is not None
                and row["opposite_ns"] is not None
                and row["rtt_min_ns"] > BESIDE * row["opposite_ns"],
                "limited_ns": _limits(row),
            }
        )
    return rows


def _limits(row: dict[str, Any]) -> dict[str, int] | None:
    """Returns nanoseconds by what limited the sender; None if any is unknown, as for UDP."""
    found = {name: row[column] for column, name in LIMITS.items() if row[column] is not None}
    if len(found) != len(LIMITS):
        return None
    wait = row["peer_wait_ns"]
    return found | {"application": found["application"] - wait, "other side": wait}


def _marks(flows: pl.DataFrame) -> dict[str, Any]:
    """Returns counts of congestion marks, RFC 3168; empty if no packet could be marked.

    Echoes are None if a flow may have some that its headers do not show, or if there is no TCP.
    """
    capable = int(flows["ecn_capable_packets"].sum())
    if not capable:
        return {}
    echoes = flows.filter(protocol="tcp")["ece_packets"]
    return {
        "capable": capable,
        "marked": int(flows["ce_packets"].sum()),
        "echoes": None if echoes.is_empty() or echoes.null_count() else int(echoes.sum()),
    }


def _messages(messages: pl.DataFrame) -> dict[str, Any]:
    """Returns the number and sizes of the messages; empty if there are none."""
    import polars as pl

    if messages.is_empty():
        return {}
    sizes, why = messages["bytes"], messages["evidence"]
    total = max(int(sizes.sum()), 1)
    queued = messages.filter("merged_possible")
    return {
        "count": messages.height,
        "p50_bytes": int(sizes.quantile(0.5, "lower") or 0),
        "p90_bytes": int(sizes.quantile(0.9, "lower") or 0),
        "max_bytes": int(sizes.max() or 0),  # type: ignore[arg-type]
        # a pause or a PUSH flag may also lie within a message
        "guessed_share": float((~why.str.contains("turn|short|close")).mean() or 0),  # type: ignore[arg-type]
        # each of these may contain several writes
        "queued_share": queued.height / messages.height,
        "queued_bytes_share": int(queued["bytes"].sum()) / total,
        # captured far from the sender, or at an unknown place
        "far_share": messages.filter(~pl.col("at_sender")).height / messages.height,
        "unplaced_share": messages["at_sender"].null_count() / messages.height,
    }
