"""The report and the queries find a figure by its files alone."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import polars as pl
import pytest
import tiny

from flowsweep.render import page
from flowsweep.render.sections import sections
from flowsweep.warehouse import Warehouse, figure_names, reports_folder

QUERY = """\
select app, count(*) as runs, median(completion_s) as typical_s, count(*) > 1000 as are_many,
    0.125 as share
from runs group by app
"""
ABOUT = """\
description: Runs of each application.
section: traffic
order: 15
kind: table
heading: How often each was run
caption: All runs.
row: one application
show: {app: application, runs: runs, typical_s: time (s), are_many: many runs, share: of all (%)}
columns:
  app: the application's name
  runs: its runs
  typical_s: median completion time, s
  are_many: whether there are more than 1000
  share: a share
"""


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copies the folder, so that a test may change it."""
    copy = tmp_path / "reports"
    shutil.copytree(reports_folder(), copy)
    monkeypatch.setenv("FLOWSWEEP_REPORTS", str(copy))
    return copy


def test_a_table_needs_no_python(reports: Path, one_app: Path) -> None:
    (reports / "figures" / "run_counts.sql").write_text(QUERY)
    (reports / "figures" / "run_counts.yaml").write_text(ABOUT)
    assert "run_counts" in figure_names()
    columns = ["app", "runs", "typical_s", "are_many", "share"]
    assert Warehouse(one_app).rows("run_counts").columns == columns
    html = page.build(one_app).html.replace("\u00a0", " ")
    order = [html.index(f'id="{name}"') for name in ("part-totals", "part-run_counts")]
    assert order == sorted(order)
    assert order[1] < html.index('id="figure-throughput_series"')
    assert "<h3>How often each was run</h3>" in html
    part = html[order[1] : html.index('<div class="controls"', order[1])]
    assert "nqueens" in part
    assert "time (s)" in part
    assert "All runs." in part
    cells = re.findall(r"<td[^>]*>(.*?)</td>", part)
    assert "no" in cells
    assert "12.5" in cells


def test_every_part_names_a_section_that_there_is() -> None:
    found = sections(reports_folder())
    parts = [part.name for section in found for part in section.parts]
    assert sorted(parts) == sorted(figure_names())
    assert all(section.query in figure_names() for section in found)


def test_a_figure_has_a_drawing_of_its_name() -> None:
    for section in sections(reports_folder()):
        for part in section.parts:
            assert part.drawing is not None or part.kind == "table", part.name


def test_a_model_reads_tables_that_anybody_wrote(reports: Path, tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    folder = tmp_path / "tables" / "run=r" / "host=pc1"
    folder.mkdir(parents=True)
    pl.DataFrame({"offset_ns": [12]}).write_parquet(folder / "clocks.parquet")
    (reports / "models" / "stg_clocks.sql").write_text("select * from file_clocks\n")
    rows = Warehouse(tmp_path).select("select run, host, offset_ns from stg_clocks").rows()
    assert rows == [("r", "pc1", 12)]
