"""Makes tables of captures without an experiment, for `flowsweep report`."""

from __future__ import annotations

import itertools
import shutil
import sys
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from flowsweep.cli import ingest, progress_line
from flowsweep.errors import FlowsweepError
from flowsweep.files import file_sets, layout, names, owned
from flowsweep.files.capture_names import stem
from flowsweep.files.names import partition
from flowsweep.parsing import CaptureError, DamagedCaptureError, Options, check
from flowsweep.runs import concurrent, run_folder
from flowsweep.runs.recordings import Recordings
from flowsweep.units import counted
from flowsweep.zeek import is_log

#: More hosts of a run than this are counted, not named, and so are more runs.
MAX_NAMED_HOSTS, MAX_NAMED_RUNS = 4, 8


def find(path: Path) -> Recordings | None:
    """Returns a capture, or a folder of captures or Zeek logs, as one run; None for anything else.

    Raises:
        FlowsweepError: A file is neither, or its name is not valid for a host.
    """
    if path.is_dir():
        if (path / "tables").exists() or (path / "runs").exists():
            return None
        if run_folder.recorded_files(path):
            return Recordings.in_folder(path)
        return _find_logs(path, path.resolve().name)
    if not path.is_file():
        return None
    if is_log(path):
        return _find_logs(path, path.name.split(".")[0])
    check([path])
    name = names.check(stem(path), "a host", path)
    return Recordings(name, {name: [path]}, {})


def _find_logs(path: Path, name: str) -> Recordings | None:
    """Returns logs without a host in their names, as Zeek writes them into its working folder."""
    from flowsweep.zeek import hosts
    from flowsweep.zeek.convert import look

    files = sorted(filter(is_log, path.iterdir())) if path.is_dir() else [path]
    if path.is_dir() and not files:
        return None
    recognised, others = hosts.select_recognised({name: files})
    found = recognised.get(name, [])
    if not any((log := look(file)) and log.kind == "conn" for file in found):
        raise FlowsweepError(
            f"{path}: no conn.log of Zeek, which has the flows",
            found=", ".join(file.name for file in files),
            expected="conn.log, in lines of TSV or JSON",
            remedy="flowsweep zeek-logs makes tables of the other logs",
        )
    return Recordings(names.check(name, "a host", path), {}, recognised, no_logs=others)


def write_results(path: Path, recordings: Recordings) -> tuple[Path, int]:
    """Parses captures into results/<name>; returns that folder and the exit code so far.

    Hosts whose captures overlap in time and share an address are one run; others are separate runs.
    An unreadable capture is left out if there are others.

    Args:
        path: The place of the captures.
        recordings: The captures that `find` returned.

    Raises:
        FlowsweepError: There are no tables, or the results belong to something else.
    """
    from flowsweep.experiment import results
    from flowsweep.experiment.claim import claim
    from flowsweep.runs import run_records

    directory = Path("results") / recordings.run
    if directory.resolve() == path.resolve():
        raise FlowsweepError(
            f"{path}: the captures lie where their results would",
            expected="captures outside of results/",
            remedy="move them, or work in another folder",
        )
    tables, runs = directory / "tables", directory / "runs"
    readable, are_some_unreadable = _leave_out_unreadable(recordings)
    claim(directory)
    results.mark_captures(path, directory)
    status = max(_ingest(readable, tables), int(are_some_unreadable))
    hosts_of_runs = {readable.run: [*readable.captures]}
    if not readable.logs:
        hosts_of_runs = _group(readable, tables)
    if len(hosts_of_runs) > 1:
        _divide(tables, readable.run, hosts_of_runs)
        print(_describe(hosts_of_runs), file=sys.stderr)
    _remove_others(directory, hosts_of_runs)
    # A folder without run.json is a run without an experiment.
    for run in hosts_of_runs:
        (runs / run).mkdir(exist_ok=True)
    run_records.write_table(runs, tables / "runs.parquet", None)
    return directory, status


