"""`flowsweep match` of an experiment: each of its runs gets a folder and a line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from spoiled import DEMO, copy_run

RUNS = ("nqueens-rtt_4ms-r1", "nqueens-rtt_64ms-r1")


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    """An experiment with two runs."""
    folder = tmp_path / "two"
    for run in RUNS:
        copy_run(DEMO / run, folder / "runs" / run)
    return folder


def test_each_run_has_tables_and_a_line(match, experiment, tmp_path):
    done = match(experiment)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()[1:]]
    assert [line[0] for line in lines] == [*RUNS]
    # Half of the configured RTT, plus queueing.
    assert [float(line[4]) for line in lines] == [pytest.approx(half, abs=0.05) for half in (2, 32)]
    for line in lines:
        folder = tmp_path / "matched" / f"run={line[0]}"
        fates = pl.read_parquet(folder / "fates.parquet")
        assert fates.filter(fate="delivered").height == int(line[1].replace(",", ""))
        assert fates.filter(fate="lost").height == int(line[2])
        sites = {"pc1": "west", "pc2": "west", "pc3": "east", "pc4": "east"}
        rows = pl.read_parquet(folder / "one_way.parquet")
        ends = (pl.col(end).replace_strict(sites) for end in ("sender", "receiver"))
        between = rows.filter(next(ends) != next(ends))["delay_ns"]
        assert f"{between.min() / 1e6:.3f}" == line[4]


def test_one_run_that_cannot_be_matched_stops_no_other(match, experiment):
    for path in (experiment / "runs" / RUNS[0]).glob("pc[234].*"):
        path.unlink()
    (experiment / "runs" / "empty").mkdir()
    done = match(experiment, "--format", "json")
    assert done.returncode == 1
    assert RUNS[0] in done.stderr
    assert "a packet is matched between two hosts" in done.stderr
    found = json.loads(done.stdout)["runs"]
    assert list(found) == [RUNS[1]]
    assert {row["sender"] for row in found[RUNS[1]]["delays"]} == {"pc1", "pc2", "pc3", "pc4"}


def test_an_experiment_without_captures_says_so(match, tmp_path):
    (tmp_path / "none" / "runs").mkdir(parents=True)
    done = match(tmp_path / "none")
    assert done.returncode == 2
    assert "no run has captures" in done.stderr


def test_results_of_captures_elsewhere_say_where_to_look(match, tmp_path):
    tables = tmp_path / "results" / "tables"
    tables.mkdir(parents=True)
    (tables / "runs.parquet").touch()
    done = match(tmp_path / "results")
    assert done.returncode == 2
    assert "the captures of this experiment lie elsewhere" in done.stderr
    assert "name the folder that `captured` in its experiment file names" in done.stderr
