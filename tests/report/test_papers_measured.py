"""The kept rows of whole experiments are those that their queries give today, by name."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from flowsweep.experiment.load import about
from flowsweep.warehouse import reports_folder
from flowsweep.warehouse.paper_items import cells

PAPERS = reports_folder() / "papers"
EXPERIMENTS = Path(__file__).parents[2] / "workflows" / "experiments"
KEPT = sorted(PAPERS.glob("measured/*/published.csv"))


def test_some_are_kept() -> None:
    assert KEPT


@pytest.mark.parametrize("path", KEPT, ids=[path.parent.name for path in KEPT])
def test_each_value_of_the_papers_has_its_row(path: Path) -> None:
    rows = pl.read_csv(path)
    text = (EXPERIMENTS / f"{path.parent.name}.yaml").read_text(encoding="utf-8")
    stated = [cell for paper in about(text).papers for cell in cells(PAPERS / paper)]
    assert set(rows.select("paper", "item", "key").rows()) == {
        (cell["paper"], cell["item"], cell["key"]) for cell in stated
    }
    for row in rows.filter(pl.col("published").is_not_null()).iter_rows(named=True):
        if row["ours"] is not None:
            # Both are rounded to four decimals.
            near = 5e-5 + 5e-5 / abs(row["published"])
            assert abs(row["ours"] / row["published"] - row["ratio"]) <= 1.001 * near, row


@pytest.mark.parametrize("path", KEPT, ids=[path.parent.name for path in KEPT])
def test_the_runs_behind_them_are_those_of_the_table(path: Path) -> None:
    runs = pl.read_csv(path.with_name("run_table.csv"))
    assert runs["run"].n_unique() == runs.height
    invalid = runs.filter(pl.col("status") != "valid").height
    row = f"| `{path.parent.name}` | {runs.height} | {invalid} |"
    assert row in (PAPERS / "measured" / "README.md").read_text(encoding="utf-8")
