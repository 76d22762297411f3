"""Figures of the papers: every published value is drawn beside ours, where the paper has it."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from flowsweep.render import svg
from flowsweep.render.figures import paper_figures
from flowsweep.warehouse import kept_papers, reports_folder
from flowsweep.warehouse.paper_items import cells

KEPT = kept_papers.folders()
PAPERS = reports_folder() / "papers"
#: How many values of each paper have a place in a figure.
DRAWN = {"evl": 10, "kitatsuji": 84, "maassen": 6, "uklight": 64, "verstoep": 17}


def rows_of(folder: Path) -> pl.DataFrame:
    return kept_papers.rows(folder, paper_figures.QUERY)


def figure_of(folder: Path, rows: pl.DataFrame) -> Any:
    papers = kept_papers.model(folder, "experiment_papers")
    context: Any = SimpleNamespace(rows=lambda _: rows, model=lambda _: papers)
    return paper_figures.draw(context)


@pytest.mark.parametrize("paper", DRAWN)
def test_the_figures_and_tables_with_numbers_are_drawn_whole(paper: str) -> None:
    found = [cell for cell in cells(PAPERS / paper) if cell["drawn"]]
    assert len([cell for cell in found if cell["published"] is not None]) == DRAWN[paper]


@pytest.mark.parametrize("folder", KEPT, ids=[folder.name for folder in KEPT])
def test_each_row_is_a_mark_of_what_is_published_and_of_ours(folder: Path) -> None:
    rows = rows_of(folder)
    here = rows.filter(pl.col("ours").is_not_null().any().over("paper", "item", "panel"))
    figure = figure_of(folder, rows)
    drawn = str(svg.render(figure.chart, paper_figures.QUERY))
    numbers = re.findall(r'(published|ours): ([^"<]*)"', drawn)
    assert len([one for one in numbers if one[0] == "published"]) == here.height
    assert len([one for one in numbers if one[0] == "ours"]) == here["ours"].count()
    assert (here.height < rows.height) == (f"of {rows.height} values are drawn" in figure.caption)
    for name in paper_figures.LOOKS:
        assert f">{name}</text>" in drawn


@pytest.mark.parametrize("folder", KEPT, ids=[folder.name for folder in KEPT])
def test_a_published_value_is_the_papers_at_our_scale(folder: Path) -> None:
    for row in rows_of(folder).iter_rows(named=True):
        found = {(one["item"], one["key"]): one for one in cells(PAPERS / row["paper"])}
        cell = found[row["item"], row["key"]]
        assert row["published"] == pytest.approx(float(cell["published"]) * cell["scale"], abs=1e-4)


def test_what_counts_something_else_is_not_drawn_as_ours() -> None:
    rows = rows_of(PAPERS / "measured" / "kitatsuji")
    other = rows.filter((pl.col("item") == "table 2") & (pl.col("key") == "ssor packets 0.331"))
    assert other["ours"].to_list() == [None]
    assert rows.filter(pl.col("key") == "ssor packets 4.3")["ours"].item() > 0


def test_nothing_is_drawn_where_nothing_is_measured() -> None:
    folder = PAPERS / "measured" / "uklight"
    rows = rows_of(folder).with_columns(ours=pl.lit(None, pl.Float64))
    assert figure_of(folder, rows) is None
