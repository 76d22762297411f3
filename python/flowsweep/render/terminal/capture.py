"""Prints summaries of captures on the terminal, in lines of some 80 columns."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowsweep import printing
from flowsweep.analysis import grades
from flowsweep.units import counted, percent

if TYPE_CHECKING:
    from flowsweep.analysis.capture_summary import Note, Summary

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII_BLOCKS = ".:-=+*#@"
#: Shares below this are not printed.
MENTIONED = 0.001
#: Starts a continuation line.
NEXT_LINE = "\n  "
#: The same, after titles such as `messages` and `held by`.
BEHIND_TITLE = "\n          "
#: The space between a number and what it counts; a space at which no line breaks.
NUMBER_AND_UNIT, HELD = re.compile(r"(?<=[0-9]) (?=\S)"), "\N{NO-BREAK SPACE}"
BEHIND_GRADE = BEHIND_TITLE + "   "
BEHIND_THROUGHPUT = BEHIND_TITLE + "  "


def print_summaries(summaries: list[Summary]) -> None:
    """Prints one capture in full; of several the head of each, and a sum."""
    from rich.console import Console

    class Visible(Console):
        """Prints control characters of captures and their names visibly."""

        def print(self, *objects: Any, **options: Any) -> None:
            super().print(*map(printing.visible, objects), **options)

    console = Visible(highlight=False, soft_wrap=True)
    # The console must not print: it would end the process when the reader of a pipe is gone.
    with console.capture() as printed:
        _print_all(console, summaries)
    printing.styled(printed.get())


def _print_all(console: Any, summaries: list[Summary]) -> None:
    for number, summary in enumerate(summaries):
        if number:
            console.print()
        _print_head(console, summary)
        if summary.packets and len(summaries) == 1:
            _print_throughput(console, summary)
            _print_flows(console, summary)
            _print_pieces(console, summary)
    if len(summaries) > 1:
        console.print(f"\nall    {len(summaries)} files  {_on_the_wire(*summaries)}")


def _print_head(console: Any, summary: Summary) -> None:
    from rich.markup import escape

    stamps = {1: "nanosecond", 1000: "microsecond", 1_000_000: "millisecond"}
    stamp = stamps.get(summary.resolution_ns) or _scale(summary.resolution_ns / 1e9, TIMES)
    snap = f"snap length {summary.snaplen:,} B" if summary.snaplen else "no snap length"
    links = ", ".join(_link_name(link) for link in summary.link_types)
    about = f"{links}, {snap}, {stamp} stamps"
    name = _shorten(summary.file, console.width)
    fits = len(name) + 2 + len(about) <= console.width
    about = about if fits else NEXT_LINE + _wrap(about, console, NEXT_LINE)
    console.print(f"[bold]{escape(name)}[/]{'  ' if fits else ''}{about}")
    if summary.packets == 0:
        well = "the file is cut or damaged" if summary.damaged else "the file is well formed"
        console.print(f"0 packets; {well}")
        _print_notes(console, [note for note in summary.notes if note.level == "bad"])
        return
    console.print(
        f"{_duration(summary.duration_s)}  {_on_the_wire(summary)}"
        f"  {counted(summary.connections, 'connection')}"
    )
    letter = summary.grade if _is_unicode(console) else summary.grade.replace(grades.UNKNOWN, "-")
    means = escape(_wrap(summary.grade_means, console, BEHIND_GRADE))
    console.print(f"\nquality  [bold]{letter}[/]   {means}")
    _print_notes(console, summary.notes)


def _on_the_wire(*summaries: Summary) -> str:
    """States the packets of captures with copies, and the bytes on the wire without them."""
    packets = sum(one.packets for one in summaries)
    copies = sum(one.duplicate_packets for one in summaries)
    size = sum(one.wire_bytes - one.duplicate_bytes for one in summaries)
    text = f", {copies:,} of them copies" if copies else ""
    return f"{counted(packets, 'packet')}{text}  {_bytes(size)} on the wire"


def _is_unicode(console: Any) -> bool:
    return "utf" in (console.encoding or "").lower()


def _print_notes(console: Any, notes: list[Note]) -> None:
    from rich.markup import escape

    colours = {"ok": "green", "note": "yellow", "bad": "red"}
    for note in notes:
        text = escape(_wrap(note.text, console, "\n        "))
        console.print(f"  [{colours[note.level]}]{note.level:<4}[/]  {text}")


def _wrap(text: str, console: Any, next_line: str) -> str:
    """Wraps text in lines that fit after `next_line`, which separates them.

    A number stays on one line with its unit.
    """
    room = max(20, console.width - len(next_line.lstrip("\n")))
    kept = NUMBER_AND_UNIT.sub(HELD, text)
    return next_line.join(textwrap.wrap(kept, room, break_on_hyphens=False)).replace(HELD, " ")


def _shorten(name: str, width: int) -> str:
    """Cuts the middle out of a name that is longer than a line."""
    if len(name) <= width:
        return name
    kept = max(8, width - 3)
    return f"{name[: kept // 2]}...{name[-(kept - kept // 2) :]}"


def _print_throughput(console: Any, summary: Summary) -> None:
    if summary.borrowed_times:
        text = f"not measurable: {counted(summary.borrowed_times, 'packet')} with no recorded time"
        console.print(f"\nthroughput  {_wrap(text, console, BEHIND_THROUGHPUT)}")
        return
    if not summary.out_mbit_s:
        return
    columns = len(summary.out_mbit_s)
    # No file says which host captured it.
    title = f"throughput of {' and '.join(summary.addresses)} (a guess)"
    scale = (
        f"{counted(columns, 'column')} of {_duration(summary.column_s)},"
        f" height = busiest {_duration(summary.bin_ms / 1e3)} of each"
    )
    fits = len(title) + 3 + len(scale) <= console.width
    console.print(f"\n{title}{'   ' if fits else NEXT_LINE}{scale}")
    top = max(summary.out_mbit_s + summary.in_mbit_s)
    blocks = BLOCKS if _is_unicode(console) else ASCII_BLOCKS
    for name, values in (("out", summary.out_mbit_s), ("in", summary.in_mbit_s)):
        line = "".join(_block(value, top, blocks) for value in values)
        console.print(f"  {name:<3}  {line}  {_rate(max(values))}")
    means = "shorter than a bin, no mean rate"
    if summary.mean_out_mbit_s is not None:
        means = f"mean {_rate(summary.mean_out_mbit_s)} out, {_rate(summary.mean_in_mbit_s)} in"
    bins = f"{_duration(summary.bin_ms / 1e3)} bins"
    console.print(f"  {means}; {_whole_percent(summary.empty_bins)} of {bins} are empty")
    if summary.shortest_ms is not None:
        console.print(
            f"  not measurable below {_scale(summary.shortest_ms / 1e3, TIMES)}: offloading merged"
            " packets"
        )


def _whole_percent(share: float) -> str:
    """Formats a share in whole per cent; 0 and 100 only if they are exact."""
    if 0 < share < 0.01:
        return "< 1 %"
    return "> 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def _block(value: float, top: float, blocks: str) -> str:
    if value <= 0 or top <= 0:
        return " "
    return blocks[min(len(blocks) - 1, int(value / top * len(blocks)))]


def _print_flows(console: Any, summary: Summary) -> None:
    if not summary.top:
        return
    console.print(f"\nflows by payload   {len(summary.top)} of {summary.flows:,}")
    columns = [
        _Column("conn", [str(row["connection"]) for row in summary.top]),
        _Column("", [row["protocol"] for row in summary.top], left=True),
        _Column("from", [row["from"] for row in summary.top], left=True),
        _Column("to", [row["to"] for row in summary.top], left=True),
        _Column("payload", [_size(row["payload_bytes"]) for row in summary.top]),
        _Column("time", [_scale(row["duration_s"], TIMES) for row in summary.top]),
        _Column("rate", [_rate(row["mbit_s"]) for row in summary.top]),
        _Column("RTT min", [_rtt(row["rtt_min_ms"], summary) for row in summary.top]),
        _Column("again", [_count(row["retransmitted_packets"]) for row in summary.top]),
    ]
    columns, ends = _fit(columns, console.width)
    titles = "".join(f"  {column.cell(column.title)}" for column in columns)
    console.print(f"[dim]{titles}[/]")
    for number in range(len(summary.top)):
        cells = (f"  {column.cell(column.values[number])}" for column in columns)
        console.print("".join(cells), markup=False)
        for end in ends:
            console.print(f"        {end.title:<4}  {end.values[number]}", markup=False)


def _fit(columns: list[_Column], width: int) -> tuple[list[_Column], list[_Column]]:
    """Returns the columns that fit into `width`, and those that get lines of their own."""
    # A narrow terminal can omit these: they follow from others, or are nearly always the same.
    for left_out in ((), ("time",), ("time", "")):
        kept = [column for column in columns if column.title not in left_out]
        if sum(column.width + 2 for column in kept) <= width:
            return kept, []
    # Two IPv6 addresses alone may be wider than the terminal.
    ends = [column for column in columns if column.title in ("from", "to")]
    return [column for column in columns if column not in ends], ends


@dataclass(frozen=True)
class _Column:
    """One column of a table on the terminal."""

    title: str
    values: list[str]
    left: bool = False

    @property
    def width(self) -> int:
        return max(len(text) for text in (self.title, *self.values))

    def cell(self, text: str) -> str:
        return f"{text:<{self.width}}" if self.left else f"{text:>{self.width}}"


def _print_pieces(console: Any, summary: Summary) -> None:
    """Prints marks, RDMA and messages, and what held the senders of top flows back."""
    marks, rdma, found = summary.marks, summary.rdma, summary.messages
    if marks or rdma or found:
        console.print()
    if marks:
        text = (
            f"{marks['marked']:,} of {counted(marks['capable'], 'ECN-capable packet')} marked"
            f" ({percent(marks['marked'] / marks['capable'])})"
        )
        if marks["echoes"] is not None:
            text += f"; echoed by {counted(marks['echoes'], 'segment')}"
        console.print(f"ecn       {_wrap(text, console, BEHIND_TITLE)}")
    if rdma:
        console.print(f"rdma      {_wrap(_rdma_words(rdma), console, BEHIND_TITLE)}")
    if found:
        queued = _whole_percent(found["queued_share"])
        share = _whole_percent(found["queued_bytes_share"])
        doubts = {
            f"{queued}, with {share} of the bytes, waited in a queue, and may be several"
            " writes each": found["queued_share"],
            f"{_whole_percent(found['far_share'])} seen far from the sender": found["far_share"],
            f"{_whole_percent(found['unplaced_share'])} seen where RTTs do not show how far": found[
                "unplaced_share"
            ],
        }
        texts = [words for words, share in doubts.items() if share >= MENTIONED]
        least = " at least" if texts else ""
        text = (
            f"{found['count']:,}{least}: median {_bytes(found['p50_bytes'])},"
            f" p90 {_bytes(found['p90_bytes'])}, max {_bytes(found['max_bytes'])};"
            f" {_whole_percent(found['guessed_share'])} of ends guessed"
        )
        text = "; ".join([text, *texts])
        console.print(f"messages  {_wrap(text, console, BEHIND_TITLE)}")
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
    text = f"{', '.join(words)}  ({flows} sent from here)"
    console.print(f"held by   {_wrap(text, console, BEHIND_TITLE)}")


def _rdma_words(rdma: dict[str, Any]) -> str:
    """Describes the queue pairs of a capture; counts of 0 are left out."""
    again = rdma["resent"] + rdma["repeated"]
    size = _bytes(rdma["message_bytes"])
    ends = counted(rdma["queue_pairs"], "queue pair")
    words = [
        f"{counted(rdma['messages'], 'message')} ({size}) to {ends}",
        f"{rdma['lost']:,} lost, {again:,} sent again ({rdma['repeated']:,} not asked for)"
        if rdma["lost"] or again
        else "",
        counted(rdma["naks"], "NAK") if rdma["naks"] else "",
        counted(rdma["cnps"], "CNP") if rdma["cnps"] else "",
        f"RTT {_scale(rdma['rtt_ns'] / 1e9, TIMES)}" if rdma["rtt_ns"] is not None else "",
    ]
    return "; ".join(word for word in words if word)


def _link_name(link: str) -> str:
    return {
        "ETHERNET": "Ethernet",
        "LINUX_SLL": "Linux cooked",
        "LINUX_SLL2": "Linux cooked 2",
    }.get(link, link)


SIZES = ((1, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"))
RATES = ((1, "bit/s"), (1e3, "kbit/s"), (1e6, "Mbit/s"), (1e9, "Gbit/s"))
TIMES = ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1, "s"))


def _scale(value: float, units: tuple[tuple[float, str], ...]) -> str:
    """Formats three digits in the largest unit that leaves one before the point."""
    size, name = next((unit for unit in reversed(units) if value >= 0.9995 * unit[0]), units[0])
    digits = value / size
    return f"{digits:,.0f} {name}" if digits >= 999.5 else f"{digits:.3g} {name}"


def _bytes(value: int) -> str:
    return _scale(value, SIZES)


def _size(value: int | None) -> str:
    return "" if value is None else _bytes(value)


def _duration(seconds: float) -> str:
    """Formats a time: seconds up to 10,000, then hours and days."""
    if 0 < seconds < 1:
        return _scale(seconds, TIMES)
    if seconds < 10_000:
        return f"{seconds:,.4g} s"
    hours = seconds / 3600
    return f"{hours:.3g} h" if hours < 48 else f"{hours / 24:,.0f} days"


def _rate(mbit_s: float | None) -> str:
    if mbit_s is None:
        return ""
    return "< 1 bit/s" if 0 < mbit_s < 1e-6 else _scale(1e6 * mbit_s, RATES)


def _rtt(milliseconds: float | None, summary: Summary) -> str:
    """Formats an RTT; 0 means that it is below the resolution of the time stamps."""
    if milliseconds == 0:
        return f"<{_scale(summary.resolution_ns / 1e9, TIMES)}"
    return "" if milliseconds is None else _scale(milliseconds / 1e3, TIMES)


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
