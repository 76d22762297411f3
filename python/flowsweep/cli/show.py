"""`flowsweep show`: an unknown capture to a summary of some twenty lines on the terminal."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flowsweep.errors import FlowsweepError

if TYPE_CHECKING:
    import polars as pl

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII_BLOCKS = ".:-=+*#@"
COLUMNS = 60
TOP_FLOWS = 5
#: A share of packets above which a note becomes a warning.
NOTABLE = 0.05


def show(
    files: Annotated[list[Path], typer.Argument(help="Captures; several are shown one by one.")],
    output_format: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
) -> None:
    """Summarise a capture: quality, throughput, the largest flows.

    Example: flowsweep show trace.pcap.zst
    """
    if output_format not in ("text", "json"):
        raise FlowsweepError("--format", found=output_format, expected="text or json")
    summaries = [summarise(path) for path in files]
    if output_format == "json":
        print(json.dumps([asdict(summary) for summary in summaries], indent=2))
    else:
        _print(summaries)
    if any(summary.packets == 0 or summary.damaged for summary in summaries):
        raise typer.Exit(1)


@dataclass
class Note:
    """One line of the quality section."""

    level: str
    text: str


@dataclass
class Summary:
    """What is shown of one capture."""

    file: str
    link_types: list[str]
    snaplen: int
    resolution_ns: int
    duration_s: float
    packets: int
    wire_bytes: int
    connections: int
    damaged: bool
    notes: list[Note] = field(default_factory=list)
    host: str | None = None
    bin_ms: float = 10.0
    out_mbit_s: list[float] = field(default_factory=list)
    in_mbit_s: list[float] = field(default_factory=list)
    mean_out_mbit_s: float = 0.0
    mean_in_mbit_s: float = 0.0
    empty_bins: float = 0.0
    column_s: float = 0.0
    flows: int = 0
    top: list[dict[str, Any]] = field(default_factory=list)

    @property
    def grade(self) -> str:
        """A without notes, B with notes, C where something is bad."""
        levels = {note.level for note in self.notes}
        return "C" if "bad" in levels else "B" if "note" in levels else "A"


def summarise(path: Path) -> Summary:
    """Everything that is shown of the capture at `path`."""
    import tempfile

    import polars as pl

    from flowsweep.captures import DEFAULT_BIN_NS
    from flowsweep.cli.parse import TABLES, parse_tables

    with tempfile.TemporaryDirectory(prefix="flowsweep-") as folder:
        parse_tables([path], Path(folder))
        tables = {name: pl.read_parquet(Path(folder) / f"{name}.parquet") for name in TABLES}
    captures, flows = tables["captures"], tables["flows"]
    seen = captures.filter(pl.col("packets") > 0)
    duration_ns = 0
    if seen.height:
        first, last = (
            seen["first_time"].dt.epoch("ns").min(),
            seen["last_time"].dt.epoch("ns").max(),
        )
        duration_ns = max(0, int(last) - int(first))  # type: ignore[arg-type]
    summary = Summary(
        file=path.name or str(path),
        link_types=sorted(set(captures["link_type"])),
        snaplen=int(captures["snaplen"].max() or 0),  # type: ignore[arg-type]
        resolution_ns=int(captures["ts_resolution_ns"].min() or 1),  # type: ignore[arg-type]
        duration_s=duration_ns / 1e9,
        packets=int(captures["packets"].sum()),
        wire_bytes=int(captures["wire_bytes"].sum()),
        connections=flows["connection"].n_unique(),
        damaged=bool(captures["truncated_tail"].any()),
        notes=_notes(captures, flows),
        flows=flows.height,
        top=_top(flows),
    )
    _throughput(summary, tables["throughput"], DEFAULT_BIN_NS)
    return summary


def _notes(captures: pl.DataFrame, flows: pl.DataFrame) -> list[Note]:
    import polars as pl

    packets = int(captures["packets"].sum())
    notes = []

    def count(column: str) -> int:
        return int(captures[column].sum() or 0)

    def note(column: str, text: str) -> None:
        number = count(column)
        if number:
            share = number / packets
            level = (
                "bad" if column.startswith(("unknown", "malformed")) and share > NOTABLE else "note"
            )
            notes.append(Note(level, f"{number:,} {text} ({_percent(share)})"))

    known = captures["dropped_kernel"].null_count() < captures.height
    dropped = count("dropped_kernel") + count("dropped_interface")
    if dropped:
        share = dropped / max(1, packets + dropped)
        level = "bad" if share > 0.001 else "note"
        notes.append(
            Note(level, f"{dropped:,} packets dropped by kernel or interface ({_percent(share)})")
        )
    elif known:
        notes.append(Note("ok", "no drops reported by kernel or interface"))
    else:
        notes.append(Note("note", "nothing says whether packets were dropped"))
    if captures["truncated_tail"].any():
        notes.append(Note("bad", "the file is cut or damaged; what came before was kept"))
    note(
        "super_packets", "packets longer than a network carries: offload was on, gaps are of those"
    )
    note("unknown_link_packets", "packets of a link type that is not known")
    note("cut_packets", "packets cut inside a header")
    note("malformed_packets", "packets with a header that contradicts itself")
    note("time_regressions", "packets earlier than the one before them")
    note("fragments", "IP fragments; those behind the first have no ports")
    midstream = flows.filter(pl.col("start") == "midstream")["connection"].n_unique()
    if midstream:
        notes.append(Note("note", f"{_counted(midstream, 'connection')} began before the capture"))
    return notes


def _throughput(summary: Summary, bins: pl.DataFrame, bin_ns: int) -> None:
    import polars as pl

    if bins.is_empty():
        return
    # The host is the address that most bytes go to and come from.
    ends = pl.concat([bins.select(ip=column, wire="wire_bytes") for column in ("src_ip", "dst_ip")])
    totals = (
        ends.group_by("ip").agg(pl.col("wire").sum()).sort("wire", "ip", descending=[True, False])
    )
    host = str(totals["ip"][0])
    start = bins["bin_start"].dt.epoch("ns")
    low = int(start.min())  # type: ignore[arg-type]
    count = (int(start.max()) - low) // bin_ns + 1  # type: ignore[arg-type]
    width = -(-count // COLUMNS)
    summary.host, summary.column_s = host, width * bin_ns / 1e9
    numbered = bins.with_columns(number=(start - low) // bin_ns)
    filled = numbered["number"].n_unique()
    summary.empty_bins = 1 - filled / count
    for column, name in (("src_ip", "out"), ("dst_ip", "in")):
        per_bin = (
            numbered.filter(pl.col(column) == host)
            .group_by("number")
            .agg(pl.col("wire_bytes").sum())
        )
        rate = per_bin.with_columns(
            mbit=pl.col("wire_bytes") * 8e3 / bin_ns, column=pl.col("number") // width
        )
        peaks = dict(rate.group_by("column").agg(pl.col("mbit").max()).iter_rows())
        columns = -(-count // width)
        setattr(
            summary, f"{name}_mbit_s", [float(peaks.get(number, 0.0)) for number in range(columns)]
        )
        mean = float(per_bin["wire_bytes"].sum()) * 8e3 / (count * bin_ns)
        setattr(summary, f"mean_{name}_mbit_s", mean)


def _top(flows: pl.DataFrame) -> list[dict[str, Any]]:
    import polars as pl

    largest = flows.sort(
        ["payload_bytes", "connection", "direction"], descending=[True, False, True]
    )
    rows = []
    for row in largest.head(TOP_FLOWS).filter(pl.col("packets") > 0).iter_rows(named=True):
        seconds = row["duration_ns"] / 1e9
        rows.append(
            {
                "connection": row["connection"],
                "protocol": row["protocol"],
                "from": _end(row["src_ip"], row["src_port"]),
                "to": _end(row["dst_ip"], row["dst_port"]),
                "payload_bytes": row["payload_bytes"],
                "duration_s": seconds,
                "mbit_s": row["payload_bytes"] * 8e-6 / seconds if seconds else None,
                "retransmitted_packets": row["retransmitted_packets"],
                "rtt_min_ms": None if row["rtt_min_ns"] is None else row["rtt_min_ns"] / 1e6,
            }
        )
    return rows


def _end(address: str, port: int | None) -> str:
    if port is None:
        return address
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.001 else "< 0.1 %"


def _print(summaries: list[Summary]) -> None:
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    for number, summary in enumerate(summaries):
        if number:
            console.print()
        _print_head(console, summary)
        if summary.packets and len(summaries) == 1:
            _print_throughput(console, summary)
            _print_flows(console, summary)
    if len(summaries) > 1:
        packets = sum(summary.packets for summary in summaries)
        size = sum(summary.wire_bytes for summary in summaries)
        console.print(
            f"\nall    {len(summaries)} files  {packets:,} packets  {_bytes(size)} on the wire"
        )


def _print_head(console: Any, summary: Summary) -> None:
    stamps = {1: "nanosecond", 1000: "microsecond", 1_000_000: "millisecond"}
    stamp = stamps.get(summary.resolution_ns, f"{summary.resolution_ns} ns")
    snap = f"snap length {summary.snaplen:,} B" if summary.snaplen else "no snap length"
    links = ", ".join(_link_name(link) for link in summary.link_types)
    console.print(f"[bold]{summary.file}[/]  {links}, {snap}, {stamp} stamps")
    if summary.packets == 0:
        well = "the file is cut or damaged" if summary.damaged else "the file is well formed"
        console.print(f"0 packets; {well}")
        return
    console.print(
        f"{summary.duration_s:,.4g} s  {summary.packets:,} packets"
        f"  {_bytes(summary.wire_bytes)} on the wire"
        f"  {_counted(summary.connections, 'connection')}"
    )
    words = {"A": "nothing to note", "B": "read with the notes", "C": "not to be trusted as it is"}
    console.print(f"\nquality  [bold]{summary.grade}[/]   {words[summary.grade]}")
    colours = {"ok": "green", "note": "yellow", "bad": "red"}
    for note in summary.notes:
        console.print(f"  [{colours[note.level]}]{note.level:<4}[/]  {note.text}")


def _print_throughput(console: Any, summary: Summary) -> None:
    if summary.host is None:
        return
    columns = len(summary.out_mbit_s)
    console.print(
        f"\nthroughput of {summary.host}   {columns} columns of {summary.column_s:.3g} s,"
        f" height = busiest {summary.bin_ms:.0f} ms of each"
    )
    top = max(summary.out_mbit_s + summary.in_mbit_s)
    blocks = BLOCKS if "utf" in (console.encoding or "").lower() else ASCII_BLOCKS
    for name, values in (("out", summary.out_mbit_s), ("in", summary.in_mbit_s)):
        line = "".join(_block(value, top, blocks) for value in values)
        console.print(f"  {name:<3}  {line}  {max(values):.3g} Mbit/s")
    console.print(
        f"  mean {summary.mean_out_mbit_s:.3g} out, {summary.mean_in_mbit_s:.3g} in;"
        f" {100 * summary.empty_bins:.0f} % of {summary.bin_ms:.0f} ms bins are empty"
    )


def _block(value: float, top: float, blocks: str) -> str:
    if value <= 0 or top <= 0:
        return " "
    return blocks[min(len(blocks) - 1, int(value / top * len(blocks)))]


def _print_flows(console: Any, summary: Summary) -> None:
    if not summary.top:
        return
    console.print(f"\nflows by payload   {len(summary.top)} of {summary.flows:,}")
    width = max(len(row[end]) for row in summary.top for end in ("from", "to"))
    width = max(width, 4)
    ends = f"{'from':<{width}}  {'to':<{width}}"
    numbers = f"{'payload':>8}  {'time':>8}  {'Mbit/s':>6}  {'RTT min':>8}  {'sent twice':>10}"
    console.print(f"  [dim]{'conn':>5}  {'':<5}  {ends}  {numbers}[/]")
    for row in summary.top:
        rate = "" if row["mbit_s"] is None else f"{row['mbit_s']:.3g}"
        rtt = "" if row["rtt_min_ms"] is None else f"{row['rtt_min_ms']:.3g} ms"
        twice = "" if row["retransmitted_packets"] is None else f"{row['retransmitted_packets']:,}"
        ends = f"{row['from']:<{width}}  {row['to']:<{width}}"
        numbers = f"{_bytes(row['payload_bytes']):>8}  {row['duration_s']:>6.3g} s  {rate:>6}"
        line = f"  {row['connection']:>5}  {row['protocol']:<5}  {ends}  {numbers}"
        console.print(f"{line}  {rtt:>8}  {twice:>10}", markup=False)


def _link_name(link: str) -> str:
    return {
        "ETHERNET": "Ethernet",
        "LINUX_SLL": "Linux cooked",
        "LINUX_SLL2": "Linux cooked 2",
    }.get(link, link)


def _bytes(value: int) -> str:
    """A size of three digits in decimal units."""
    number = float(value)
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"
