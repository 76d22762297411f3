"""Finds the SQL files of the questions and the `.yaml` files that describe them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from flowsweep.experiment import axes

#: In `columns` it stands for the columns of the model `points`, as in the question's SQL.
POINT = "points.*"


def paths(folder: Path) -> dict[str, Path]:
    """Returns the SQL file of each question by name, sorted: general ones and those of papers.

    Args:
        folder: The folder `reports`.
    """
    papers = folder / "papers"
    changed_ns = papers.stat().st_mtime_ns if papers.is_dir() else 0
    folders = [folder / "figures", *_list_paper_folders(papers, changed_ns)]
    return dict(
        _find_paths(tuple((one, one.stat().st_mtime_ns) for one in folders if one.is_dir()))
    )


@cache
def _list_paper_folders(papers: Path, _changed_ns: int) -> tuple[Path, ...]:
    """Returns the folder of each paper's questions, which need not exist."""
    return tuple(paper / "figures" for paper in sorted(papers.glob("*/")))


@cache
def _find_paths(folders: tuple[tuple[Path, int], ...]) -> dict[str, Path]:
    # Cached: a report calls this hundreds of times. A new file changes its folder's mtime.
    found = [path for folder, _ in folders for path in folder.glob("*.sql")]
    return {path.stem: path for path in sorted(found, key=lambda path: path.stem)}


def read_description(folder: Path, name: str) -> dict[str, Any]:
    """Returns a figure's YAML, with the columns of the point spelled out; empty if it has none.

    Args:
        folder: The folder `reports`.
        name: The figure's name.
    """
    known = paths(folder)
    found = read(known[name].with_suffix(".yaml")) if name in known else {}
    columns = found.get("columns", {})
    return found | {"columns": _spelled_out(columns)} if POINT in columns else found


def read(path: Path) -> dict[str, Any]:
    """Returns a YAML file of reports/, which callers must not modify; empty if it is missing."""
    found = _load(path.read_text(encoding="utf-8")) if path.is_file() else None
    return found if isinstance(found, dict) else {}


@cache
def _load(text: str) -> Any:
    # A report reads each of these files several times.
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - safe


def _spelled_out(columns: dict[str, str]) -> dict[str, str]:
    """Replaces `POINT` by the point's columns, except those that the figure describes itself."""
    spelled: dict[str, str] = {}
    for column, meaning in columns.items():
        if column == POINT:
            spelled |= {
                name: about for name, about in point_columns().items() if name not in columns
            }
        else:
            spelled[column] = meaning
    return spelled


def point_columns() -> dict[str, str]:
    """Returns the meaning of each column of a point in the rows of a query, in order."""
    found = {
        "app": "the application's name",
        "problem": "its parameters",
        "point": "number of the point of the sweep",
        "is_baseline": "whether this is the baseline",
    }
    for column in axes.columns():
        found[column.asked] = column.meaning
        if column.measured is not None:
            found[column.measured] = column.measured_meaning
    return found
