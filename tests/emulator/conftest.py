"""The laboratory of `laboratory.py` as fixtures."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from laboratory import Laboratory


@pytest.fixture(scope="session")
def wan_program() -> Path:
    """The emulator under test."""
    default = Path(sys.executable).parent / "flowsweep-wan"
    program = Path(os.environ.get("FLOWSWEEP_WAN", default))
    if not program.exists():
        pytest.fail(f"{program} is missing: run make build")
    return program


@pytest.fixture(scope="session")
def laboratory(
    namespaces: None, tmp_path_factory: pytest.TempPathFactory, wan_program: Path
) -> Iterator[Laboratory]:
    laboratory = Laboratory(tmp_path_factory.mktemp("wan"), wan_program)
    yield laboratory
    laboratory.close()
