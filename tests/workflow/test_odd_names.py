"""Names of experiments, runs and hosts that are special to a shell, Hive or Snakemake."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from .conftest import TINY

#: The name of an experiment file, or of a captured experiment's folder.
ODD = 'run=x [a]*? it\'s $(touch pwned); touch pwned # "&|<>`id`" ünï%2Fx'
#: Names of runs; each has one host with the same name.
RUNS = ["plain", "x=y", "pct%2Fx", "a\\b", "[a]*", "-rf ünï", "$(touch pwned)'\""]


@pytest.fixture
def captured(root, tmp_path):
    """Creates a captured experiment of this name, with these runs."""

    def make(name: str, runs: list[str]) -> Path:
        capture = root / "workflows/experiments/captured/demo/runs/nqueens-baseline-r1/pc1.pcap.zst"
        for run in runs:
            folder = tmp_path / "from" / name / "runs" / run
            folder.mkdir(parents=True)
            shutil.copy(capture, folder / f"{run}.pcap.zst")
            (folder / "run.json").write_text(json.dumps({"completion_s": 1.0}))
        (tmp_path / "from" / name / "experiment.yaml").write_text("title: odd\n")
        return tmp_path / "from" / name / "experiment.yaml"

    return make


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_every_run_and_host_keeps_its_name_and_its_rows(captured, command, snakemake, tmp_path):
    made = snakemake(tmp_path, captured("mine", RUNS))
    assert made.returncode == 0, made.stdout + made.stderr
    results = tmp_path / "results/mine"
    asked = command("flowsweep", "query", "run_quality", results, "--format", "csv")
    found = {(row["run"], row["host"]): row["packets"] for row in rows(asked.stdout)}
    assert found == dict.fromkeys(((run, run) for run in RUNS), found["plain", "plain"])
    listed = command("flowsweep", "query", "run_table", results, "--format", "csv")
    assert sorted(row["run"] for row in rows(listed.stdout)) == sorted(RUNS)
    assert "more of which only tables are left" not in (results / "report.html").read_text()
    assert not list(tmp_path.rglob("pwned"))


def test_an_experiment_keeps_its_name_and_starts_nothing(captured, command, snakemake, tmp_path):
    beside = tmp_path / "results" / ODD.partition(" ")[0]
    beside.mkdir(parents=True)
    (beside / "kept").write_text("`find` of half of the name would look in here")
    made = snakemake(tmp_path, captured(ODD, ["one", "two"]), "--until", "runs", "parse_run")
    assert made.returncode == 0, made.stdout + made.stderr
    words = ("query", "run_quality", f"results/{ODD}", "--format", "csv")
    asked = command("flowsweep", *words, cwd=tmp_path)
    assert [row["run"] for row in rows(asked.stdout)] == ["one", "two"], asked.stderr
    assert (beside / "kept").exists()
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.usefixtures("namespaces")
def test_a_run_is_made_of_a_file_with_an_odd_name(snakemake, tmp_path):
    (tmp_path / f"{ODD}.yaml").write_text(TINY)
    record = f"results/{ODD}/runs/nqueens-baseline-r1/run.json"
    made = snakemake(tmp_path, Path(f"{ODD}.yaml"), "--", record)
    assert made.returncode == 0, made.stdout + made.stderr
    assert json.loads((tmp_path / record).read_text())["experiment"] == ODD
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[31mb", "{x}", "a\\b", "-x", " x"])
def test_a_name_that_the_workflow_cannot_have_is_refused_at_once(name, command, tmp_path):
    path = tmp_path / f"{name}.yaml"
    path.write_text("sites: {a: 1, b: 1}\nworkload: {app: lu}\n")
    plan = command("flowsweep", "plan", path)
    assert plan.returncode == 2
    assert "this cannot be the name of an experiment" in plan.stderr
    assert "remedy    rename it" in plan.stderr
    assert "\x1b" not in plan.stderr


def test_a_brace_in_the_name_of_a_run_is_reported(captured, snakemake, tmp_path):
    made = snakemake(tmp_path, captured("mine", ["{run}"]), "--dry-run")
    assert made.returncode != 0
    assert "{run}.pcap.zst: Snakemake cannot read this" in made.stdout + made.stderr
