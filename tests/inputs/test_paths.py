"""Tables in folders whose names mean something to DuckDB: exactly their rows are read."""

from __future__ import annotations

import shutil

import duckdb
import polars as pl
import pytest

import flowsweep
from flowsweep.errors import FlowsweepError
from flowsweep.files import names, parquet_files
from flowsweep.warehouse import Warehouse

PARENTS = [
    "run=x",
    "host=y",
    "run=x/host=y",
    "[a]*?",
    "[!x]",
    "a%20b",
    "it's",
    "{a,b}",
    "**",
    "ünï",
    "key=value",
    "a\nb",
]
RUNS = ["plain", "a\\b", "pct%2Fx", "x=y", "[a]*", "sp ace", "ünï", "NULL",
"__HIVE_DEFAULT_PARTITION__", "a+b", "'\"", "1", "%", "%41"]  # fmt: skip


@pytest.fixture
def tables(tmp_path):
    """Creates tables with one flow for each of these runs, below a folder of this name."""

    def make(parent: str):
        results = tmp_path / parent / "results"
        for name in RUNS:
            folder = (
                results / "tables" / names.partition("run", name) / names.partition("host", name)
            )
            folder.mkdir(parents=True)
            pl.DataFrame({"src_ip": [name]}).write_parquet(folder / "flows.parquet")
        pl.DataFrame({"run": RUNS}).write_parquet(results / "tables/runs.parquet")
        # A folder that a pattern would match as well.
        shutil.copytree(tmp_path / parent.partition("/")[0], tmp_path / "a", dirs_exist_ok=True)
        return results

    return make


@pytest.mark.parametrize("parent", PARENTS)
def test_each_run_and_host_has_its_rows(parent, tables):
    results = tables(parent)
    warehouse = Warehouse(results)
    rows = warehouse.select("select src_ip, run, host from file_flows order by run").rows()
    assert rows == [(name, name, name) for name in sorted(RUNS)]
    assert warehouse.select("select run from file_runs").height == len(RUNS)
    found = pl.DataFrame(flowsweep.read_flows(results / "tables")).sort("run")
    assert found.columns == ["src_ip", "host", "run"]
    assert found["run"].to_list() == found["src_ip"].to_list() == sorted(RUNS)
    script = f"create table t as {parquet_files.query_folder(results / 'tables', 'flows')}; from t"
    assert len(duckdb.connect().execute(script).fetchall()) == len(RUNS)


def test_other_readers_decode_alike(tables):
    """Polars, like every reader of Hive partitions."""
    files = tables("plain") / "tables/*/*/flows.parquet"
    found = pl.read_parquet(files, hive_partitioning=True, try_parse_hive_dates=False)
    pairs = (
        found.filter(pl.col("run").is_not_null()).select("src_ip", pl.col("run").cast(str)).rows()
    )
    assert {run for name, run in pairs if name == run} >= set(RUNS) - {
        "NULL",
        "__HIVE_DEFAULT_PARTITION__",
    }


def test_a_folder_that_duckdb_cannot_name_is_refused(tables):
    results = tables("a\\b")
    with pytest.raises(FlowsweepError, match="tables cannot be read from this folder") as caught:
        Warehouse(results).select("select * from file_flows")
    assert "backslash" in str(caught.value)


def test_what_is_not_finished_is_not_read(tables):
    results = tables("plain")
    hidden = results / "tables/.work/run=a/host=b"
    hidden.mkdir(parents=True)
    pl.DataFrame({"src_ip": ["x"]}).write_parquet(hidden / "flows.parquet")
    assert pl.DataFrame(flowsweep.read_flows(results / "tables")).height == len(RUNS)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("pc1\n", "line end"), ("a\x1b", "control character"), ("a\x85", "control"), ("", '""'),
        (".", '"."'),
        ("..", '".."'), ("a/b", "a slash"), ("\udcff", "udcff"), ("x" * 240, "240 bytes"),
        ("ü" * 120, "240 bytes"),
        ("%" * 80, "80 bytes, some of which take three"), ("\u2028", "line end"), ("\ufffe",
        "control"),
    ],
)  # fmt: skip
def test_a_name_that_cannot_be_is_refused(name, found):
    with pytest.raises(FlowsweepError, match="cannot be the name of a run") as caught:
        names.check(name, "a run", "here")
    assert found in (caught.value.found or "")
    assert caught.value.remedy is not None
