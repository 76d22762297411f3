"""`flowsweep match` as it is started, and its tables."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import forks
import polars as pl
import pytest

#: Runs `flowsweep match` on paths: what it ended with, and a table that it wrote.
Match = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def match(tmp_path: Path) -> Match:
    """Matches into the folder `matched` of the test."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        output = ("--output", tmp_path / "matched")
        return forks.run("flowsweep", "match", *arguments, *output, timeout=120)

    return run


@pytest.fixture
def table(tmp_path: Path) -> Callable[[str], pl.DataFrame]:
    """A table that was written."""
    return lambda name: pl.read_parquet(tmp_path / "matched" / f"{name}.parquet")
