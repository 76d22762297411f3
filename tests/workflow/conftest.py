"""A tiny sweep, run once for all tests of the whole chain."""

from __future__ import annotations

from pathlib import Path

import pytest

# These tests are about the chain: a busy machine may make the emulator late.
TINY = """
title: a tiny sweep
sites:
  west: [pc1, pc2]
  east: [pc3, pc4]
link: {rtt: 1ms, rate: 100Mbit/s}
tcp: {congestion_control: reno}
workload:
  app: nqueens
  problem: {board: 8, node_ns: 20000}
axes:
  rtt: [16ms]
  rate: [2Mbit/s]
repetitions: 1
warmup: 0
seed: 3
timeout: 200s
limits: {other_programs: 100%, cpu_pressure: 100%, lateness: 100ms}
"""


@pytest.fixture
def snakemake(command, root):
    """Runs the workflow of the checkout in another folder."""

    def run(folder: Path, experiment: Path, *options: str):
        return command(
            "snakemake",
            "--snakefile",
            root / "Snakefile",
            "--configfile",
            experiment,
            *options,
            cwd=folder,
        )

    return run


@pytest.fixture(scope="session")
def swept(namespaces, command, root, tmp_path_factory) -> Path:
    """The results folder of the tiny sweep."""
    folder = tmp_path_factory.mktemp("sweep")
    experiment = folder / "tiny.yaml"
    experiment.write_text(TINY)
    files = ("--snakefile", root / "Snakefile", "--configfile", experiment)
    result = command("snakemake", "--verbose", *files, cwd=folder)
    assert result.returncode == 0, result.stdout + result.stderr
    (folder / "snakemake.log").write_text(result.stderr)
    return folder / "results/tiny"
