"""`flowsweep ingest`: every host's capture of one run to partitioned tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep import names
from flowsweep.cli.arguments import Parser, add_output, add_reading
from flowsweep.errors import FlowsweepError
from flowsweep.file_sets import file_set
from flowsweep.names import partition
from flowsweep.parsing import (
    ALL_TABLES,
    PART,
    SUFFIXES,
    DamagedCaptureError,
    Options,
    write_tables,
)
from flowsweep.units import counted

if TYPE_CHECKING:
    from flowsweep._parsers import Summary


def arguments(parser: Parser) -> None:
    """What it takes."""
    parser.add_argument("run_dir", metavar="RUN_DIR", type=Path, help="Folder of the run.")
    add_output(parser, "Folder of the experiment's tables.")
    add_reading(parser)


def ingest(*, run_dir: Path, output: Path, **reading: Any) -> None:
    """Turn every host's capture of one run into tables, partitioned by run and host.

    RUN_DIR is the run's folder, with files <host>.pcap or .pcapng, also compressed.

    Example: flowsweep ingest runs/lu-baseline-r1 --output results/lu/tables
    """
    options = Options(**reading)
    if not run_dir.is_dir():
        raise FlowsweepError(f"{run_dir}: no such folder", expected="the folder of one run")
    run = names.check(run_dir.resolve().name, "a run", run_dir)
    hosts = captures_by_host(run_dir)
    for host, files in hosts.items():
        names.check(host, "a host", files[0])
    if not hosts:
        found = ", ".join(sorted(path.name for path in run_dir.iterdir())) or "an empty folder"
        raise FlowsweepError(
            f"{run_dir}: no capture in it",
            found=found,
            expected="<host>.pcap or .pcapng, plain or with .zst, .gz or .lz4",
            remedy="check the folder, or record the run again: flowsweep run",
        )
    # Packets of an earlier parse go too: its connections are numbered otherwise.
    places = {table: f"{table}/{partition('run', run)}" for table in ALL_TABLES}
    # As older versions spelled it: the rows would be there twice.
    replaced = {*places.values(), *(f"{table}/run={run}" for table in ALL_TABLES)}
    with file_set(output, partition("run", run), sorted(replaced), is_alone=False) as folder:
        summaries = _ingest_hosts(hosts, folder, output, places, options)
    damaged = [damage for summary in summaries for damage in summary["damage"]]
    total = sum(summary["packets"] for summary in summaries)
    counts = f"{counted(len(hosts), 'host')}, {counted(total, 'packet')}"
    print(f"{run}: {counts} -> {output}", file=sys.stderr)
    for damage in damaged[1:]:
        print(f"error: {DamagedCaptureError(damage)}", file=sys.stderr)
    if damaged:
        raise DamagedCaptureError(damaged[0])


def captures_by_host(run_dir: Path) -> dict[str, list[Path]]:
    """The captures of a run by host; the parts of a rotated capture belong to one host.

    The capture agent numbers parts `<host>-00001.pcap`; `<host>.1.pcap` is read as well. A
    host whose own name ends in a number is only taken for a part where the first part exists.
    """
    stems: dict[str, list[Path]] = {}
    for path in sorted(run_dir.iterdir()):
        suffix = next((suffix for suffix in SUFFIXES if path.name.endswith(suffix)), None)
        if suffix is not None and path.is_file() and not path.name.startswith("."):
            stems.setdefault(path.name.removesuffix(suffix), []).append(path)
    hosts: dict[str, list[Path]] = {}
    for stem, paths in stems.items():
        part = PART.fullmatch(stem)
        host = part["host"] if part and part["host"] in stems else stem
        hosts.setdefault(host, []).extend(paths)
    return {host: sorted(paths) for host, paths in sorted(hosts.items())}


def _ingest_hosts(
    hosts: Mapping[str, Sequence[Path]],
    folder: Path,
    output: Path,
    places: Mapping[str, str],
    options: Options,
) -> list[Summary]:
    """Writes the tables of every host in `folder`, to be moved to their places in `output`."""
    from concurrent.futures import ThreadPoolExecutor

    workers = options.threads or len(os.sched_getaffinity(0))
    # Hosts are the better unit of work; threads left over help within a host.
    options = options._replace(threads=max(1, workers // len(hosts)))
    is_stopped = False

    def look(_read: int, _packets: int) -> None:
        # Signals come to the main thread alone.
        if is_stopped:
            raise KeyboardInterrupt

    def one(item: tuple[str, Sequence[Path]]) -> Summary:
        host, files = item
        named = [(path, path.name) for path in files]
        below = {
            table: Path(places[table], partition("host", host), f"{table}.parquet")
            for table in options.tables
        }
        paths = {table: folder / path for table, path in below.items()}
        finally_at = {table: output / path for table, path in below.items()}
        return write_tables(named, paths, finally_at, options, look)

    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            return list(pool.map(one, hosts.items()))
        except BaseException:
            is_stopped = True
            pool.shutdown(wait=False, cancel_futures=True)
            raise
