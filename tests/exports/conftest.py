"""Runs `flowsweep export`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import traces

#: Exports with more arguments; returns the trace and the output of `--format json`.
Export = Callable[..., tuple[traces.Trace, dict[str, Any]]]


@pytest.fixture(scope="session")
def start(command) -> Callable[..., subprocess.CompletedProcess[str]]:
    return lambda *words: command("flowsweep", "export", "--to", "perfetto", *words)


@pytest.fixture
def export(start, tmp_path: Path) -> Export:
    def run(*words: object, status: int = 0) -> tuple[traces.Trace, dict[str, Any]]:
        path = tmp_path / "trace.json"
        done = start(*words, "-o", path, "--format", "json")
        assert done.returncode == status, done.stderr
        about = json.loads(done.stdout)
        trace = traces.read(path)
        assert len(trace.arrows) == about["arrived"]
        assert about["messages"] == about["arrived"] + sum(about["without_arrival"].values())
        return trace, about

    return run
