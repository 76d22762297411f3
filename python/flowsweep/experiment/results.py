"""Marks the experiment that a results folder belongs to, as files of one name share results/<name>.

Measured runs cannot be recovered, so another experiment may not write into their folder. Tables
and report can be rebuilt from any runs.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep import printing
from flowsweep.errors import FlowsweepError
from flowsweep.files import inputs, outputs

if TYPE_CHECKING:
    from flowsweep.experiment.model import Experiment

#: A file in the folder of the runs: one line with their source.
RUNS_MARK = ".experiment"
#: A folder in the results with one such file, named by `digest`; all tables are newer than it.
TABLES_MARK = ".made-from"
#: The most bytes of a mark, which contains one path.
MOST_MARK_BYTES = 8192


def source(experiment: Experiment, results: Path) -> str:
    """Returns the source of the results: the experiment file, or the folder of recorded runs.

    The path is relative to the working directory, so that everything can be moved together.
    """
    if experiment.captured is None:
        return _make_relative(experiment.path)
    runs = experiment.captured / "runs"
    if runs.resolve() == (results / "runs").resolve():
        # This experiment file is the copy in the results: the source is that of the original.
        return _read(runs / RUNS_MARK) or _make_relative(runs)
    return _make_relative(runs)


def digest(text: str) -> str:
    """Returns the file name of a mark that contains `text`."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def check(experiment: Experiment, results: Path) -> str | None:
    """Returns a note if there are tables of another experiment; None otherwise.

    Raises:
        FlowsweepError: New runs would mix with those of another experiment.
    """
    own = source(experiment, results)
    theirs = _read(results / "runs" / RUNS_MARK)
    if (
        experiment.captured is None
        and theirs not in (None, own)
        and not _is_same_file(experiment, results)
    ):
        raise FlowsweepError(
            f"{results}: the runs here are those of another experiment of the same name",
            found=f"runs of {theirs}",
            expected=f"runs of {own}",
            remedy=f"rename one of the two files, or: mv {results} {results}-old"
            f" (the same file, moved? rm {results / 'runs' / RUNS_MARK})",
        )
    marks = sorted((results / TABLES_MARK).glob("*"))
    others = [_read(path) for path in marks if path.name != digest(own)]
    if not others:
        return None
    kept = "" if theirs in (None, own) else f"\n  Its runs are kept in {results / 'runs'}."
    return (
        f"note: {results} held tables and report of {others[0]}; they are made anew from {own}."
        f"{kept}\n  remedy    to keep both, rename one of the two files or folders"
    )


def has_own_runs(results: Path) -> bool:
    """Returns whether the tables are of the runs in the same folder, not recorded elsewhere."""
    if not (results / "runs").is_dir():
        return False
    runs = _read(results / "runs" / RUNS_MARK)
    tables = [_read(path) for path in (results / TABLES_MARK).glob("*")]
    return runs is None or not tables or runs in tables


def mark_runs(experiment: Experiment, results: Path) -> None:
    """Marks `results` as belonging to the experiment whose runs are about to start."""
    runs = results / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    outputs.write_file(runs / RUNS_MARK, f"{source(experiment, results)}\n")


def mark_captures(folder: Path, results: Path) -> None:
    """Marks `results` as made from the captures in `folder`.

    Raises:
        FlowsweepError: The results are of another source.
    """
    own = printing.line(str(folder.resolve()))
    runs = results / "runs"
    theirs = _read(runs / RUNS_MARK)
    if theirs != own and (theirs is not None or runs.exists() or (results / "tables").exists()):
        raise FlowsweepError(
            f"{results}: the results here are of something else",
            found=theirs or f"runs or tables that are not of {own}",
            expected=f"results of the captures in {own}, or none yet",
            remedy=f"rename the captures, or: {shlex.join(['mv', str(results), f'{results}-old'])}",
        )
    runs.mkdir(parents=True, exist_ok=True)
    outputs.write_file(runs / RUNS_MARK, f"{own}\n")


def _make_relative(path: Path) -> str:
    # A mark is one line of text.
    return printing.line(os.path.relpath(path.resolve()))


def _read(path: Path) -> str | None:
    try:
        text = inputs.read_text(path, "a mark", MOST_MARK_BYTES)
    except FlowsweepError:
        return None
    return text.strip().partition("\n")[0]


def _is_same_file(experiment: Experiment, results: Path) -> bool:
    """Returns whether the file is identical to its copy in the results."""
    try:
        return (results / "experiment.yaml").read_bytes() == experiment.path.read_bytes()
    except OSError:
        return False
