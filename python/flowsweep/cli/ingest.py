"""`flowsweep ingest`: turns every host's capture of one run into partitioned tables."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from flowsweep import signals
from flowsweep.cli import progress_line
from flowsweep.cli.arguments import Parser, add_output, add_reading
from flowsweep.errors import FlowsweepError
from flowsweep.files import layout
from flowsweep.files.file_sets import file_set, scratch_folder
from flowsweep.files.names import partition
from flowsweep.parsing import (
    DamagedCaptureError,
    Drops,
    Options,
    read_drops,
    write_tables,
)
from flowsweep.runs.recordings import Recordings
from flowsweep.runs.run_folder import note_passed_over
from flowsweep.units import counted

if TYPE_CHECKING:
    from flowsweep._parsers import Summary
    from flowsweep.zeek.convert import Converted

T = TypeVar("T")
R = TypeVar("R")


def arguments(parser: Parser) -> None:
    """Adds the options and arguments of this command."""
    parser.add_argument("run_dir", metavar="RUN_DIR", type=Path, help="Folder of the run.")
    add_output(parser, "Folder of the experiment's tables.")
    add_reading(parser)
    parser.add_argument(
        "--engine",
        choices=("native", "zeek", "both"),
        default="native",
        help="Who makes flows of captures: flowsweep's parser, Zeek, or both. Default: native.",
    )
    parser.add_argument(
        "--match",
        dest="is_matched",
        action="store_true",
        help="Put the captures of all hosts together, too: tables one_way, fates, critical_path.",
    )


def ingest(
    *, run_dir: Path, output: Path, engine: str, is_matched: bool = False, **reading: Any
) -> int:
    """Turn every host's capture of one run into tables, partitioned by run and host.

    RUN_DIR is the run's folder, with files <host>.pcap or .pcapng, also compressed; files that the
    capture agent, `tcpdump -C` or `-G`, or `dumpcap -b` rotated are of one host, and so are all in
    a folder <host>/. Zeek's logs,
    <host>.conn.log or a folder <host>/ of them, become tables zeek_conn and so on beside it, and
    give the flows of a host that has no capture.

    Example: flowsweep ingest runs/lu-baseline-r1 --output results/lu/tables
    """
    options = Options.from_values(**reading)
    return write(
        Recordings.in_folder(run_dir), output, engine, options, run_dir if is_matched else None
    )


def write(
    recordings: Recordings,
    output: Path,
    engine: str,
    options: Options,
    matched: Path | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Writes all tables of a run, and prints what was read; returns the exit code.

    Args:
        recordings: Its captures and logs.
        output: Folder of the experiment's tables.
        engine: The program that makes flows of captures.
        options: How captures are read.
        matched: The run's folder, to match its captures; None to leave them unmatched.
        progress: Called now and then with the bytes and packets read of all hosts.

    Raises:
        DamagedCaptureError: A capture could not be read to its end; the tables are written.
        FlowsweepError: There are no new tables.
    """
    try:
        summaries, converted, refused = _write(
            recordings, output, engine, options, matched, progress=progress
        )
    finally:
        if progress is not None:
            progress_line.clear()
    damaged = [damage for summary in summaries for damage in summary["damage"]]
    total = sum(summary["packets"] for summary in summaries)
    counts = [f"{counted(len({*recordings.captures, *recordings.logs}), 'host')}"]
    counts += [counted(total, "packet")] if summaries else []
    counts += [counted(sum(log.logs for log in converted), "Zeek log")] if converted else []
    print(f"{recordings.run}: {', '.join(counts)} -> {output}", file=sys.stderr)
    for path in recordings.passed_over:
        print(note_passed_over(path), file=sys.stderr)
    for path in recordings.no_logs:
        print(f"note: {path}: passed over: empty, or no log of Zeek", file=sys.stderr)
    lost = _tell_lost(converted)
    for error in refused:
        print(f"error: {error}", file=sys.stderr)
    for damage in damaged[1:]:
        print(f"error: {DamagedCaptureError(damage)}", file=sys.stderr)
    if damaged:
        raise DamagedCaptureError(damaged[0])
    return int(lost)


