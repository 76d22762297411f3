"""`flowsweep parse` and `flowsweep ingest`: captures to Parquet tables."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flowsweep.cli.options import CHECKSUMS, PATH
from flowsweep.errors import FlowsweepError
from flowsweep.units import counted, format_size, parse_time

if TYPE_CHECKING:
    from flowsweep._parsers import Summary

TABLES = ("captures", "flows", "intervals", "throughput", "messages")
#: Longest first, so that `pc1.pcap.zst` is of host pc1.
SUFFIXES = tuple(
    f".{container}{compression}"
    for container in ("pcapng", "pcap", "cap")
    for compression in (".zst", ".gz", ".lz4", ".bz2", ".xz", "")
)
#: The name of a further part of a rotated capture, without its suffixes.
PART = re.compile(r"(?P<host>.+)(-[0-9]{5}|\.[0-9]+)")
#: Below this no progress is shown.
QUIET_S = 1.0
#: As many files may be open anywhere.
FEW_FILES = 100


def _settings(command: Any) -> Any:
    """The options of both commands."""
    for option in (
        click.option(
            "--udp-timeout",
            default="60s",
            show_default=True,
            metavar="TIME",
            help="Silence after which a flow that is not TCP ends.",
        ),
        click.option(
            "--threads",
            type=click.IntRange(min=0),
            default=0,
            help="Threads; 0, the default, for one per core. The tables are the same.",
        ),
        CHECKSUMS,
        click.option("--packets", is_flag=True, help="Write one row per packet as well."),
        click.option(
            "--bin",
            "bin_length",
            default="10ms",
            show_default=True,
            metavar="TIME",
            help="Length of a throughput bin.",
        ),
    ):
        command = option(command)
    return command


@click.command()
@click.argument("files", nargs=-1, required=True, type=PATH)
@click.option("--output", "-o", type=PATH, required=True, help="Folder for <table>.parquet.")
@_settings
def parse(
    *,
    files: tuple[Path, ...],
    output: Path,
    bin_length: str,
    packets: bool,
    threads: int,
    udp_timeout: str,
    verify_checksums: bool,
) -> None:
    """Turn captures into Parquet tables.

    Several FILES are one capture, in the order of their packets; - reads a stream.

    Example: flowsweep parse trace.pcap.zst --output tables
    """
    from flowsweep.captures import DamagedCaptureError, named

    times = parse_time(bin_length), parse_time(udp_timeout)
    options = _Options(*times, packets, threads, verify_checksums, process_ends=True)
    paths = {table: output / f"{table}.parquet" for table in options.tables}
    progress = _progress(_bytes_of(files))
    summary = _parse(named(files), paths, options, progress)
    if not packets:
        # Of an earlier parse: its connections are numbered otherwise.
        (output / "packets.parquet").unlink(missing_ok=True)
    _say(summary, output)
    for damage in summary["damage"][1:]:
        print(f"error: {DamagedCaptureError(damage)}", file=sys.stderr)
    if summary["damage"]:
        raise DamagedCaptureError(summary["damage"][0])


@click.command()
@click.argument("run_dir", type=PATH)
@click.option("--output", "-o", type=PATH, required=True, help="Folder of the experiment's tables.")
@_settings
def ingest(
    *,
    run_dir: Path,
    output: Path,
    bin_length: str,
    packets: bool,
    threads: int,
    udp_timeout: str,
    verify_checksums: bool,
) -> None:
    """Turn every host's capture of one run into tables, partitioned by run and host.

    RUN_DIR is the run's folder, with files <host>.pcap or .pcapng, also compressed.

    Example: flowsweep ingest runs/lu-baseline-r1 --output results/lu/tables
    """
    import shutil

    from flowsweep.captures import DamagedCaptureError

    times = parse_time(bin_length), parse_time(udp_timeout)
    options = _Options(*times, packets, threads, verify_checksums)
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
    if not packets:
        # Of an earlier parse: its connections are numbered otherwise.
        shutil.rmtree(output / "packets" / f"run={run}", ignore_errors=True)
    damaged = [damage for summary in summaries for damage in summary["damage"]]
    total = sum(summary["packets"] for summary in summaries)
    print(f"{run}: {len(hosts)} hosts, {total:,} packets -> {output}", file=sys.stderr)
    for damage in damaged[1:]:
        print(f"error: {DamagedCaptureError(damage)}", file=sys.stderr)
    if damaged:
        raise DamagedCaptureError(damaged[0])


def parse_tables(files: Sequence[Path], folder: Path, *, verify_checksums: bool = False) -> Summary:
    """The tables of one capture, with the usual settings, in `folder`."""
    from flowsweep.captures import DEFAULT_BIN_NS, DEFAULT_UDP_TIMEOUT_NS, named

    times = DEFAULT_BIN_NS, DEFAULT_UDP_TIMEOUT_NS
    options = _Options(*times, packets=False, threads=0, verify_checksums=verify_checksums)
    paths = {table: folder / f"{table}.parquet" for table in TABLES}
    return _parse(named(files), paths, options, None)


@dataclass(frozen=True)
class _Options:
    bin_ns: int
    udp_timeout_ns: int
    packets: bool
    threads: int
    verify_checksums: bool = False
    #: Nothing follows in this process: memory need not be freed piece by piece.
    process_ends: bool = False

    @property
    def tables(self) -> tuple[str, ...]:
        return (*TABLES, "packets") if self.packets else TABLES


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
    hosts: Mapping[str, Sequence[Path]], work: Path, run: str, options: _Options
) -> list[Summary]:
    import shutil
    from concurrent.futures import ThreadPoolExecutor

    shutil.rmtree(work, ignore_errors=True)
    workers = options.threads or len(os.sched_getaffinity(0))
    # Hosts are the better unit of work; threads left over help within a host.
    options = replace(options, threads=max(1, workers // len(hosts)))

    def one(item: tuple[str, Sequence[Path]]) -> Summary:
        host, files = item
        named = [(path, path.name) for path in files]
        paths = {
            table: work / table / f"run={run}" / f"host={host}" / f"{table}.parquet"
            for table in options.tables
        }
        return _parse(named, paths, options, None)

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


def _drops(files: Sequence[tuple[Path, str]]) -> dict[str, tuple[int | None, int | None]]:
    """Drop counters of the manifests beside the captures, by displayed name.

    The parts of a rotated capture have one manifest, named after the first part: its
    counters go to that one.
    """
    drops: dict[str, tuple[int | None, int | None]] = {}
    for path, name in files:
        if not path.name:
            continue  # a folder: the parser says so
        suffix = next((suffix for suffix in SUFFIXES if path.name.endswith(suffix)), "")
        stem = path.name.removesuffix(suffix)
        manifest = path.with_name(f"{stem}.capture.json")
        part = PART.fullmatch(stem)
        if manifest.is_file():
            drops[name] = _drops_of(manifest)
        elif part and path.with_name(f"{part['host']}.capture.json").is_file():
            drops[name] = (0, 0)
    return drops


def _drops_of(manifest: Path) -> tuple[int | None, int | None]:
    try:
        about = json.loads(manifest.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FlowsweepError(f"{manifest}: not JSON", found=str(error)) from None
    if not isinstance(about, dict):
        raise FlowsweepError(f"{manifest}: not a manifest", expected="a JSON object")
    kernel, interface = (
        count if isinstance(count := about.get(key), int) else None
        for key in ("dropped_kernel", "dropped_interface")
    )
    return kernel, interface


def _parse(
    named: Sequence[tuple[Path, str]],
    paths: Mapping[str, Path],
    options: _Options,
    progress: Callable[[int, int], None] | None,
) -> Summary:
    from flowsweep import _parsers
    from flowsweep.captures import readable_errors

    notes = [
        ("flowsweep.files", json.dumps([name for _, name in named])),
        ("flowsweep.bin_ns", str(options.bin_ns)),
        ("flowsweep.udp_timeout_ns", str(options.udp_timeout_ns)),
        ("flowsweep.verify_checksums", str(options.verify_checksums).lower()),
    ]
    if len(named) > FEW_FILES:
        _allow_open_files()
    with readable_errors():
        return _parsers.parse(
            named,
            paths,
            bin_ns=options.bin_ns,
            udp_timeout_ns=options.udp_timeout_ns,
            threads=options.threads or len(os.sched_getaffinity(0)),
            manifests=_drops(named),
            notes=notes,
            progress=progress,
            verify_checksums=options.verify_checksums,
            process_ends=options.process_ends,
        )


def _allow_open_files() -> None:
    """As many as this user may have: captures whose times overlap are open at once."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # where "unlimited" is more than the system has
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _bytes_of(files: Sequence[Path]) -> int | None:
    try:
        return None if Path("-") in files else sum(path.stat().st_size for path in files)
    except OSError:
        # The parser says it better.
        return None


