"""`flowsweep zeek-logs`: turns Zeek's logs into Parquet tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep.cli.arguments import Parser, add_output
from flowsweep.errors import FlowsweepError
from flowsweep.files.file_sets import file_set
from flowsweep.files.outputs import explaining
from flowsweep.units import counted

if TYPE_CHECKING:
    from flowsweep.zeek.convert import Converted, Log


def arguments(parser: Parser) -> None:
    """Adds the options and arguments of this command."""
    parser.add_argument(
        "logs", metavar="DIR|FILE", nargs="+", type=Path, help="Logs, or folders of logs."
    )
    add_output(parser, "Folder for <log>.parquet.")
    parser.add_argument(
        "--types",
        dest="types_from",
        metavar="LOG",
        type=Path,
        action="append",
        default=[],
        help="A log in TSV whose header gives the types of JSON logs of its kind.",
    )


def zeek_logs(*, logs: list[Path], output: Path, types_from: list[Path]) -> int:
    """Turn Zeek's logs into Parquet tables, one for each kind of log.

    TSV with its header, or one JSON object a line; plain or compressed; rotated logs of one kind
    become one table. Times are UTC with nanoseconds, intervals durations, unset values null.

    Example: flowsweep zeek-logs /var/log/zeek/2026-11-24 --output results/zeek
    """
    from flowsweep.zeek import convert

    found = convert.find(logs)
    known = [log for path in found if (log := convert.look(path)) is not None]
    others = [path for path in found if path not in {log.path for log in known}]
    if not known:
        raise FlowsweepError(
            f"{logs[0]}: no Zeek log",
            found=f"{counted(len(found), 'file')} called *.log, none with Zeek's header or JSON"
            if found
            else "no file called *.log, also compressed",
            expected="conn.log and others, as Zeek writes them",
            remedy="zeek -C -r FILE.pcap writes them into the current folder",
        )
    types = {log.kind: log.schema for log in map(convert.look, types_from) if log is not None}
    kinds: dict[str, list[Log]] = {}
    for log in known:
        kinds.setdefault(log.kind, []).append(log)
    lost = False
    places = [f"{kind}.parquet" for kind in kinds]
    with file_set(output, "zeek-logs", places, is_alone=True) as folder:
        for kind, files in sorted(kinds.items()):
            written, target = folder / f"{kind}.parquet", output / f"{kind}.parquet"
            with explaining(f"cannot write {target}"):
                done = convert.convert(files, written, types.get(kind))
            lost |= tell(done, f" -> {target}")
    for path in others:
        print(f"note: {path}: no rows, or no log of Zeek: left out", file=sys.stderr)
    return int(lost)


def tell(done: Converted, target: str = "") -> bool:
    """Prints what was read; returns whether data was lost."""
    logs = f" of {counted(done.logs, 'log')}" if done.logs > 1 else ""
    print(f"{done.kind}: {counted(done.rows, 'row')}{logs}{target}", file=sys.stderr)
    for column, types in done.widened.items():
        print(f"note: {done.kind}: column {column} is of several types: {types}", file=sys.stderr)
    for path, faults in done.faults:
        lost = [counted(faults.lines, "line") + " without a row"] if faults.lines else []
        lost += [counted(faults.values, "value") + " left null"] if faults.values else []
        lost += [counted(faults.texts, "line") + " not in UTF-8, kept"] if faults.texts else []
        error = FlowsweepError(
            f"{path}: damaged: {' and '.join(lost)}",
            found=faults.first,
            expected="values as the header says",
            remedy="copy the log again, or correct these lines",
        )
        print(f"error: {error}", file=sys.stderr)
    for damage in done.damage:
        print(f"error: {damage}", file=sys.stderr)
    return bool(done.faults or done.damage)
