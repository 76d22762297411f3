"""The papers' questions are answered by measured values, and by no others."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest
import tiny

from flowsweep import content
from flowsweep.render import page
from flowsweep.warehouse import Warehouse, figures, kept_papers, reports_folder

PAPERS = [path.parent for path in content.papers()]
KEPT = kept_papers.folders()


@pytest.mark.parametrize("paper", PAPERS, ids=[paper.name for paper in PAPERS])
def test_every_paper_has_a_question_an_answer_and_ours(paper: Path) -> None:
    stated = figures.read(paper / "items.yaml")
    assert stated["question"].strip().endswith("?")
    assert stated["answer"].strip().endswith(".")
    assert (paper / "answer.sql").is_file()


@pytest.mark.parametrize("folder", KEPT, ids=[folder.name for folder in KEPT])
def test_the_page_of_a_paper_opens_with_what_its_kept_rows_answer(folder: Path) -> None:
    for row in kept_papers.rows(folder, "paper_answers").iter_rows(named=True):
        path = reports_folder() / "papers" / row["paper"] / "README.md"
        opening = " ".join(path.read_text(encoding="utf-8").split())
        at = [opening.index(row[name].strip()) for name in ("question", "published", "ours")]
        assert at == sorted(at), row


#: A kept value's name and a replacement, with a part of the answer before and after.
CHANGED = {
    ("das3", "verstoep", "figure 7", "all", 0.1): ("far from the 15 %", "as in the paper"),
    ("das3", "verstoep", "figure 7", "all", -0.02): (
        "longer on the grid than", "takes 2 % less time on the grid than on one cluster",
    ),
    ("das3", "verstoep", "figure 7", "all", -0.001): (
        "longer on the grid than", "takes as long on the grid as on one cluster",
    ),
    ("das3", "verstoep", "section 5 gain", "none", -0.1): (
        "accounts for the largest part", "Without any of them it takes no longer than with all.",
    ),
    ("das3", "maassen", "figure 2", "lightpaths", 1.4): (
        "Model checking needs one lightpath", "Model checking needs two lightpaths",
    ),
    ("das3", "maassen", "figures 6 to 8", "4K lightpath", 29.9): (
        "A 4K film needs two", "A 4K film needs one",
    ),
    ("kitatsuji", "kitatsuji", "figure 7", "jigsaw", 2.0): (
        "These never slow down severely at the rates tried: LU, the puzzle.",
        "These never slow down severely at the rates tried: LU.",
    ),
    ("lambdastream", "evl", "throughput", "cavewave disk_to_disk", 0.05): ("Yes:", "Not always:"),
    ("uklight", "uklight", "table 1", "16 0 16", 2 * 2.7525): (
        "2.5 times as long with 16 ms", "2.0 times as long with 16 ms",
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGED, ids=[" ".join(one[1:4]) for one in CHANGED])
def test_an_answer_changes_with_what_was_measured(
    change: tuple[str, str, str, str, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment, paper, item, key, value = change
    before, after = CHANGED[change]
    reports = tmp_path / "reports"
    shutil.copytree(reports_folder(), reports)
    monkeypatch.setenv("FLOWSWEEP_REPORTS", str(reports))
    folder = reports / "papers" / "measured" / experiment
    assert before in _answer(folder, paper)
    path = folder / "published.csv"
    is_it = (pl.col("paper") == paper) & (pl.col("item") == item) & (pl.col("key") == key)
    rows = pl.read_csv(path, infer_schema_length=None)
    assert rows.filter(is_it).height == 1
    rows.with_columns(pl.when(is_it).then(value).otherwise("ours").alias("ours")).write_csv(path)
    assert after in _answer(folder, paper)


def _answer(folder: Path, paper: str) -> str:
    rows = kept_papers.rows(folder, "paper_answers").filter(pl.col("paper") == paper)
    return str(rows["ours"].item())


def test_runs_that_answer_nothing_say_so(tmp_path: Path) -> None:
    directory = tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    named = [paper.name for paper in PAPERS]
    (directory / "experiment.yaml").write_text(f"papers: [{', '.join(named)}, nobody]\n")
    rows = Warehouse(directory).rows("paper_answers")
    assert rows["paper"].to_list() == sorted(named)
    assert {*rows["ours"]} == {"no run of this experiment answers it"}
    html = page.build(directory).html.replace("\u00a0", " ")
    part = html[html.index('id="part-paper_answers"') :]
    assert "How many lightpaths does each application need" in part[: part.index("</table>")]
    assert html.index('id="part-paper_answers"') < html.index('id="part-published"')