def _leave_out_unreadable(recordings: Recordings) -> tuple[Recordings, bool]:
    """Returns the readable recordings, and whether any is missing; prints why a capture is not.

    Raises:
        FlowsweepError: Nothing can be read.
    """
    captures: dict[str, list[Path]] = {}
    errors: list[CaptureError] = []
    for host, files in recordings.captures.items():
        for path in files:
            try:
                check([path])
            except CaptureError as error:
                errors.append(error)
            else:
                captures.setdefault(host, []).append(path)
    if errors and not captures and not recordings.logs:
        raise errors[0]
    for refusal in errors:
        print(f"error: {refusal}", file=sys.stderr)
    if errors:
        print(f"note: the report leaves out {counted(len(errors), 'file')}", file=sys.stderr)
    return replace(recordings, captures=captures), bool(errors)


def _ingest(recordings: Recordings, tables: Path) -> int:
    """Writes the tables of a run, even of damaged captures; returns the exit code."""
    files = [path for some in recordings.captures.values() for path in some]
    progress = progress_line.show(progress_line.bytes_of(files))
    try:
        return ingest.write(recordings, tables, "native", Options(), progress=progress)
    except DamagedCaptureError as damaged:
        print(f"error: {damaged}", file=sys.stderr)
        return damaged.exit_code


def _group(recordings: Recordings, tables: Path) -> dict[str, list[str]]:
    """Returns the hosts of each run.

    If there are several runs of hosts with packets, each host without packets is one more.
    """
    run = tables / partition("run", recordings.run)
    folders = {host: run / partition("host", host) for host in recordings.captures}
    found = {host: concurrent.read_span(folder) for host, folder in folders.items()}
    spans = {host: span for host, span in found.items() if span}
    addresses = {host: concurrent.read_addresses(folders[host]) for host in spans}
    groups = concurrent.group(spans, addresses)
    if len(groups) < 2:
        return {recordings.run: [*recordings.captures]}
    return _name_runs(recordings, groups + [[host] for host in found if host not in spans])


def _describe(hosts_of_runs: dict[str, list[str]]) -> str:
    """Says which runs there are, and why."""
    made = [
        run if hosts == [run] else f"{run} ({_list_hosts(hosts)})"
        for run, hosts in hosts_of_runs.items()
    ]
    if more := len(made[MAX_NAMED_RUNS:]):
        made[MAX_NAMED_RUNS:] = [f"{more} more"]
    return (
        f"note: {len(hosts_of_runs)} runs, as not all captures overlap in time and share an "
        f"address: {', '.join(made)}"
    )


def _list_hosts(hosts: list[str]) -> str:
    return ", ".join(hosts) if len(hosts) <= MAX_NAMED_HOSTS else counted(len(hosts), "host")


def _name_runs(recordings: Recordings, groups: list[list[str]]) -> dict[str, list[str]]:
    """Names a run of one host after it, and numbers other runs."""
    numbers = (
        name
        for number in itertools.count(1)
        if (name := f"{recordings.run}-{number}") not in recordings.captures
    )
    return {hosts[0] if len(hosts) == 1 else next(numbers): hosts for hosts in groups}


def _divide(tables: Path, run: str, hosts_of_runs: dict[str, list[str]]) -> None:
    """Divides the tables of `run` among `hosts_of_runs`, by the hosts of each."""
    whole = tables / partition("run", run)
    places = {name: partition("run", name) for name in hosts_of_runs}
    # One set: who is killed leaves the whole run or all its parts, never a host in two runs. The
    # whole run is removed with it, or replaced by the run of a host with the folder's name.
    with file_sets.file_set(
        tables, whole.name, sorted({whole.name, *places.values()}), is_alone=False
    ) as folder:
        for name, hosts in hosts_of_runs.items():
            for host in hosts:
                host_folder = partition("host", host)
                shutil.copytree(whole / host_folder, folder / places[name] / host_folder)


def _remove_others(directory: Path, kept: Collection[str]) -> None:
    """Removes runs whose captures are gone, or now belong to runs of other names."""
    for run in (directory / "runs").iterdir():
        if run.name not in kept:
            # A folder with a user's files is not empty, and stays.
            with suppress(OSError):
                run.rmdir()
    for folder in layout.run_folders(directory / "tables"):
        if folder.name not in [partition("run", run) for run in kept]:
            owned.refuse_foreign_tables(Path(folder))
            shutil.rmtree(folder)
