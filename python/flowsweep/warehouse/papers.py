"""Warehouse models that compare an experiment's values with those of papers.

`reports/papers/<paper>/items.yaml` contains the values of a paper, `<item>.sql` next to it queries
this experiment's values, and `answer.sql` puts their answer to the paper's question into words. An
experiment names its papers in `papers` of its file.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Collection
from pathlib import Path

from flowsweep.errors import FlowsweepError
from flowsweep.experiment.load import about
from flowsweep.files import inputs
from flowsweep.files.parquet_files import quote
from flowsweep.warehouse import figures, paper_items
from flowsweep.warehouse.paper_items import COLUMNS, Cell
from flowsweep.warehouse.values import literal


def models(folder: Path, directory: Path) -> dict[str, str]:
    """Returns the models of all papers' values and of the experiment's own ones.

    Args:
        folder: The folder `reports`.
        directory: results/<experiment>, which may contain experiment.yaml.
    """
    return models_of(folder, _papers(directory))


def models_of(folder: Path, named: Collection[str]) -> dict[str, str]:
    """Returns the same models for an experiment that names these papers.

    The SQL of an item may read the rows of a figure: `figure_x` is the query x.
    """
    papers = folder / "papers"
    known = sorted(path.parent.name for path in papers.glob("*/items.yaml"))
    own = [paper for paper in named if paper in known]
    ours = {
        f"{paper}_{path.stem}": path
        for paper in known
        for path in sorted((papers / paper).glob("*.sql"))
    }
    figure_paths = {f"figure_{name}": path for name, path in figures.paths(folder).items()}
    texts = {name: path.read_text(encoding="utf-8") for name, path in (figure_paths | ours).items()}
    lines = [(papers / paper / "items.yaml").read_text(encoding="utf-8") for paper in known]
    stated, items = _state(papers, tuple(known), tuple(lines))
    found = [
        (paper, item, f"{paper}_{stem}")
        for (paper, stem), item in items.items()
        if paper in own and f"{paper}_{stem}" in ours
    ]
    return texts | {
        "paper_items": stated,
        "experiment_papers": _list_named(own),
        "paper_values": _values(found),
        "paper_questions": _questions(papers, own),
        "answers_here": _answers([paper for paper in own if f"{paper}_answer" in ours]),
    }


def _papers(directory: Path) -> tuple[str, ...]:
    """Returns the papers that the experiment's file names; none if the file cannot be read."""
    try:
        return about(inputs.read_text(directory / "experiment.yaml", "an experiment file")).papers
    except FlowsweepError:
        return ()


def stem_of(item: str) -> str:
    """Returns the name of the file with an item's SQL: `section_3_1_1` for `section 3.1.1`."""
    return re.sub(r"[^a-z0-9]+", "_", item.lower())


def _list_named(papers: list[str]) -> str:
    listed = ", ".join(map(literal, papers))
    return (
        "-- One row per paper that the experiment belongs to, by `papers` of its file.\n"
        f"select unnest([{listed}]::varchar[]) as paper\n"
    )


def _values(found: list[tuple[str, str, str]]) -> str:
    """Returns the SQL of the experiment's values for all items: paper, item and model of each."""
    parts = [
        f"select\n    {literal(paper)} as paper,\n    {literal(item)} as item,\n"
        f"    key,\n    ours::double as ours,\nfrom {model}"
        for paper, item, model in found
    ]
    nothing = (
        "select\n    ''::varchar as paper,\n    ''::varchar as item,\n    ''::varchar as key,\n"
        "    null::double as ours,\nwhere false"
    )
    every = "\nunion all\n".join([nothing, *parts])
    return (
        "-- One row per value of ours beside one of a paper; other applications of the\n"
        "-- experiment have none. What was divided by nothing is no value.\n"
        f"with\n\nfound as (\n{every}\n)\n\n"
        "select\n    found.* replace (if(isfinite(ours), ours, null) as ours),\nfrom found\n"
        "inner join paper_items using (paper, item, key)\n"
    )


def _questions(papers: Path, chosen: list[str]) -> str:
    """Returns the SQL of what each paper asks and answers, and what differs here."""
    names = ("title", "question", "answer", "differs")
    stated = [figures.read(papers / paper / "items.yaml") for paper in chosen]
    rows = [
        f"({', '.join(map(literal, (paper, *(about.get(name) for name in names))))})"
        for paper, about in zip(chosen, stated, strict=True)
    ]
    columns = ("paper", "title", "question", "published", "set_up_differs_in")
    typed = "".join(f"    {name}::varchar as {name},\n" for name in columns)
    # `values` needs a row; the query below drops it.
    values = ",\n    ".join(rows or ["(null, null, null, null, null)"])
    return (
        "-- One row per paper of the experiment: title, question, answer, and what differs here.\n"
        f"select\n{typed}from (\n    values\n    {values}\n) as stated (\n"
        f"    {', '.join(columns)}\n)\nwhere paper is not null\n"
    )


def _answers(answered: list[str]) -> str:
    """Returns the SQL of the experiment's answers in words; null where values are missing."""
    parts = [
        f"select {literal(paper)} as paper, ours from {paper}_answer"  # noqa: S608 - of a folder
        for paper in answered
    ]
    nothing = "select ''::varchar as paper, null::varchar as ours where false"
    every = "\nunion all\n".join([nothing, *parts])
    return f"-- One row per paper of the experiment: our answer to its question.\n{every}\n"


@functools.lru_cache(maxsize=4)  # several warehouses of a process read the same papers
def _state(
    papers: Path, known: tuple[str, ...], _texts: tuple[str, ...]
) -> tuple[str, dict[tuple[str, str], str]]:
    """Returns the cells of all papers as SQL, and the name of each item by paper and stem.

    Args:
        papers: The folder reports/papers.
        known: The papers.
        _texts: The text of each paper's items.yaml: it is part of the cache's key.
    """
    cells = [cell for paper in known for cell in paper_items.cells(papers / paper)]
    items = {(cell["paper"], stem_of(cell["item"])): cell["item"] for cell in cells}
    return _sql(cells), items


def _sql(found: list[Cell]) -> str:
    """Returns the cells as SQL with one JSON text: literals would take DuckDB ten times as long."""
    rows = json.dumps([{name: cell.get(name) for name in COLUMNS} for cell in found])
    shape = {name: "varchar" if kind == "json" else kind for name, kind in COLUMNS.items()}
    typed = ",\n    ".join(f'one."{name}"::{kind} as "{name}"' for name, kind in COLUMNS.items())
    return (
        "-- One row per value that a paper states: reports/papers/*/items.yaml.\n"
        f"select\n    {typed},\nfrom (\n    select unnest(from_json(\n"
        f"        {quote(rows)},\n        {quote(json.dumps([shape]))}\n    )) as one\n)\n"
    )
