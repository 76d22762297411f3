"""Summaries of captures to the terminal, in lines of some 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flowsweep.cli.show import Summary

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII_BLOCKS = ".:-=+*#@"
#: A share below this is not printed.
MENTIONED = 0.001


def counted(number: int, noun: str) -> str:
    """`1 packet`, `1,200 packets`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def percent(share: float) -> str:
    """A share in per cent, never 0 for something that is there."""
    return f"{100 * share:.1f} %" if share >= 0.001 else "< 0.1 %"


def print_summaries(summaries: list[Summary]) -> None:
    """One capture in full; of several the head of each, and a sum."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    for number, summary in enumerate(summaries):
        if number:
            console.print()
        _print_head(console, summary)
        if summary.packets and len(summaries) == 1:
            _print_throughput(console, summary)
            _print_flows(console, summary)
            _print_pieces(console, summary)
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
        f"  {counted(summary.connections, 'connection')}"
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


def _print_pieces(console: Any, summary: Summary) -> None:
    """A line on messages, and one on what held the senders of the top flows back."""
    found = summary.messages
    if found:
        console.print(
            f"\nmessages  {found['count']:,}: median {_bytes(found['p50_bytes'])},"
            f" p90 {_bytes(found['p90_bytes'])}, max {_bytes(found['max_bytes'])};"
            f" {100 * found['guessed_share']:.0f} % of ends guessed"
        )
    limits = [row["limited_ns"] for row in summary.top if row["limited_ns"] is not None]
    if not limits:
        return
    near = [
        row["limited_ns"]
        for row in summary.top
        if row["limited_ns"] is not None and row["is_at_sender"]
    ]
    sums = {name: sum(one[name] for one in near) for name in limits[0]}
    total = sum(sums.values())
    if not total:
        console.print("held by   cannot tell: no top flow was captured beside its sender")
        return
    words = [
        f"{name} {percent(time / total)}"
        for name, time in sums.items()
        if time >= MENTIONED * total
    ]
    flows = counted(len(near), "top flow")
    console.print(f"held by   {', '.join(words)}  ({flows} sent from here)")


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
