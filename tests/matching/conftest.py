"""Runs `flowsweep match` and reads its tables."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import forks
import polars as pl
import pytest

#: Runs `flowsweep match` on paths and returns the finished process.
Match = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def match(tmp_path: Path) -> Match:
    """Matches into the test's folder `matched`."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        output = ("--output", tmp_path / "matched")
        return forks.run("flowsweep", "match", *arguments, *output, timeout=120)

    return run


@pytest.fixture
def table(tmp_path: Path) -> Callable[[str], pl.DataFrame]:
    """Reads a table from that folder."""
    return lambda name: pl.read_parquet(tmp_path / "matched" / f"{name}.parquet")
