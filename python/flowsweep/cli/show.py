"""`flowsweep show`: an unknown capture to a summary of some twenty lines on the terminal."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from flowsweep.cli.arguments import Parser, add_checksums, add_files, add_format
from flowsweep.errors import FlowsweepError


def arguments(parser: Parser) -> None:
    """What it takes."""
    add_files(parser)
    add_format(parser, "text", "json")
    add_checksums(parser)


def show(*, files: list[Path], output_format: str, verify_checksums: bool) -> int:
    """Summarise a capture: quality, throughput, the largest flows.

    Several FILEs are shown one by one; what cannot be read is told behind the others.

    Example: flowsweep show trace.pcap.zst
    """
    from flowsweep.analysis.capture_summary import summarise
    from flowsweep.render import capture

    summaries, failures = [], []
    for path in files:
        try:
            summaries.append(summarise(path, verify_checksums=verify_checksums))
        except FlowsweepError as failure:
            failures.append(failure)
    if summaries and output_format == "json":
        print(json.dumps([asdict(summary) for summary in summaries], indent=2))
    elif summaries:
        capture.print_summaries(summaries)
    for other in failures[:-1]:
        print(f"error: {other}", file=sys.stderr)
    if failures:
        raise failures[-1]
    return int(any(summary.packets == 0 or summary.damaged for summary in summaries))
