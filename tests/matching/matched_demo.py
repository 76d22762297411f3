"""Results of some runs of the kept demo, with their captures matched."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import forks
from spoiled import DEMO


def make(folder: Path, runs: Iterable[str]) -> Path:
    """Ingests the runs with --match into `folder`, and lists them in its runs.parquet."""
    captured = folder / "runs"
    captured.mkdir()
    for run in runs:
        (captured / run).symlink_to(DEMO / run)
        _flowsweep("ingest", "--match", captured / run, "--output", folder / "tables")
    _flowsweep("runs", captured, "--output", folder / "tables" / "runs.parquet")
    return folder


def _flowsweep(*words: object) -> None:
    done = forks.run("flowsweep", *words, timeout=300)
    assert done.returncode == 0, done.stderr
