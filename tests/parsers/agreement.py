"""Compares our tables with the oracle's and lists the differences, file by file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import polars as pl
from collection import PCAPS, Row, rows

from flowsweep.captures import CaptureError, Table
from flowsweep.parsing import Settings

Ends = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class Difference:
    """One number that differs from the oracle's."""

    file: str
    what: str
    ours: str
    theirs: str


@cache
def by_file(name: str) -> dict[str, list[Row]]:
    """Returns the rows of an oracle table, grouped by file."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows(f"oracle/{name}"):
        found[row["file"]].append(row)
    return found


def readable_files() -> list[Row]:
    """Returns the oracle's rows for the files whose container the parser reads."""
    return [row for row in rows("oracle/files.csv") if row["container"] in ("pcap", "pcapng")]


def table(file: str, name: str) -> pl.DataFrame:
    """Returns one of our tables for a file of the collection, empty if the file is unreadable.

    Copies count as packets, because the oracle counts every record.
    """
    try:
        return pl.DataFrame(Table(name, (PCAPS / file,), Settings(keep_duplicates=True)))
    except CaptureError:
        return pl.DataFrame()


def differences(file: Row) -> Iterator[Difference]:
    """Yields every number in which our tables for a file differ from the oracle."""
    name = file["file"]
    captures = table(name, "captures")
    theirs = (
        file if file["packets"] not in ("", "0") else {**file, "packets": file["tcpdump_packets"]}
    )
    yield from _totals(name, captures, theirs)
    flows = table(name, "flows")
    yield from _conversations(name, flows, _streams(name))
    yield from _tcp(name, flows)
    yield from _rtt(name, flows)


def _totals(name: str, captures: pl.DataFrame, theirs: Row) -> Iterator[Difference]:
    if captures.is_empty():
        yield Difference(name, "readable", "no", "yes")
        return
    seen = captures.filter(pl.col("packets") > 0)
    ours: dict[str, object] = {
        column: captures[column].sum() for column in ("packets", "wire_bytes", "captured_bytes")
    }
    ours["ts_steps_back"] = captures["time_regressions"].sum()
    if theirs["ipv6_packets"] == "0":  # the oracle counts fragments of IPv4 only
        ours["ip_fragment_packets"] = captures["fragments"].sum()
    if seen.height == 1:
        ours["first_ts_ns"] = seen["first_time"].dt.epoch("ns")[0]
        ours["last_ts_ns"] = seen["last_time"].dt.epoch("ns")[0]
    elif seen.height > 1:
        ours["min_ts_ns"] = seen["first_time"].dt.epoch("ns").min()
        ours["max_ts_ns"] = seen["last_time"].dt.epoch("ns").max()
    for what, value in ours.items():
        # Where tshark cannot read the file, only tcpdump's packet count is valid.
        if (
            theirs[what] != ""
            and (what == "packets" or theirs["tshark_rc"] == "0")
            and str(value) != theirs[what]
        ):
            yield Difference(name, what, str(value), theirs[what])


@dataclass
class Side:
    """Sums over one direction of one conversation."""

    packets: int = 0
    payload: int = 0


def _streams(name: str) -> dict[Ends, list[Side]]:
    """Returns the oracle's conversations by innermost header: per direction, in file order."""
    order: dict[tuple[str, str], dict[Ends, Side]] = {}
    for row in by_file("packets.csv.gz").get(name, []):
        if row["proto"] in ("tcp", "udp"):
            ends = (row["proto"], row["src"], row["sport"], row["dst"], row["dport"])
            # UDP has no connections to distinguish: sum per address and port.
            stream = row["stream"] if row["proto"] == "tcp" else repr(ends)
            side = order.setdefault((row["proto"], stream), {}).setdefault(ends, Side())
            side.packets += 1
            side.payload += int(row["payload"] or 0)
    found: dict[Ends, list[Side]] = defaultdict(list)
    for sides in order.values():
        for ends, side in sides.items():
            found[ends].append(side)
    return found


