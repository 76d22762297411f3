"""A sweep with refinement chooses points while it runs, only once, even after an interruption."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from .conftest import TINY

# Messages there and back take one RTT, however busy the machine is.
REFINED = (
    TINY.replace("  rtt: [16ms]\n  rate: [2Mbit/s]\n", "  rtt: [64ms]\n")
    .replace("west: [pc1, pc2]", "west: [pc1]")
    .replace("east: [pc3, pc4]", "east: [pc3]")
    .replace("app: nqueens", "app: pingpong")
    .replace("{board: 8, node_ns: 20000}", "{message_bytes: 1000, repetitions: 40}")
    + "refine: 2\n"
)


def collect_output(done) -> str:
    return done.stdout + done.stderr


def test_a_dry_run_of_a_refined_sweep_lists_its_first_pass(snakemake, tmp_path):
    experiment = tmp_path / "small.yaml"
    experiment.write_text(REFINED)
    done = snakemake(tmp_path, experiment, "--dry-run")
    assert done.returncode == 0, collect_output(done)
    assert "Running pingpong-rtt_64ms-r1" in collect_output(done)
    assert "Choosing the points of pass 1" in collect_output(done)


@pytest.mark.usefixtures("namespaces")
def test_passes_narrow_the_bracket_and_what_was_chosen_stays(snakemake, command, tmp_path):
    experiment = tmp_path / "small.yaml"
    experiment.write_text(REFINED)
    done = snakemake(tmp_path, experiment)
    assert done.returncode == 0, collect_output(done)
    results = tmp_path / "results/small"
    chosen = {path: path.read_text() for path in sorted(results.glob("runs/.refined/*.json"))}
    assert [path.name for path in chosen] == ["1.json", "2.json"]
    points = [
        point["set"]["rtt"] for text in chosen.values() for point in json.loads(text)["points"]
    ]
    assert points[0] == "8ms"
    assert len(points) > 1
    asked = {
        record["axes"]["rtt"]["asked"]
        for path in results.glob("runs/*/run.json")
        if (record := json.loads(path.read_text()))["status"] == "valid"
    }
    assert asked == {"1ms", "64ms", *points}
    shown = command("flowsweep", "query", "thresholds", results, "--format", "json")
    brackets = [row["harder"] / row["easier"] for row in json.loads(shown.stdout)]
    # The factor of 64 has been halved twice on a logarithmic scale.
    assert min(brackets) < 3
    # A repeated run changes no choice of points, and causes no other repetition.
    kept = {path: path.read_bytes() for path in results.glob("runs/*/run.json")}
    lost = [results / f"runs/pingpong-rtt_{rtt}-r1" for rtt in ("64ms", points[-1])]
    for folder in lost:
        shutil.rmtree(folder)
    again = snakemake(tmp_path, experiment)
    assert again.returncode == 0, collect_output(again)
    assert {path: path.read_text() for path in chosen} == chosen
    for path, text in kept.items():
        assert path.exists()
        assert (path.read_bytes() == text) == (path.parent not in lost)
    nothing = snakemake(tmp_path, experiment)
    assert "Nothing to be done" in collect_output(nothing)
    html = Path(results / "report.html").read_text()
    assert all(f"pingpong-rtt_{rtt}-r1" in html for rtt in points)
