"""Makes tables of captures that come without an experiment, for `flowsweep report`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection
from pathlib import Path

from flowsweep.cli import ingest, progress_line
from flowsweep.files import layout, names
from flowsweep.files.capture_names import stem
from flowsweep.files.names import partition
from flowsweep.parsing import DamagedCaptureError, Options
from flowsweep.runs import run_folder
from flowsweep.runs.recordings import Recordings
from flowsweep.zeek import is_log


def find(path: Path) -> Recordings | None:
    """A capture, or a folder of captures or of Zeek's logs, as one run; None of anything else.

    Raises:
        FlowsweepError: A file is called as no host can be.
    """
    if path.is_dir():
        if (path / "tables").exists() or (path / "runs").exists():
            return None
        if run_folder.recorded_files(path):
            return Recordings.in_folder(path)
        return _find_logs(path, path.resolve().name)
    if is_log(path):
        return _find_logs(path, path.name.split(".")[0])
    if not run_folder.is_capture(path):
        return None
    name = names.check(stem(path), "a host", path)
    return Recordings(name, {name: [path]}, {})


def _find_logs(path: Path, name: str) -> Recordings | None:
    """Logs whose names say no host, as Zeek writes them where it is started."""
    from flowsweep.zeek import hosts

    files = sorted(filter(is_log, path.iterdir())) if path.is_dir() else [path]
    recognised, others = hosts.select_recognised({name: files})
    if not recognised:
        return None
    return Recordings(names.check(name, "a host", path), {}, recognised, no_logs=others)


def write_results(path: Path, recordings: Recordings) -> tuple[Path, int]:
    """Parses captures into results/<name>; also returns the exit code so far.

    Captures of one time are hosts of one run; else each is a run of its own.

    Args:
        path: Where they are.
        recordings: They, as `find` found them.

    Raises:
        FlowsweepError: There are no tables, or the results are of something else.
    """
    from flowsweep.experiment import results
    from flowsweep.experiment.claim import claim
    from flowsweep.runs import run_records

    directory = Path("results") / recordings.run
    tables, runs = directory / "tables", directory / "runs"
    claim(directory)
    results.mark_captures(path, directory)
    kept, status = [recordings.run], _ingest(recordings, tables)
    if not recordings.logs and not _is_one_time(tables / partition("run", recordings.run)):
        apart = [Recordings(host, {host: some}, {}) for host, some in recordings.captures.items()]
        kept, status = list(recordings.captures), max(_ingest(one, tables) for one in apart)
    _remove_others(directory, kept)
    # A folder without run.json is a run that stands alone.
    for run in kept:
        (runs / run).mkdir(exist_ok=True)
    run_records.write_table(runs, tables / "runs.parquet", None)
    return directory, status


def _ingest(recordings: Recordings, tables: Path) -> int:
    """Writes the tables of a run, also of damaged captures; the exit code."""
    files = [path for some in recordings.captures.values() for path in some]
    progress = progress_line.show(progress_line.bytes_of(files))
    try:
        return ingest.write(recordings, tables, "native", Options(), progress=progress)
    except DamagedCaptureError as damaged:
        print(f"error: {damaged}", file=sys.stderr)
        return damaged.exit_code


def _is_one_time(run: Path) -> bool:
    """Whether the times of a run's captures overlap, so that no moment parts them."""
    import polars as pl

    last = pl.col("last_time").cum_max().shift()
    frame = pl.read_parquet(run / "*" / "captures.parquet", columns=["first_time", "last_time"])
    spans = frame.drop_nulls().sort("first_time")
    return not spans.select((pl.col("first_time") > last).any()).item()


def _remove_others(directory: Path, kept: Collection[str]) -> None:
    """Removes runs of captures that are gone, or that were runs of other names."""
    for run in (directory / "runs").iterdir():
        if run.is_dir() and run.name not in kept:
            shutil.rmtree(run)
    for folder in layout.run_folders(directory / "tables"):
        if folder.name not in [partition("run", run) for run in kept]:
            shutil.rmtree(folder)
