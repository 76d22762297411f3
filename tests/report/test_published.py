"""Papers' values beside ours: each verdict follows from its rule, and from nothing else."""

from __future__ import annotations

import dataclasses
import math
import shutil
import tempfile
from pathlib import Path
from typing import Any

import made as made_runs
import polars as pl
import pytest
import synthetic
import tiny
import yaml
from hypothesis import given
from hypothesis import strategies as st

from flowsweep import content
from flowsweep.analysis.adds_up import contradictions
from flowsweep.cli.query import query
from flowsweep.render import page
from flowsweep.warehouse import Warehouse, reports_folder
from flowsweep.warehouse.paper_items import cells

CONTRACT = [
    "paper", "item", "quantity", "unit", "where", "published", "ours", "ratio",
    "set_up_differs_in", "verdict",
]  # fmt: skip
ITEMS = """\
title: A made-up paper
authors: nobody
differs: it is made up
items:
  table 1:
    query: totals
    quantity: "{name} in {value}"
    columns: [name, a, b, c]
    rows:
      - [x, 10, 20, 40]
      - [y, 100, 50, 25]
    values: {a: {}, b: {}, c: {}}
    key: "{name} {value}"
    unit: MB
    reproduced: {within: 0.2}
    same_shape: {relative_to: "{name} a", within: 0.1}
  figure 2:
    query: totals
    quantity: "{key}"
    columns: [key, published, reproduced, same_shape]
    rows:
      - [large, 0.95, {at_least: 0.95}, null]
      - [between, null, null, {at_least: 1, at_most: 2}]
      - [first, 1, null, {order: size}]
      - [second, 2, null, {order: size}]
      - [scaled, 100, {within: 0.1}, null]
    scale: 1
    differs: "{key} differs"
  figure 4:
    query: totals
    quantity: "{key}"
    columns: [key, published, reproduced, same_shape, aside, contradiction]
    rows:
      - [set, 1, {within: 0.1}, null, set-up, null]
      - [denied, 1, {within: 0.1}, null, null, it is 2 elsewhere]
      - [smaller, 100, {within: 0.1}, {scale: 0.02, within: 0.25}, null, null]
      - [low, 1, null, {order: pace, tolerance: 0.05}, null, null]
      - [middle, 2, null, {order: pace, tolerance: 0.05}, null, null]
      - [high, 3, null, {order: pace, tolerance: 0.05}, null, null]
  section 3:
    quantity: what nobody did
    absent: nobody did it
"""
OURS = {
    "x a": 1.0, "x b": 2.05, "x c": 44.0, "y a": 10.0, "y b": 9.0, "y c": None,
}  # fmt: skip
FIGURE = {"large": 0.96, "between": 1.5, "first": 3.0, "second": 4.0, "scaled": 95.0}
ASIDE = {"set": 1.0, "denied": 1.0, "smaller": 2.4, "low": 10.4, "middle": 10.0, "high": 30.0}


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns a function that judges given values of ours by a made-up paper."""
    reports = tmp_path / "reports"
    shutil.copytree(reports_folder(), reports)
    monkeypatch.setenv("FLOWSWEEP_REPORTS", str(reports))
    paper = reports / "papers" / "made"
    paper.mkdir()
    directory = tiny.runs(tmp_path / "swept", [tiny.run("r", baseline=True)])
    (directory / "experiment.yaml").write_text("papers: [made]\n")

    def verdicts(
        table: dict[str, float | None],
        figure: dict[str, float | None],
        aside: dict[str, float | None] = ASIDE,
    ) -> dict[str, str]:
        (paper / "items.yaml").write_text(ITEMS)
        for stem, ours in (("table_1", table), ("figure_2", figure), ("figure_4", aside)):
            values = ", ".join(
                f"('{key}', {'null' if value is None else value})" for key, value in ours.items()
            )
            sql = f"select key, ours::double as ours from (values {values}) as v (key, ours)\n"
            (paper / f"{stem}.sql").write_text(sql)
        warehouse = Warehouse(directory)
        rows = warehouse.rows("published").rows(named=True)
        items = ["table 1"] * 6 + ["figure 2"] * 5 + ["figure 4"] * 6 + ["section 3"]
        assert [row["item"] for row in rows] == items
        return {row["key"]: row["verdict"] for row in rows}

    verdicts.directory = directory
    return verdicts


def test_each_rule_gives_its_verdict(made: Any) -> None:
    assert made(OURS, FIGURE) == {
        "x a": "not reproduced",  # a tenth of the published value; the others refer to it
        "x b": "same shape",  # 2.05 times the first, where 2 is published
        "x c": "reproduced",  # 10 % more than published
        "y a": "not reproduced",
        "y b": "not reproduced",  # 0.9 times the first, where 0.5 is published
        "y c": "not here, because no run of this experiment that counts has it",
        "large": "reproduced",
        "between": "same shape",
        "first": "same shape",
        "second": "same shape",
        "scaled": "reproduced",
        "set": "set-up",  # would be reproduced if it were judged
        "denied": "the paper contradicts itself: it is 2 elsewhere",
        "smaller": "same shape",  # 2.4, where a fiftieth of the published value is 2
        "low": "same shape",  # 4 % on the wrong side of the middle, which is a tie
        "middle": "same shape",
        "high": "same shape",
        "all": "not here, because nobody did it",
    }


@pytest.mark.parametrize(
    ("key", "value", "verdict"),
    [
        ("x b", 2.21, "not reproduced"),
        ("x b", 16.1, "reproduced"),
        ("x c", 48.5, "not reproduced"),
        ("x a", None, "not here, because no run of this experiment that counts has it"),
        ("large", 0.949, "not reproduced"),
        ("between", 0.99, "not reproduced"),
        ("between", 2.01, "not reproduced"),
        ("second", 2.9, "not reproduced"),
        ("second", None, "not here, because no run of this experiment that counts has it"),
        ("scaled", 89.0, "not reproduced"),
    ],
)
def test_a_value_that_leaves_its_rule_loses_its_verdict(
    made: Any, key: str, value: float | None, verdict: str
) -> None:
    table, figure = (
        {name: value if name == key else one for name, one in ours.items()}
        for ours in (OURS, FIGURE)
    )
    found = made(table, figure)
    assert found[key] == verdict
    if key == "second":  # an order needs two
        assert found["first"] == "not reproduced"
    if key == "x a":
        assert found["x b"].startswith(
            "not reproduced; its shape cannot be determined, because x a"
        )


@pytest.mark.parametrize(
    ("key", "value", "lost"),
    [
        ("smaller", 2.6, {"smaller"}),
        ("smaller", 1.4, {"smaller"}),
        # Only these two are in the wrong order.
        ("low", 10.6, {"low", "middle"}),
        ("high", 9.0, {"low", "middle", "high"}),
    ],
)
def test_a_scaled_value_or_an_order_can_be_lost(
    made: Any, key: str, value: float, lost: set[str]
) -> None:
    found = made(OURS, FIGURE, ASIDE | {key: value})
    assert {name for name in ASIDE if found[name] == "not reproduced"} == lost


def test_what_is_not_judged_has_no_verdict_whatever_ours_is(made: Any) -> None:
    found = made(OURS, FIGURE, ASIDE | {"set": 7.0, "denied": None})
    assert found["set"] == "set-up"
    assert found["denied"].startswith("not here, because")


def test_the_page_has_them_where_a_paper_is_named(made: Any) -> None:
    made(OURS, FIGURE)
    html = page.build(made.directory).html.replace("\u00a0", " ")
    part = html[html.index('id="part-published"') :]
    assert (
        "Of 16 values and properties: 3 reproduced, 8 same shape, 3 not reproduced, 2 not here; "
        "not judged: 1 contradicted by the paper itself, 1 set-up" in part
    )
    for words in ("44.0 MB", "first differs", "because nobody did it", "reproduced: within 20 %;"):
        assert words in part[: part.index("</table>")], words
    assert "This report contradicts" not in html


def test_an_experiment_that_names_no_paper_has_none(
    one_app: Path, one_app_report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query(name="published", directory=one_app, output_format="csv", sql=False)
    printed = capsys.readouterr()
    assert printed.out.splitlines()[0].split(",")[: len(CONTRACT)] == CONTRACT
    assert len(printed.out.splitlines()) == 1
    assert "the experiment names no paper" in printed.err
    assert 'id="papers"' not in one_app_report.read_text(encoding="utf-8").replace("\u00a0", " ")


def test_a_file_that_cannot_be_read_stops_no_query(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    for content_of in (b"\xff\xfe\x00", b"papers: kitatsuji", b"papers: [nobody, 7]", b"papers: {"):
        (tmp_path / "experiment.yaml").write_bytes(content_of)
        warehouse = Warehouse(tmp_path)
        assert warehouse.rows("run_table").height == 1
        assert warehouse.rows("published").is_empty()


def test_ours_is_what_the_query_that_is_named_says(full: Path) -> None:
    """Recomputed by hand: UKLight's cells from the times that the runs report."""
    warehouse = Warehouse(full)
    rows = {(row["item"], row["key"]): row for row in warehouse.rows("published").rows(named=True)}
    times = {  # full_records._pingpong
        (size, loss, latency): size / 4 * seconds
        for latency, seconds, loss in ((0, 0.7, 0), (2, 0.9, 0), (4, 1.0, 0), (4, 3.0, 1))
        for size in (4, 16)
    }
    items = yaml.safe_load((reports_folder() / "papers/uklight/items.yaml").read_text())["items"]
    table = {(row[0], row[1]): row[2:7] for row in items["table 1"]["rows"]}
    for (size, loss), published in table.items():
        for latency, stated in zip((0, 2, 4, 8, 16), published, strict=True):
            row = rows["table 1", f"{size} {loss:g} {latency}"]
            ours = times.get((size, loss, latency))
            assert row["published"] == stated
            assert row["ours"] == pytest.approx(ours) if ours else row["ours"] is None, row
            if ours:
                assert row["ratio"] == pytest.approx(ours / stated, abs=1e-4)
                off = abs(ours / stated - 1)
                if (size, loss) == (4, 0):  # the set-up was chosen on this row
                    assert row["verdict"] == "fitted"
                else:
                    assert (row["verdict"] == "reproduced") == (off <= 0.1), row


