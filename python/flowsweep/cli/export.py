"""`flowsweep export`: writes what happened in a run, for other programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from flowsweep import printing
from flowsweep.cli import progress_line
from flowsweep.cli.arguments import Parser, add_format, add_output
from flowsweep.units import counted

#: Why messages have no arrival, as text.
REASONS = {
    "not captured": "not captured at both ends",
    "lost or not matched": "lost, or their packets were not matched",
    "clock": "by the clocks, which are not known well enough, they arrive before they were sent",
}


def arguments(parser: Parser) -> None:
    """Adds the options and arguments of this command."""
    parser.add_argument(
        "path",
        metavar="RUN",
        type=Path,
        help="results/<experiment>, a folder of tables, or the tables of one run.",
    )
    parser.add_argument(
        "--to",
        choices=("perfetto", "goal"),
        required=True,
        help="perfetto: a trace for ui.perfetto.dev, in Chrome's JSON format. goal: a schedule for "
        "LogGOPSim and other simulators that read GOAL.",
    )
    add_output(parser, "File to write; compressed if its name ends with .gz.")
    parser.add_argument("--run", metavar="NAME", help="Which run, where there are several.")
    add_format(parser, "text", "json", about="How the counts are printed.")


def export(*, path: Path, to: str, output: Path, run: str | None, output_format: str) -> int:
    """Write the messages of a run for other programs: who sent what to whom, when it arrived.

    RUN has the tables of flowsweep ingest --match; only TCP has messages. All times are on the
    clock of the reference; an arrival may be wrong by error_ns against what was sent. A message
    has no arrival where it was not captured at both ends, was lost or not matched, or where clocks
    are not known well enough: it would arrive before it was sent.

    perfetto: each host is a process with a thread for what it sends to each other host, and one
    for what comes from there; further threads hold messages that overlap. A message is a slice
    from its first to its last packet at the sender, a slice from the first byte's to the last
    byte's arrival at the receiver, and an arrow between them. Another arrow (dependency) leads
    from the message that arrived last to the one that the host sent next. One more process has the
    critical path: what the completion time is made of, piece by piece.

    goal: each host is a rank, and one thread: it sends a message when it has sent the one before
    and received all that had arrived by then, and after the time that passed since the last of
    these. That is assumed: captures do not show what a program waits for. Messages without an
    arrival are left out.

    Exit code 1: there are no messages.

    Example: flowsweep export results/mine --run lu-baseline-r1 --to perfetto -o lu.json.gz
    """
    from flowsweep.exports import goal, messages, perfetto, run_tables
    from flowsweep.exports import path as critical_path
    from flowsweep.files import file_sets

    found = run_tables.find(path, run)
    progress = _show if sys.stderr.isatty() else None
    with file_sets.reading(found.folder.parent):
        found.check_matched()
        hosts = found.hosts()
        read = messages.read(hosts, progress)
        pieces = critical_path.read(hosts) if to == "perfetto" else []
    if to == "goal":
        goal.write(read, found.run, hosts, output, progress)
    else:
        perfetto.write(read, found.run, hosts, output, progress, critical_path=pieces)
    progress_line.clear()
    without = read.without_arrival()
    total = read.rows.height
    if output_format == "json":
        about = {
            "run": found.run,
            "hosts": [*hosts],
            "messages": total,
            "arrived": total - sum(without.values()),
            "without_arrival": without,
            "own_clocks": read.own_clocks,
        }
        printing.exact(json.dumps(about, indent=2) + "\n")
    else:
        _print(total, without, read.own_clocks)
    print(f"{found.run}: {counted(len(hosts), 'host')} -> {output}", file=sys.stderr)
    return 0 if total else 1


def _show(text: str) -> None:
    """Rewrites the progress line."""
    print(f"\r{text}\x1b[K", end="", file=printing.raw(sys.stderr), flush=True)


def _print(total: int, without: dict[str, int], own_clocks: Sequence[str]) -> None:
    """Prints the number of messages, and why some have no known arrival time."""
    lacking = sum(without.values())
    print(f"{counted(total, 'message')}, {total - lacking:,} with an arrival")
    for lack, count in without.items():
        if count:
            print(f"{count:,} without: {REASONS[lack]}")
    for host in own_clocks:
        print(f"times of {host} are by its own clock: no packet of it compares it to the others'")
