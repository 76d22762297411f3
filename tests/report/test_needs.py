"""Runs that do not count, what an empty answer says, and what a query needs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiny
from grid import PC1, PC3, RANKS, make_record, one_run, rows, with_transfers

from flowsweep.cli.query import query
from flowsweep.warehouse import Warehouse, figure_names, figures, reports_folder


def test_runs_that_do_not_count_are_in_none_of_them(tmp_path: Path) -> None:
    with_transfers(tmp_path)
    record = make_record(
        ranks=RANKS,
        answer={"sizes": [{"message_bytes": 1, "mean_s": 1.0}],
                "streams": [{"mbit_s": 1.0, "beside_mbit_s": 1.0}]},
        phases=[{"name": "busy", "rank": 0, "start_s": 0, "end_s": 1}],
    )  # fmt: skip
    one_run(tmp_path, {"pc1": tiny.bins(PC1, PC3, {0: 1})}, json=record, status="invalid")
    for name in NEW:
        assert rows(tmp_path, name) == [], name


NEW = (
    "wan_throughput", "peak_by_ranks", "lightpaths", "throughput_per_core", "transfer_activity",
    "transfer_times", "transfer_raster", "phase_times", "mpi_costs", "transfer_table", "fairness",
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("wan_throughput", "no throughput tables"),
        ("lightpaths", "no throughput tables"),
        ("transfer_activity", "no transfers are known"),
        ("phase_times", "application.phases"),
        ("mpi_costs", "app.json"),
        ("transfer_table", "pingpong"),
        ("transfer_errors", "pingpong"),
        ("fairness", "beside: tcp"),
        ("completion_by_rate", "the rate was not varied"),
        ("limits", "no flow tables"),
    ],
)
def test_an_empty_answer_has_its_header_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, why: str
) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    query(name=name, directory=tmp_path, output_format="csv", sql=False)
    printed = capsys.readouterr()
    assert printed.out.splitlines()[0].split(",")[0] in ("app", "message_mb")
    assert len(printed.out.splitlines()) == 1
    assert printed.err.startswith(f"note: {name} has no rows: ")
    assert "; needed: " in printed.err
    assert why in printed.err
    query(name=name, directory=tmp_path, output_format="json", sql=False)
    assert json.loads(capsys.readouterr().out) == []


def test_no_run_that_counts_is_stated_first(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", status="failed")])
    assert "no run counts" in str(Warehouse(tmp_path).lack("mpi_costs"))


def test_every_need_is_described(tmp_path: Path) -> None:
    import yaml

    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    warehouse = Warehouse(tmp_path)
    known = yaml.safe_load((reports_folder() / "needs.yaml").read_text(encoding="utf-8"))
    for name in figure_names():
        for need in figures.read_description(reports_folder(), name).get("needs", []):
            assert isinstance(warehouse.select(known[need]["ask"]).item(), bool)
            assert set(known[need]) == {"ask", "lacks", "wants"}
