"""`flowsweep ingest`: every host's capture of one run to partitioned tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep.cli.arguments import Parser, add_output, add_reading
from flowsweep.errors import FlowsweepError
from flowsweep.parsing import PART, SUFFIXES, DamagedCaptureError, Options, write_tables
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
    import shutil

    options = Options(**reading)
    if not run_dir.is_dir():
        raise FlowsweepError(f"{run_dir}: no such folder", expected="the folder of one run")
    run = run_dir.resolve().name
    hosts = captures_by_host(run_dir)
    if not hosts:
        found = ", ".join(sorted(path.name for path in run_dir.iterdir())) or "an empty folder"
        raise FlowsweepError(
            f"{run_dir}: no capture in it",
            found=found,
            expected="<host>.pcap or .pcapng, plain or with .zst, .gz or .lz4",
            remedy="check the folder, or record the run again: flowsweep run",
        )
    # Every host's tables are written beside their final names first: all hosts appear, or none.
    work = output / f".ingest-{run}"
    summaries = _ingest_hosts(hosts, work, run, options)
    _publish(work, output)
    if not options.packets:
        # Of an earlier parse: its connections are numbered otherwise.
        shutil.rmtree(output / "packets" / f"run={run}", ignore_errors=True)
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
    hosts: Mapping[str, Sequence[Path]], work: Path, run: str, options: Options
) -> list[Summary]:
    import shutil
    from concurrent.futures import ThreadPoolExecutor

    shutil.rmtree(work, ignore_errors=True)
    workers = options.threads or len(os.sched_getaffinity(0))
    # Hosts are the better unit of work; threads left over help within a host.
    options = options._replace(threads=max(1, workers // len(hosts)))

    def one(item: tuple[str, Sequence[Path]]) -> Summary:
        host, files = item
        named = [(path, path.name) for path in files]
        paths = {
            table: work / table / f"run={run}" / f"host={host}" / f"{table}.parquet"
            for table in options.tables
        }
        return write_tables(named, paths, options)

    try:
        with ThreadPoolExecutor(max_workers=workers) as pool:
            return list(pool.map(one, hosts.items()))
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise


def _publish(work: Path, output: Path) -> None:
    """Moves <work>/<table>/run=<run> over to <output>/<table>/run=<run>."""
    import shutil

    for folder in sorted(work.glob("*/run=*")):
        target = output / folder.parent.name / folder.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        folder.rename(target)
    shutil.rmtree(work, ignore_errors=True)