APPS = ("nqueens", "jigsaw", "ssor", "taskgraph", "modelcheck", "awari", "video4k", "supernova",
        "pingpong", "lambda", "udp")  # fmt: skip
PAPERS = [path.parent.name for path in content.papers()]


@made_runs.some(12)
@given(made_runs.experiments(), st.lists(st.sampled_from(APPS), min_size=6, max_size=6))
def test_every_paper_has_all_its_rows_whatever_was_run(
    experiment: list[made_runs.Run], apps: list[str]
) -> None:
    """The applications have the papers' names, but other problems, traffic and records."""
    renamed = [
        dataclasses.replace(run, app=app) for run, app in zip(experiment, apps, strict=False)
    ]
    with tempfile.TemporaryDirectory() as folder:
        directory = made_runs.write(Path(folder), renamed)
        (directory / "experiment.yaml").write_text(f"papers: [{', '.join(PAPERS)}]\n")
        _has_all_rows(directory)


@pytest.fixture(scope="module")
def two_problems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes one program at two problems, each with a baseline and traffic between the sites."""
    apps = [
        dataclasses.replace(synthetic.NQUEENS, name=f"problem-{n}", problem={"n": n})
        for n in (1, 2)
    ]
    plan = synthetic.Plan(apps=apps, rtts_ms=(1, 4), rates_mbit_s=(100, 10), repetitions=1)
    directory = synthetic.make(tmp_path_factory.mktemp("problems"), plan)
    (directory / "experiment.yaml").write_text(f"papers: [{', '.join(PAPERS)}]\n")
    return directory


@pytest.mark.parametrize("app", APPS)
def test_every_paper_has_all_its_rows_of_an_application_with_two_problems(
    two_problems: Path, app: str
) -> None:
    """The whole experiments run two sizes of a problem, where the paper has one value."""
    runs = two_problems / "tables" / "runs.parquet"
    pl.read_parquet(runs).with_columns(app=pl.lit(app)).write_parquet(runs)
    _has_all_rows(two_problems)


def _has_all_rows(directory: Path) -> None:
    """Asserts that every value that a paper states has one row, and no claim is contradicted."""
    warehouse = Warehouse(directory)
    rows = warehouse.rows("published")
    assert rows.height == sum(len(cells(path.parent)) for path in content.papers())
    assert [str(one) for one in contradictions(warehouse, ["published"])] == []
    for row in rows.rows(named=True):
        assert row["ours"] is None or math.isfinite(row["ours"]), row
