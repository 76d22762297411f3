"""A nursery and captures for the tests in this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from writing import Nursery, capture


@pytest.fixture(scope="session")
def nursery(tmp_path_factory) -> Iterator[Nursery]:
    nursery = Nursery(tmp_path_factory.mktemp("temporary"))
    yield nursery
    nursery.end()


@pytest.fixture
def captures(tmp_path: Path) -> list[Path]:
    """Two captures whose tables all differ."""
    paths = [tmp_path / "first.pcap", tmp_path / "second.pcap"]
    for path, packets in zip(paths, (20, 30), strict=True):
        path.write_bytes(capture(packets, packets))
    return paths
