"""Runs may lie in folders over which the testbed mounts its own."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest


@pytest.mark.parametrize("place", ["/dev/shm", "/run"])
def test_a_run_in_a_place_that_the_testbed_covers(experiment, flowsweep, place):
    if not os.access(place, os.W_OK):
        pytest.skip(f"{place} cannot be written to")
    with tempfile.TemporaryDirectory(dir=place) as folder:
        run = Path(folder, "runs/one")
        done = flowsweep("run", experiment, "--output", run)
        assert done.returncode == 0, done.stderr
        found = {path.name for path in run.iterdir()}
        assert found >= {"run.json", "pc1.pcap.zst", "pc3.capture.json"}
        assert [path.name for path in run.parent.iterdir()] == ["one"]
