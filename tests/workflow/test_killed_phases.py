"""A sweep that is killed in any phase continues from there, and makes no run twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from .conftest import TINY
from .test_chain import starts

LIMIT_S = 300
#: Files in the results folder that show a phase.
PHASES = {
    "warm-up": "runs/.*-w1.flowsweep-run/new/*/*.pcap.zst*",
    "baseline": "runs/.*baseline-r*.flowsweep-run/new/*/*.pcap.zst*",
    "run": "runs/.*rtt_16ms*.flowsweep-run/new/*/*.pcap.zst*",
    "ingest": ".tables.flowsweep-set-*",
    "facts": ".flowsweep-facts",
    "report": ".flowsweep-*.part",
}


def phase_of(results: Path, known: set[str]) -> str | None:
    """Returns the current phase, if it is not known yet."""
    for name, pattern in PHASES.items():
        if name not in known and next(results.glob(pattern), None) is not None:
            return name
    return None


def test_a_sweep_that_is_killed_in_each_phase(namespaces, root, command, tmp_path):
    experiment, results = tmp_path / "tiny.yaml", tmp_path / "results/tiny"
    text = TINY.replace("warmup: 0", "warmup: 1").replace("  rate: [2Mbit/s]\n", "")
    experiment.write_text(text)
    words = ["--snakefile", root / "Snakefile", "--configfile", experiment]
    survived: dict[str, str] = {}
    killed: set[str] = set()
    while killed != set(PHASES):
        until = time.monotonic() + LIMIT_S
        with subprocess.Popen(
            [Path(sys.executable).parent / "snakemake", *map(str, words)],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        ) as sweep:
            while (phase := phase_of(results, killed)) is None:
                assert sweep.poll() is None, f"exit code {sweep.returncode}: {killed}"
                assert time.monotonic() < until, killed
                time.sleep(0.002)
            os.killpg(sweep.pid, signal.SIGKILL)
        killed.add(phase)
        now = starts(results)
        assert survived.items() <= now.items(), phase
        survived = now
    result = command("snakemake", *words, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert survived.items() <= starts(results).items()
    assert "3 runs, 3 valid" in (results / "report.html").read_text()
    hidden = [*results.glob(".flowsweep-*"), *results.glob(".tables*"), *results.glob("runs/.*run")]
    assert [path.name for path in hidden if path.suffix != ".lock"] == []
    # The kept facts are those of the tables.
    query = ["query", "totals", results, "--format", "csv"]
    kept = command("flowsweep", *query).stdout
    (results / "facts").rename(tmp_path / "facts")
    assert command("flowsweep", *query).stdout == kept
