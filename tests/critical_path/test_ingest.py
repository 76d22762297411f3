"""The critical paths of runs of the captured demo."""

from __future__ import annotations

from pathlib import Path

import matched_demo
import polars as pl
import pytest

from flowsweep import dictionary
from flowsweep.analysis.adds_up import contradictions
from flowsweep.warehouse import Warehouse

RUNS = [
    f"nqueens-{point}-r{number}"
    for point in ("baseline", "rate_10Mbit", "rate_20Mbit", "rtt_64ms")
    for number in (1, 2)
]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return matched_demo.make(tmp_path_factory.mktemp("paths"), RUNS)


def test_the_path_of_each_run_is_its_completion_time(results: Path) -> None:
    warehouse = Warehouse(results)
    assert contradictions(warehouse, ["time_path", "time_shares"]) == []
    rows = warehouse.rows("time_path")
    assert sorted(rows["run"]) == sorted(RUNS)
    assert rows["path_s"].to_list() == pytest.approx(rows["completion_s"].to_list(), abs=1e-6)
    assert rows["not_explained_s"].to_list() == [0.0] * len(RUNS)


def test_the_table_has_the_columns_of_the_dictionary_and_no_gap(results: Path) -> None:
    for run in RUNS:
        files = [*(results / "tables" / f"run={run}").glob("host=*/critical_path.parquet")]
        assert len(files) == 4
        pieces = pl.concat([pl.read_parquet(path) for path in files]).sort("step")
        assert pieces.columns == [row[0] for row in dictionary.columns("critical_path")]
        assert pieces["step"].to_list() == [*range(pieces.height)]
        begins = pieces["begin"].dt.epoch("ns")
        assert (begins + pieces["duration_ns"])[:-1].to_list() == begins[1:].to_list()


def test_a_narrow_link_costs_serialisation_and_queueing(results: Path) -> None:
    """The rate's cost is serialisation: at a tenth of the rate, ten times as much."""
    rows = Warehouse(results).rows("time_shares")
    base = rows.filter("is_baseline").row(0, named=True)
    for rate in (20, 10):
        row = rows.filter(pl.col("rate_asked_mbit_s") == rate).row(0, named=True)
        growth = row["path_s"] - base["path_s"]
        link = sum(row[name] - base[name] for name in ("serialisation_s", "queueing_s"))
        assert link == pytest.approx(growth, rel=0.12)
        assert row["not_explained_s"] < 0.05 * row["path_s"]
        assert row["propagation_s"] < 0.02 * row["path_s"]


def test_work_that_moved_to_other_hosts_is_not_explained(results: Path) -> None:
    """A worker pool: at 64 ms, hosts near the master take most jobs, and end when distant hosts do.

    So the path of one run computes more than at the baseline, and that of the other less.
    """
    warehouse = Warehouse(results)
    row = warehouse.rows("time_shares").filter(pl.col("rtt_asked_ms") == 64).row(0, named=True)
    runs = warehouse.rows("time_path").filter(pl.col("rtt_asked_ms") == 64)
    more, less = runs.sort("crossings").to_dicts()
    assert more["computing_s"] > row["base_computing_s"] > less["computing_s"]
    off = [abs(run["computing_s"] - row["base_computing_s"]) for run in (more, less)]
    assert row["not_explained_s"] == pytest.approx(sum(off) / 2)
    assert row["not_explained_s"] > 0.1 * row["path_s"]