def _conversations(
    name: str, flows: pl.DataFrame, streams: dict[Ends, list[Side]]
) -> Iterator[Difference]:
    ours: dict[Ends, list[Side]] = defaultdict(list)
    if not flows.is_empty():
        for row in flows.filter(pl.col("protocol").is_in(["tcp", "udp"])).iter_rows(named=True):
            ends = tuple(
                str(row[column])
                for column in ("protocol", "src_ip", "src_port", "dst_ip", "dst_port")
            )
            sides = ours[ends]  # type: ignore[index]
            if row["protocol"] == "udp" and sides:
                sides[0].packets += row["packets"]
                sides[0].payload += row["payload_bytes"]
            else:
                sides.append(Side(row["packets"], row["payload_bytes"]))
    for ends in sorted(ours.keys() | streams.keys()):
        label = f"{ends[0]} {ends[1]} {ends[2]} > {ends[3]} {ends[4]}"
        own, other = ours.get(ends, []), streams.get(ends, [])
        for number in range(max(len(own), len(other))):
            a = own[number] if number < len(own) else Side()
            b = other[number] if number < len(other) else Side()
            if a.packets != b.packets:
                yield Difference(name, f"{label} #{number} packets", str(a.packets), str(b.packets))
            if a.payload != b.payload:
                yield Difference(
                    name, f"{label} #{number} payload_bytes", str(a.payload), str(b.payload)
                )


#: Our columns, and the oracle's, which come from sequence numbers or from the headers.
TCP_COLUMNS = {
    "retransmitted_packets": "overlap_segments",
    "retransmitted_bytes": "overlap_seq_octets",
    "out_of_order_packets": "late_packets",
    "zero_window_packets": "zero_window_field_packets",
    "mss": "mss_option",
    "window_scale": "wscale_option",
}


def tcp_rows(flows: pl.DataFrame) -> dict[tuple[str, ...], list[dict[str, object]]]:
    """Returns our TCP rows by their ends, in the order of their connections."""
    found: dict[tuple[str, ...], list[dict[str, object]]] = defaultdict(list)
    if flows.is_empty():
        return found
    for row in flows.filter(pl.col("protocol") == "tcp").iter_rows(named=True):
        ends = (row["src_ip"], str(row["src_port"]), row["dst_ip"], str(row["dst_port"]))
        found[ends].append(row)
    return found


def _tcp(name: str, flows: pl.DataFrame) -> Iterator[Difference]:
    ours = tcp_rows(flows)
    seen: dict[tuple[str, ...], int] = defaultdict(int)
    for row in by_file("tcp_analysis.csv.gz").get(name, []):
        ends = (row["src"], row["sport"], row["dst"], row["dport"])
        number = seen[ends]
        seen[ends] += 1
        if number >= len(ours[ends]):
            continue  # the comparison of conversations already reports it
        for column, theirs in TCP_COLUMNS.items():
            value = ours[ends][number][column]
            text = "" if value is None else str(value)
            if text != row[theirs]:
                label = f"tcp {ends[0]} {ends[1]} > {ends[2]} {ends[3]} #{number} {column}"
                yield Difference(name, label, text, row[theirs])


def rtt_means(name: str, flows: pl.DataFrame) -> Iterator[tuple[str, int | None, float]]:
    """Yields our mean RTT in ns and tcptrace's in ms where both see the same connections."""
    ours = tcp_rows(flows)
    theirs: dict[tuple[str, ...], list[float | None]] = defaultdict(list)
    for row in by_file("tcptrace.csv.gz").get(name, []):
        a, b = (row["host_a"], row["port_a"]), (row["host_b"], row["port_b"])
        for ends, way in ((a + b, "a2b"), (b + a, "b2a")):
            samples = int(row[f"RTT_samples_{way}"])
            theirs[ends].append(float(row[f"RTT_avg_{way}"]) if samples else None)
    for ends, means in theirs.items():
        # tcptrace ends a connection at its FINs; tshark and the parser end it at a new SYN.
        if len(means) != len(ours.get(ends, [])):
            continue
        for number, (row, mean) in enumerate(zip(ours[ends], means, strict=True)):
            if mean is not None:
                own = row["rtt_mean_ns"]
                label = f"tcp {ends[0]} {ends[1]} > {ends[2]} {ends[3]} #{number} rtt_mean_ns"
                yield label, own if isinstance(own, int) else None, mean


def _rtt(name: str, flows: pl.DataFrame) -> Iterator[Difference]:
    """Yields means more than 1 % from tcptrace's, which are printed in tenths of a millisecond."""
    for label, ours, theirs in rtt_means(name, flows):
        if ours is None or abs(ours / 1e6 - theirs) > max(0.01 * theirs, 0.06):
            yield Difference(name, label, str(ours or ""), f"{theirs:g} ms")
