"""Two experiments of one name, and runs that an experiment no longer has, are not mixed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from flowsweep import experiment as experiments
from flowsweep.errors import FlowsweepError
from flowsweep.experiment import results as results_folder
from flowsweep.warehouse import Warehouse

from .conftest import TINY

ASKED = ("totals", "run_table", "run_quality", "flow_sizes", "message_rate", "requirement")


@pytest.fixture
def runs(root) -> Path:
    return root / "workflows/experiments/captured/demo/runs"


@pytest.fixture
def recorded(runs, tmp_path):
    """Creates FOLDER/mine from runs of the demo, under new names: {"try0": "nqueens-..."}."""

    def make(folder: str, named: dict[str, str]) -> Path:
        experiment = tmp_path / folder / "mine"
        for run, original in named.items():
            (experiment / "runs" / run).mkdir(parents=True)
            for host in ("pc1", "pc3"):
                # With the times of the originals, which are older than any output.
                shutil.copy2(runs / original / f"{host}.pcap.zst", experiment / "runs" / run)
            record = {"axes": {"rtt": "1ms"}, "completion_s": 10.0}
            (experiment / "runs" / run / "run.json").write_text(json.dumps(record))
        (experiment / "experiment.yaml").write_text("title: by hand\n")
        return experiment / "experiment.yaml"

    return make


@pytest.fixture
def answers(snakemake, tmp_path):
    """Makes the tables in a folder; returns answers on results/mine, and the output."""

    def run(folder: str, experiment: Path) -> tuple[dict[str, str], str]:
        (tmp_path / folder).mkdir(exist_ok=True)
        made = snakemake(tmp_path / folder, experiment, "--until", "runs", "parse_run")
        output = made.stdout + made.stderr
        assert made.returncode == 0, output
        results = tmp_path / folder / "results/mine"
        warehouse = Warehouse(results)
        return {name: repr(warehouse.rows(name).rows()) for name in ASKED}, output

    return run


def test_results_are_of_the_runs_alone_that_the_experiment_has(recorded, answers, tmp_path):
    first = recorded("a", {"try0": "nqueens-baseline-r1", "try1": "nqueens-rtt_64ms-r1"})
    second = recorded("b", {"try0": "nqueens-rtt_16ms-r1"})
    answers("here", first)
    # Another experiment of the same name.
    found, errors = answers("here", second)
    assert "results/mine held tables and report of ../a/mine/runs" in errors
    assert "made anew from ../b/mine/runs" in errors
    assert found == answers("alone", second)[0]
    # The first one again: one run is gone, and one capture of the other.
    shutil.rmtree(first.parent / "runs/try1")
    (first.parent / "runs/try0/pc3.pcap.zst").unlink()
    found, errors = answers("here", first)
    assert found == answers("other", first)[0]
    assert "held tables and report of ../b/mine/runs" in errors
    # Once more: there is nothing to report or to do.
    tables = tmp_path / "here/results/mine/tables"
    before = {path: path.stat().st_mtime_ns for path in tables.rglob("*")}
    _, errors = answers("here", first)
    assert "held tables" not in errors
    assert {path: path.stat().st_mtime_ns for path in tables.rglob("*")} == before


def test_a_run_or_capture_that_is_taken_out_is_counted_nowhere(
    recorded, answers, command, tmp_path
):
    runs = {"try0": "nqueens-baseline-r1", "try1": "nqueens-rtt_64ms-r1"}
    experiment = recorded("a", runs)
    answers("here", experiment)
    shutil.rmtree(experiment.parent / "runs/try1")
    (experiment.parent / "runs/try0/pc3.pcap.zst").unlink()
    assert answers("here", experiment)[0] == answers("alone", experiment)[0]
    results = tmp_path / "here/results/mine"
    assert command("flowsweep", "report", results).returncode == 0
    html = (results / "report.html").read_text()
    assert "1 more of which only tables are left" in html
    assert [line for line in html.split("\n") if "try1" in line] == ["    <p><code>try1</code></p>"]


def planned(folder: Path, text: str = TINY) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tiny.yaml").write_text(text)
    return folder / "tiny.yaml"


def test_runs_are_not_made_among_those_of_another_experiment(snakemake, tmp_path):
    first = planned(tmp_path / "a")
    results = tmp_path / "results/tiny"
    results_folder.mark_runs(experiments.load(first), results)
    mark = results / "runs" / results_folder.RUNS_MARK
    mark.write_text("a/tiny.yaml\n")  # relative to tmp_path, where the workflow is started
    second = planned(tmp_path / "b", TINY.replace("board: 8", "board: 9"))
    made = snakemake(tmp_path, second)
    assert made.returncode != 0
    output = made.stdout + made.stderr
    assert "the runs here are those of another experiment of the same name" in output
    assert "runs of a/tiny.yaml" in output
    assert "mv results/tiny results/tiny-old" in output
    assert sorted(results.rglob("*")) == [results / "runs", mark]
    # Its own file continues there, even after an edit.
    planned(tmp_path / "a", TINY.replace("repetitions: 1", "repetitions: 2"))
    assert snakemake(tmp_path, first, "--dry-run").returncode == 0


def test_runs_are_those_of_the_tables_only_where_both_are_of_one_experiment(tmp_path, monkeypatch):
    """Otherwise a remedy for the report's runs would be applied to other runs."""
    monkeypatch.chdir(tmp_path)
    results = Path("results/tiny")
    results.mkdir(parents=True)
    assert not results_folder.has_own_runs(results)
    experiment = experiments.load(planned(Path("a")))
    results_folder.mark_runs(experiment, results)
    assert results_folder.has_own_runs(results)
    marks = results / results_folder.TABLES_MARK
    marks.mkdir()
    (marks / "one").write_text("elsewhere/tiny/runs\n")
    assert not results_folder.has_own_runs(results)
    (marks / "one").write_text(f"{results_folder.source(experiment, results)}\n")
    assert results_folder.has_own_runs(results)


def test_a_file_that_was_moved_is_the_same_experiment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = Path("results/tiny")
    first = planned(Path("a"))
    results_folder.mark_runs(experiments.load(first), results)
    shutil.copy(first, results / "experiment.yaml")
    moved = experiments.load(planned(Path("b")))
    assert results_folder.check(moved, results) is None
    edited = experiments.load(planned(Path("b"), TINY.replace("seed: 3", "seed: 4")))
    with pytest.raises(FlowsweepError, match="another experiment"):
        results_folder.check(edited, results)
