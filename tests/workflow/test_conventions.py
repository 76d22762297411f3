"""Conventions that users of Snakemake expect of any workflow."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from .conftest import TINY

#: Accepted lints, each with its reason.
EXCEPTIONS = {
    # Rules call `flowsweep` from Snakemake's own environment: one installation, whose version is
    # in the report.
    "Specify a conda environment or container for each rule.",
}


@pytest.fixture(scope="module")
def one_run(root, tmp_path_factory) -> Path:
    """A captured experiment of one run and one host."""
    experiment = tmp_path_factory.mktemp("one") / "mine"
    run = "nqueens-baseline-r1"
    (experiment / "runs" / run).mkdir(parents=True)
    source = root / "workflows/experiments/captured/demo/runs" / run
    for name in ("pc1.pcap.zst", "run.json"):
        shutil.copy(source / name, experiment / "runs" / run)
    (experiment / "experiment.yaml").write_text("title: one run\n")
    return experiment


def collect_output(done) -> str:
    return done.stdout + done.stderr


def test_config_is_refused_with_a_remedy(snakemake, one_run, tmp_path):
    done = snakemake(
        tmp_path, one_run / "experiment.yaml", "--config", "repetitions=2", "--dry-run"
    )
    assert done.returncode != 0
    assert "--config is not used by this workflow" in collect_output(done)
    assert "--config repetitions=2" in collect_output(done)
    assert "remedy" in collect_output(done)


def test_several_files_are_refused_with_a_remedy(snakemake, one_run, tmp_path):
    other = tmp_path / "tiny.yaml"
    other.write_text(TINY)
    done = snakemake(tmp_path, one_run / "experiment.yaml", other, "--dry-run")
    assert done.returncode != 0
    assert "--configfile names several files" in collect_output(done)
    assert str(other) in collect_output(done)
    assert "remedy" in collect_output(done)


def test_a_dry_run_lists_every_job_and_makes_nothing(snakemake, tmp_path):
    experiment = tmp_path / "tiny.yaml"
    experiment.write_text(TINY)
    done = snakemake(tmp_path, experiment, "-n")
    assert done.returncode == 0, collect_output(done)
    runs = ("nqueens-baseline-r1", "nqueens-rtt_16ms-r1", "nqueens-rate_2Mbit-r1")
    for run in runs:
        assert re.search(rf"^Job \d+: Running {run}$", collect_output(done), re.MULTILINE), (
            collect_output(done)
        )
        assert re.search(rf"^Job \d+: Parsing {run}$", collect_output(done), re.MULTILINE)
    assert re.search(
        r"^Job \d+: Rendering results/tiny/report.html$", collect_output(done), re.MULTILINE
    )
    assert not (tmp_path / "results").exists()


def test_every_job_has_a_log_and_a_benchmark_and_the_report_shows_the_page(
    snakemake, one_run, tmp_path
):
    file = one_run / "experiment.yaml"
    done = snakemake(tmp_path, file)
    assert done.returncode == 0, collect_output(done)
    results = tmp_path / "results/mine"
    jobs = ["experiment_file", "made_from", "parse_run/nqueens-baseline-r1", "report", "runs"]
    for folder, suffix in (("logs", ".log"), ("benchmarks", ".tsv")):
        found = (results / folder).rglob(f"*{suffix}")
        names = sorted(str(path.relative_to(results / folder)) for path in found)
        assert names == [f"{job}{suffix}" for job in jobs]
    log = (results / "logs/parse_run/nqueens-baseline-r1.log").read_text()
    assert "nqueens-baseline-r1: 1 host" in log
    assert log.strip() in collect_output(done)
    shown = snakemake(tmp_path, file, "--report", "shown.html")
    assert shown.returncode == 0, collect_output(shown)
    assert "Network needs" in (tmp_path / "shown.html").read_text()
    assert "Adding report.html" in collect_output(shown)


def test_every_rule_has_a_log_and_a_benchmark(root):
    for path in (root / "workflows/rules").glob("*.smk"):
        rules = re.split(r"^ *rule\b", path.read_text(), flags=re.MULTILINE)[1:]
        for rule in rules:
            assert "log:" in rule, f"{path.name}: {rule.splitlines()[0]}"
            assert "benchmark:" in rule, f"{path.name}: {rule.splitlines()[0]}"


def test_lint_finds_nothing_but_what_is_named_here(snakemake, one_run, tmp_path):
    experiment = tmp_path / "tiny.yaml"
    experiment.write_text(TINY)
    for file in (one_run / "experiment.yaml", experiment):
        done = snakemake(tmp_path, file, "--lint")
        lints = set(re.findall(r"^    \* (.*?):?$", collect_output(done), re.MULTILINE))
        assert {lint.rstrip(":") for lint in lints} == EXCEPTIONS, collect_output(done)


def jobs(done) -> list[str]:
    """Returns the names of jobs that a dry run would start."""
    assert done.returncode == 0, collect_output(done)
    return sorted(
        match[1]
        for match in re.finditer(
            r"^Job \d+: ((?:Running|Parsing) .*)$", collect_output(done), re.MULTILINE
        )
    )


def test_the_path_of_an_experiment_file_changes_nothing(snakemake, tmp_path):
    here, there = tmp_path / "here", tmp_path / "a folder with spaces"
    here.mkdir()
    there.mkdir()
    (there / "tiny.yaml").write_text(TINY)
    (there / "other").mkdir()
    (there / "other/tiny.yml").write_text(TINY)
    (here / "tiny.yaml").symlink_to(there / "tiny.yaml")
    asked = [
        there / "tiny.yaml",
        Path(os.path.relpath(there / "tiny.yaml", here)),
        there / "other/tiny.yml",
        Path("tiny.yaml"),
    ]
    found = [jobs(snakemake(here, file, "--dry-run")) for file in asked]
    assert len(found[0]) == 8
    assert all(names == found[0] for names in found)


def test_a_captured_experiment_may_end_in_yml(snakemake, one_run, tmp_path):
    experiment = tmp_path / "mine"
    shutil.copytree(one_run, experiment)
    (experiment / "experiment.yaml").rename(experiment / "experiment.yml")
    found = jobs(snakemake(tmp_path, Path("mine/experiment.yml"), "--dry-run"))
    assert found == ["Parsing nqueens-baseline-r1"]


def test_the_files_of_the_workflow_catalog_are_there(root):
    import yaml

    usage = yaml.safe_load((root / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert "--configfile" in usage["mandatory-flags"]["flags"]
    assert usage["report"] is True
    assert "--configfile" in (root / "config/README.md").read_text()
    assert (root / "Snakefile").is_file()
