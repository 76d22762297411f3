"""Lets the tests of this folder import its helper modules, and keeps a nursery."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "parsers"))

from writing import Nursery, capture


@pytest.fixture(scope="session")
def nursery(tmp_path_factory) -> Iterator[Nursery]:
    nursery = Nursery(tmp_path_factory.mktemp("temporary"))
    yield nursery
    nursery.end()


@pytest.fixture
def captures(tmp_path: Path) -> list[Path]:
    """Two captures that have no table in common."""
    paths = [tmp_path / "first.pcap", tmp_path / "second.pcap"]
    for path, packets in zip(paths, (20, 30), strict=True):
        path.write_bytes(capture(packets, packets))
    return paths