def _write(
    recordings: Recordings,
    output: Path,
    engine: str,
    options: Options,
    matched: Path | None,
    *,
    progress: Callable[[int, int], None] | None,
) -> tuple[list[Summary], list[Converted], list[FlowsweepError]]:
    """Writes all tables of a run; also returns why Zeek failed on damaged captures."""
    logs = dict(recordings.logs)
    refused: dict[str, FlowsweepError] = {}
    native = {} if engine == "zeek" else recordings.captures
    with scratch_folder() if engine != "native" else nullcontext() as scratch:
        if scratch is not None:
            without = {h: files for h, files in recordings.captures.items() if h not in logs}
            made, refused = _run_zeek(without, scratch, options)
            logs |= made
        tables = _Tables(output, recordings.run)
        layout.bring_up_to_date(output)
        place = partition("run", recordings.run)
        with file_set(output, place, [place], is_alone=False) as folder:
            tables.folder = folder
            summaries = (
                _ingest_hosts(native, tables, options, recordings.drops, progress) if native else []
            )
            # The parser reads a damaged capture up to the damage; Zeek ends with an error.
            cut = [host for host, one in zip(native, summaries, strict=True) if one["damage"]]
            for host, error in refused.items():
                if host not in cut:
                    raise error
            if matched is not None:
                _match(matched, tables)
            converted: list[Converted] = []
            for host, files in logs.items():
                converted += tables.write_logs(
                    host,
                    files,
                    options.settings.bin_ns,
                    has_capture=host in native,
                    dropped=_count_dropped(recordings.captures.get(host, [])),
                )
    return summaries, converted, list(refused.values())


def _match(run_dir: Path, tables: _Tables) -> None:
    """Matches the captures of a run; prints a note if that is not possible."""
    from flowsweep.critical_path import table
    from flowsweep.matching import by_host, hosts

    def place(host: str, name: str) -> Path:
        return tables.folder / tables.below(host, name)

    lacking = "not matched"
    try:
        matched_hosts = hosts.find([run_dir], {})
        by_host.write(matched_hosts, place)
        lacking = "no critical path"
        folders = {host.name: place(host.name, "fates").parent for host in matched_hosts}
        table.write(folders, place, run_dir / "run.json")
    except FlowsweepError as error:
        print(f"note: {lacking}: {error}", file=sys.stderr)


def _run_zeek(
    hosts: Mapping[str, Sequence[Path]], scratch: Path, options: Options
) -> tuple[dict[str, list[Path]], dict[str, FlowsweepError]]:
    """Runs Zeek on the captures of each host, one process per core at a time.

    Returns:
        The logs by host, and the errors of the other hosts.

    Raises:
        FlowsweepError: Zeek is not installed.
    """
    from flowsweep.runs.arrivals import in_order
    from flowsweep.zeek import program

    program.command(scratch)
    running: list[subprocess.Popen[bytes]] = []
    settings = [
        f"Flowsweep::bin={options.settings.bin_ns / 1e9:.9f}sec",
        f"udp_inactivity_timeout={options.settings.udp_timeout_ns / 1e9:.9f}sec",
    ]

    def read_logs(item: tuple[int, Sequence[Path]]) -> list[Path] | FlowsweepError:
        number, files = item
        folder = scratch / str(number)
        folder.mkdir()
        try:
            return program.logs_of(in_order(files), folder, settings, running.append)
        except FlowsweepError as error:
            return error

    def kill_all() -> None:
        for process in running:
            process.kill()

    outcomes = _do_at_once(read_logs, list(enumerate(hosts.values())), _count_cores(), kill_all)
    by_host = dict(zip(hosts, outcomes, strict=True))
    logs = {host: made for host, made in by_host.items() if isinstance(made, list)}
    refused = {host: made for host, made in by_host.items() if isinstance(made, FlowsweepError)}
    return logs, refused


def _count_cores() -> int:
    return len(os.sched_getaffinity(0))


