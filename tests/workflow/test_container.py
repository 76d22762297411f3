"""`--sdm apptainer`: the analysis runs in the named image, with a stand-in for Apptainer."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

# Runs the command here, and logs the image.
APPTAINER = """#!/bin/bash
if [ "$1" = --version ]; then echo "apptainer version 1.4.0"; exit; fi
words=("$@")
count=${#words[@]}
echo "${words[count - 4]} ${words[count - 1]}" >>FOLDER/started
exec "${words[@]:count - 3}"
"""


@pytest.fixture
def analysed(root: Path, snakemake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Analyses a captured run with a workflow in containers; returns which image ran what."""
    run = "nqueens-baseline-r1"
    (tmp_path / "mine" / "runs" / run).mkdir(parents=True)
    source = root / "workflows/experiments/captured/demo/runs" / run
    for name in ("pc1.pcap.zst", "run.json"):
        shutil.copy(source / name, tmp_path / "mine" / "runs" / run)
    experiment = tmp_path / "mine" / "experiment.yaml"
    experiment.write_text("title: one run\n")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "apptainer"
    program.write_text(APPTAINER.replace("FOLDER", str(tmp_path)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")

    def analyse() -> list[tuple[str, str]]:
        done = snakemake(tmp_path, experiment, "--sdm", "apptainer")
        assert done.returncode == 0, done.stdout + done.stderr
        assert (tmp_path / "results/mine/report.html").exists()
        text = (tmp_path / "started").read_text()
        return re.findall(r"^(\S+\.sif) .*flowsweep (ingest|runs|report) ", text, re.MULTILINE)

    return analyse


@pytest.mark.parametrize("named", [None, "elsewhere/of-mine.sif"])
def test_the_analysis_is_that_of_the_image(
    analysed, named: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FLOWSWEEP_CONTAINER", raising=False)
    if named is not None:
        monkeypatch.setenv("FLOWSWEEP_CONTAINER", named)
    image = tmp_path / (named or "flowsweep.sif")
    image.parent.mkdir(exist_ok=True)
    image.touch()
    assert sorted(analysed()) == [(str(image), one) for one in ("ingest", "report", "runs")]