def _progress(total: int | None) -> Callable[[int, int], None] | None:
    """A line on stderr, rewritten; none where nobody watches."""
    if not sys.stderr.isatty():
        return None
    start = time.monotonic()

    def show(read: int, packets: int) -> None:
        passed = time.monotonic() - start
        if passed < QUIET_S:
            return
        line = f"{packets:,} packets  {format_size(read)}"
        if total:
            left = passed * (total - read) / read if read else 0
            line += f" of {format_size(total)}  {100 * read / total:.0f} %  {left:.0f} s left"
        print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)

    return show


def _say(summary: Summary, output: Path) -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    files = f"{len(summary['files'])} files, " if len(summary["files"]) > 1 else ""
    packets = counted(summary["packets"], "packet")
    counts = f"{packets}, {counted(summary['connections'], 'connection')}"
    print(f"{files}{counts} -> {output}", file=sys.stderr)
    if summary["undecoded"]:
        share = 100 * summary["undecoded"] / summary["packets"]
        what = f"{counted(summary['undecoded'], 'packet')} could not be decoded ({share:.1f} %)"
        print(f"{what}: flowsweep show tells why", file=sys.stderr)
    if summary["bad_checksums"]:
        what = f"{counted(summary['bad_checksums'], 'packet')} with a wrong checksum"
        print(f"{what}: in no flow, as at the host that discards them", file=sys.stderr)
