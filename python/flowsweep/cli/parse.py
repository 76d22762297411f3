"""`flowsweep parse`: turns captures into Parquet tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep.cli import progress_line
from flowsweep.cli.arguments import Parser, add_files, add_output, add_reading
from flowsweep.files.file_sets import file_set
from flowsweep.parsing import ALL_TABLES, DamagedCaptureError, Options, name_paths, write_tables
from flowsweep.units import counted
from flowsweep.zeek import is_log

if TYPE_CHECKING:
    from flowsweep._parsers import Summary


def arguments(parser: Parser) -> None:
    """Adds the options and arguments of this command."""
    add_files(parser)
    add_output(parser, "Folder for <table>.parquet.")
    add_reading(parser)


def parse(*, files: list[Path], output: Path, **reading: Any) -> int:
    """Turn captures into Parquet tables.

    Several FILEs are one capture, in the order of their packets; - reads a stream. A
    conn.log of Zeek becomes the tables flows and captures; what Zeek does not record is null.

    Example: flowsweep parse trace.pcap.zst --output tables
    """
    options = Options.from_values(**reading, process_ends=True)
    names = {table: f"{table}.parquet" for table in ALL_TABLES}
    if any(map(is_log, files)):
        return _parse_logs(files, output, names)
    progress = progress_line.show(progress_line.bytes_of(files))
    # Also removes the packets of an earlier parse, which number connections differently.
    with file_set(output, "tables", [*names.values()], is_alone=True) as folder:
        paths = {table: folder / names[table] for table in options.tables}
        places = {table: output / names[table] for table in options.tables}
        summary = write_tables(name_paths(files), paths, places, options, progress)
    _say(summary, output)
    for damage in summary["damage"][1:]:
        print(f"error: {DamagedCaptureError(damage)}", file=sys.stderr)
    if summary["damage"]:
        raise DamagedCaptureError(summary["damage"][0])
    return 0


def _parse_logs(files: list[Path], output: Path, names: dict[str, str]) -> int:
    """Writes the tables of Zeek's `conn.log`; returns the exit code."""
    from flowsweep.cli import zeek_logs
    from flowsweep.zeek import tables

    with file_set(output, "tables", [*names.values()], is_alone=True) as folder:
        paths = {table: folder / names[table] for table in tables.FILLED}
        connections, done = tables.write(files, paths)
    return int(zeek_logs.tell(done, f", {counted(connections, 'connection')} -> {output}"))


def _say(summary: Summary, output: Path) -> None:
    progress_line.clear()
    files = f"{len(summary['files'])} files, " if len(summary["files"]) > 1 else ""
    packets = counted(summary["packets"], "packet")
    counts = f"{packets}, {counted(summary['connections'], 'connection')}"
    print(f"{files}{counts} -> {output}", file=sys.stderr)
    if summary["undecoded"]:
        share = 100 * summary["undecoded"] / summary["packets"]
        what = f"{counted(summary['undecoded'], 'packet')} could not be decoded ({share:.1f} %)"
        print(f"{what}: flowsweep show says why", file=sys.stderr)
    if summary["bad_checksums"]:
        what = f"{counted(summary['bad_checksums'], 'packet')} with a wrong checksum"
        print(f"{what}: in no flow, as at the host that discards them", file=sys.stderr)
