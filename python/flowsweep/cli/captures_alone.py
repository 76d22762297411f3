"""Makes tables of captures that come without an experiment, for `flowsweep report`."""

from __future__ import annotations

import sys
from pathlib import Path

from flowsweep.cli import ingest
from flowsweep.files import names
from flowsweep.files.capture_names import stem
from flowsweep.parsing import DamagedCaptureError, Options
from flowsweep.runs import run_folder
from flowsweep.runs.recordings import Recordings


def are_at(path: Path) -> bool:
    """Whether the path is a capture, or a folder with captures or logs of Zeek and no results."""
    if not path.is_dir():
        return run_folder.is_capture(path)
    has_results = (path / "tables").exists() or (path / "runs").exists()
    return not has_results and bool(run_folder.recorded_files(path))


def write_results(path: Path) -> tuple[Path, int]:
    """Parses the captures as one run into results/<name>; also returns the exit code so far.

    Args:
        path: A capture, or a folder of them as `ingest` reads it.

    Raises:
        FlowsweepError: There are no tables, or the results are of something else.
    """
    from flowsweep.experiment import results
    from flowsweep.experiment.claim import claim
    from flowsweep.runs import run_records

    recordings = Recordings.in_folder(path) if path.is_dir() else _of_file(path)
    directory = Path("results") / recordings.run
    claim(directory)
    results.mark_captures(path, directory)
    status = 0
    try:
        status = ingest.write(recordings, directory / "tables", "native", Options())
    except DamagedCaptureError as damaged:
        print(f"error: {damaged}", file=sys.stderr)
        status = damaged.exit_code
    # A folder without run.json is a run that stands alone.
    (directory / "runs" / recordings.run).mkdir(parents=True, exist_ok=True)
    run_records.write_table(directory / "runs", directory / "tables" / "runs.parquet", None)
    return directory, status


def _of_file(path: Path) -> Recordings:
    """The run of one capture, whose host is called as the file is."""
    name = names.check(stem(path), "a host", path)
    return Recordings(name, {name: [path]}, {})
