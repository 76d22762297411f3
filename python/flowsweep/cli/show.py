"""`flowsweep show`: summarises an unknown capture in some twenty lines on the terminal."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep import printing
from flowsweep.cli.arguments import Parser, add_files, add_format, add_interpretation
from flowsweep.errors import FlowsweepError
from flowsweep.zeek import is_log

if TYPE_CHECKING:
    from flowsweep.zeek.summary import Summary


def arguments(parser: Parser) -> None:
    """Adds the options and arguments of this command."""
    add_files(parser)
    add_format(parser, "text", "json")
    add_interpretation(parser)


def show(*, files: list[Path], output_format: str, **interpretation: Any) -> int:
    """Summarise a capture, or a log of Zeek: quality, throughput, the largest flows.

    Several FILEs are shown one by one; errors of files that cannot be read follow the others.

    Example: flowsweep show trace.pcap.zst
    """
    from flowsweep.analysis.capture_summary import summarise
    from flowsweep.render.terminal import capture

    summaries, failures = [], []
    logs: list[Summary] = []
    for path in files:
        try:
            if is_log(path):
                logs.append(_log(path))
                continue
            summaries.append(summarise(path, **interpretation))
        except FlowsweepError as failure:
            failures.append(failure)
    if (summaries or logs) and output_format == "json":
        found = [*map(asdict, summaries), *map(asdict, logs)]
        printing.exact(json.dumps(found, indent=2) + "\n")
    else:
        if summaries:
            capture.print_summaries(summaries)
        for log in logs:
            _print_log(log)
    for other in failures[:-1]:
        print(f"error: {other}", file=sys.stderr)
    if failures:
        raise failures[-1]
    damaged = any(summary.packets == 0 or summary.damaged for summary in summaries)
    return int(damaged or not all(log.is_whole for log in logs))


def _log(path: Path) -> Summary:
    from flowsweep.zeek.summary import summarise

    return summarise(path)


def _print_log(log: Summary) -> None:
    from flowsweep.render.terminal import rows as terminal
    from flowsweep.zeek.summary import lines, tabulate_largest

    print("\n".join(lines(log)))
    if log.largest:
        print("\nflows by payload")
        terminal.print_rows(tabulate_largest(log))
