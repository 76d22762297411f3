"""A paper is one folder: its questions are found there and asked like those of any paper."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import tiny

from flowsweep.render import page
from flowsweep.warehouse import Warehouse, figure_names, figures, reports_folder

SQL = "-- One row per run.\nselect run, app from runs order by run\n"
ABOUT = """\
section: runs
order: 99
kind: table
heading: What the sixth paper asks
description: Runs, as the sixth paper asks for them.
row: one run
columns: {run: the run, app: its application}
adds_up:
  - claim: every run has one row
    sql: select 'runs' as subject, count(*) as found, count(*) as expected from figure_rows
"""


@pytest.fixture
def sixth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes a folder `reports` with a question of a sixth paper."""
    reports = tmp_path / "reports"
    shutil.copytree(reports_folder(), reports)
    monkeypatch.setenv("FLOWSWEEP_REPORTS", str(reports))
    folder = reports / "papers" / "sixth" / "figures"
    folder.mkdir(parents=True)
    (folder / "sixth_runs.sql").write_text(SQL)
    (folder / "sixth_runs.yaml").write_text(ABOUT)
    return reports


def test_the_questions_of_a_paper_are_asked_and_printed(sixth: Path, tmp_path: Path) -> None:
    assert "sixth_runs" in figure_names()
    assert figures.read_description(sixth, "sixth_runs")["row"] == "one run"
    directory = tiny.runs(tmp_path / "swept", [tiny.run("r", baseline=True)])
    assert Warehouse(directory).rows("sixth_runs")["run"].to_list() == ["r"]
    assert "What the sixth paper asks" in page.build(directory).html


def test_no_two_questions_have_one_name() -> None:
    reports = reports_folder()
    found = [*reports.glob("figures/*.sql"), *reports.glob("papers/*/figures/*.sql")]
    assert len(found) == len(figures.paths(reports))