def _do_at_once(
    work: Callable[[T], R], items: Sequence[T], workers: int, stop: Callable[[], None]
) -> list[R]:
    """Does the work on all items in threads; calls `stop` if an item fails or a signal arrives.

    Args:
        work: The work on one item.
        items: The items, in the order of the results.
        workers: Number of threads.
        stop: Ends the work in progress.
    """
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            # Nobody would wait for a thread whose start a signal interrupts.
            with signals.hold():
                waiting = [pool.submit(work, item) for item in items]
            return [future.result() for future in waiting]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            stop()
            raise


def _count_dropped(captures: Sequence[Path]) -> int | None:
    """Returns the packets dropped by the manifests of a host's captures; None without a count."""
    known_drops = read_drops([(path, path.name) for path in captures]).values()
    counts = [count for pair in known_drops for count in pair if count is not None]
    return sum(counts) if counts else None


def _tell_lost(converted: Sequence[Converted]) -> bool:
    """Prints the damage of logs; returns whether data was lost."""
    if not any(log.faults or log.damage for log in converted):
        return False
    from flowsweep.cli import zeek_logs

    lost = [zeek_logs.tell(log) for log in converted]
    return any(lost)


class _Tables:
    """The folders in which the tables of a run are written, and in which they finally are.

    Attributes:
        folder: The folder in which they are written.
    """

    def __init__(self, output: Path, run: str) -> None:
        self.folder = output
        self._output, self._run = output, run

    def below(self, host: str, table: str) -> Path:
        """Returns the path of a host's table, relative to the folder of all tables."""
        return Path(partition("run", self._run), partition("host", host), f"{table}.parquet")

    def finally_at(self, host: str, table: str) -> Path:
        """Returns the final path of the table."""
        return self._output / self.below(host, table)

    def write_logs(
        self,
        host: str,
        files: Sequence[Path],
        bin_ns: int,
        *,
        has_capture: bool,
        dropped: int | None,
    ) -> list[Converted]:
        """Writes the tables of a host's logs."""
        from flowsweep.zeek import hosts

        def place(table: str) -> Path:
            return self.folder / self.below(host, table)

        return hosts.write(files, place, bin_ns, has_capture=has_capture, dropped=dropped)


def _ingest_hosts(
    hosts: Mapping[str, Sequence[Path]],
    tables: _Tables,
    options: Options,
    drops: Mapping[str, Drops],
    progress: Callable[[int, int], None] | None,
) -> list[Summary]:
    """Writes the tables of every host's capture."""
    workers = options.threads or _count_cores()
    # Hosts are the better unit of work; spare threads help within a host.
    options = options._replace(threads=max(1, workers // len(hosts)))
    stopped = threading.Event()
    counts = dict.fromkeys(hosts, (0, 0))

    def look(host: str, read: int, packets: int) -> None:
        # Only the main thread receives signals.
        if stopped.is_set():
            raise KeyboardInterrupt
        counts[host] = (read, packets)
        if progress is not None:
            progress(*map(sum, zip(*counts.values(), strict=True)))

    def write_host(item: tuple[str, Sequence[Path]]) -> Summary:
        host, files = item
        named = list(zip(files, _make_distinct(files), strict=True))
        paths = {table: tables.folder / tables.below(host, table) for table in options.tables}
        finally_at = {table: tables.finally_at(host, table) for table in options.tables}
        known_drops = (
            _assign_drops(drops[host], [name for _, name in named]) if host in drops else None
        )
        progress_of_host = partial(look, host)
        return write_tables(named, paths, finally_at, options, progress_of_host, drops=known_drops)

    return _do_at_once(write_host, list(hosts.items()), workers, stopped.set)


def _make_distinct(files: Sequence[Path]) -> list[str]:
    """Returns names of a host's files for tables and messages; files may be in several folders."""
    plain = [path.name for path in files]
    is_plain = len(set(plain)) == len(plain)
    return plain if is_plain else [f"{path.parent.name}/{path.name}" for path in files]


def _assign_drops(drops: Drops, files: Sequence[str]) -> dict[str, Drops]:
    """Returns the drops of a host by file: all belong to the first, as with a manifest."""
    kernel, interface = (None if count is None else 0 for count in drops)
    return {name: drops if name == files[0] else (kernel, interface) for name in files}
