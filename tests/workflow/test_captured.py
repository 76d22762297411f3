"""Experiments captured elsewhere: the demo kept in the repository, a person's own pcaps."""

from __future__ import annotations

import json
import shutil

import pytest


def test_the_captured_demo_is_small_enough_for_a_repository(root):
    files = (root / "workflows/experiments/captured/demo").rglob("*")
    assert sum(path.stat().st_size for path in files if path.is_file()) <= 5_000_000


def test_the_captured_demo_has_a_verdict(captured_demo):
    html = (captured_demo / "report.html").read_text()
    assert "needs at least" in html
    assert "an RTT of at most" in html


def test_its_completion_times_are_those_of_the_program(captured_demo, command):
    result = command("flowsweep", "query", "run_table", captured_demo, "--format", "json")
    rows = {row["run"]: row["completion_s"] for row in json.loads(result.stdout)}
    records = sorted((captured_demo / "runs").glob("*/run.json"))
    assert len(records) == 16
    for path in records:
        truth = json.loads(path.read_text())["application"]["completion_s"]
        assert rows[path.parent.name] == pytest.approx(truth, rel=0.01)


def test_own_pcaps_without_anything_else_give_a_report(root, snakemake, tmp_path):
    demo = root / "workflows/experiments/captured/demo/runs"
    mine = tmp_path / "mine"
    for number, run in enumerate(["nqueens-baseline-r1", "nqueens-rtt_64ms-r1"]):
        folder = mine / "runs" / f"try{number}"
        folder.mkdir(parents=True)
        for host in ("pc1", "pc3"):
            shutil.copy(demo / run / f"{host}.pcap.zst", folder)
    (mine / "experiment.yaml").write_text("title: from tcpdump\n")
    result = snakemake(tmp_path, mine / "experiment.yaml")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "results/mine/report.html").exists()


def test_axes_and_completion_by_hand_are_enough_for_a_sensitivity(root, snakemake, tmp_path):
    demo = root / "workflows/experiments/captured/demo/runs"
    mine = tmp_path / "mine"
    for rtt, seconds in (("1ms", 10.0), ("16ms", 10.5), ("64ms", 14.0)):
        folder = mine / "runs" / f"rtt-{rtt}"
        folder.mkdir(parents=True)
        shutil.copy(demo / "nqueens-baseline-r1/pc3.pcap.zst", folder)
        record = {"axes": {"rtt": rtt}, "completion_s": seconds}
        (folder / "run.json").write_text(json.dumps(record))
    (mine / "experiment.yaml").write_text("title: by hand\n")
    result = snakemake(tmp_path, mine / "experiment.yaml")
    assert result.returncode == 0, result.stderr
    # Linear between 16 and 64 ms: 1.05 + (1.4 - 1.05) * (x - 16) / 48 = 1.1
    expected = 16 + 48 * 0.05 / 0.35
    html = (tmp_path / "results/mine/report.html").read_text()
    assert f"{expected:.1f} ms" in html


def test_a_folder_without_captures_is_refused(snakemake, tmp_path):
    (tmp_path / "mine/runs/one").mkdir(parents=True)
    (tmp_path / "mine/experiment.yaml").write_text("title: nothing here\n")
    result = snakemake(tmp_path, tmp_path / "mine/experiment.yaml")
    assert result.returncode != 0
    assert "without <host>.pcap" in result.stdout + result.stderr
