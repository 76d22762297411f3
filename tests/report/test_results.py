"""`flowsweep.open`, `flowsweep columns`, and what `flowsweep query` prints of its rows."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest
import tiny

import flowsweep
from flowsweep import _parsers, dictionary
from flowsweep.warehouse import Warehouse

WEST, EAST = "10.77.1.1", "10.77.2.1"


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    tiny.runs(tmp_path, [tiny.run(name, baseline=name == "a") for name in "abc"])
    for run in "abc":
        tiny.table(tmp_path, "flows", run, "pc1", [tiny.flow(WEST, EAST, packets=10)])
    return tmp_path


def test_rows_are_those_of_the_report(experiment: Path) -> None:
    results = flowsweep.open(experiment)
    assert results.rows("totals").equals(Warehouse(experiment).rows("totals"))
    assert "totals" in results.queries
    assert results.queries["totals"].endswith(".")


def test_a_model_has_rows_and_a_text(experiment: Path) -> None:
    results = flowsweep.open(str(experiment))
    assert results.rows("flows").height == 3
    assert "select" in results.models["flows"]
    assert results.sql("select sum(packets) as packets from flows").item() == 30


def test_a_table_of_all_runs_is_read_lazily(experiment: Path) -> None:
    results = flowsweep.open(experiment)
    # Tables of an earlier version lack this column.
    row = {key: value for key, value in tiny.flow(WEST, EAST).items() if key != "wire_bytes"}
    tiny.table(experiment, "flows", "c", "pc1", [row])
    found = results.to_polars("flows").select("run", "host", "wire_bytes").collect()
    assert sorted(found.rows()) == [
        ("a", "pc1", 10_000), ("b", "pc1", 10_000), ("c", "pc1", None)
    ]  # fmt: skip
    assert results.tables == ["flows"]
    assert results.to_polars("runs").collect().height == 3


@pytest.mark.parametrize(
    ("ask", "near"),
    [
        (lambda results: results.rows("total"), "totals"),
        (lambda results: results.to_polars("flow"), "flows"),
        (lambda results: results.columns("packet"), "packets"),
    ],
)
def test_a_name_that_there_is_not_has_a_near_one(experiment: Path, ask, near: str) -> None:
    with pytest.raises(flowsweep.FlowsweepError, match=f"did you mean {near}"):
        ask(flowsweep.open(experiment))


def test_what_a_query_lacks_is_known(experiment: Path) -> None:
    results = flowsweep.open(experiment)
    assert results.rows("message_rate").is_empty()
    assert "no message tables" in str(results.why_empty("message_rate"))


@pytest.mark.parametrize("name", dictionary.names())
def test_every_column_has_a_meaning(name: str) -> None:
    rows = dictionary.columns(name)
    assert rows
    assert all(column and meaning for column, _, _, meaning, _ in rows)


def test_columns_of_a_table_are_those_that_are_written(command) -> None:
    done = command("flowsweep", "columns", "flows", "--format", "json")
    found = [(row["column"], row["unit"] or "") for row in json.loads(done.stdout)]
    assert found == [(row[0], row[3]) for row in _parsers.columns("flows")]
    text = command("flowsweep", "columns", "flows").stdout
    assert "payload_bytes  (int64, B)\n    TCP or UDP payload" in text
    assert max(map(len, text.splitlines())) <= 100
    assert "totals" in command("flowsweep", "columns").stdout.splitlines()


def test_some_columns_and_rows_of_a_query(experiment: Path, command) -> None:
    words = ("query", "run_table", experiment, "--format", "csv")
    done = command("flowsweep", *words, "--columns", "status,run", "--limit", "2")
    assert done.stdout.splitlines() == ["status,run", "valid,a", "valid,b"]
    assert "note: 2 of 3 rows" in done.stderr
    done = command("flowsweep", *words, "--columns", "stat")
    assert done.returncode == 2
    assert "did you mean status?" in done.stderr
    assert command("flowsweep", *words, "--limit", "x").returncode == 2


def test_a_pipe_is_as_wide_as_columns_says(experiment: Path, command) -> None:
    words = ("query", "run_table", experiment)
    own = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    wide = command("flowsweep", *words, env=own).stdout
    narrow = command("flowsweep", *words, env={**own, "COLUMNS": "60"}).stdout
    assert max(map(len, narrow.splitlines())) <= 60 < max(map(len, wide.splitlines()))


def test_results_of_the_captured_demo_are_frames(captured_demo: Path) -> None:
    results = flowsweep.open(captured_demo)
    assert isinstance(results.rows("thresholds"), pl.DataFrame)
    flows = results.to_polars("flows").select(pl.len()).collect().item()
    assert flows == results.sql("select count(*) from stg_flows").item()
